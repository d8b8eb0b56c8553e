"""Measurements of skipchain beside its peers, in one run, on the same data and features."""
