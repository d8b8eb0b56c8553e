"""Answers from potentials: best paths, marginals, n-best lists, span probabilities."""
