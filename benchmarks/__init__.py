"""Measurements of skipchain and of its peers, in one run, on the same data and features."""
