"""Training and tagging on a Ray cluster; the engine comes with the extra ``skipchain[ray]``."""
