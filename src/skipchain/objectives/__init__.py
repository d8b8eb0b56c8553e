"""Losses with their gradients, as functions of a parameter vector."""
