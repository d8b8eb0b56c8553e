"""Optimisers. They know vectors and callbacks, never sequences."""
