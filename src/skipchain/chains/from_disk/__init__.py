"""Chains whose features lie in files: what is done otherwise where not all can be gone to."""
