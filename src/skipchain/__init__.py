"""Sequence labelling with log-linear structured models, fast on a CPU."""

__version__ = "0.1.0"
