"""Functions on arrays, plain or compiled. They import numpy and numba, and nothing of ours."""
