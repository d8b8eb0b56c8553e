"""Compiled functions on arrays. They import numpy and numba, and nothing of ours."""
