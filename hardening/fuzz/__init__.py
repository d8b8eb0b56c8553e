"""Hostile files: model files and inputs of all readers, mutated by what is known of their schema.

A case is decided by the seed and its number alone. Its file is loaded and put to work in a process
of its own kind (`hardening.fuzz.children`): an answer or a `SkipchainError` is right, anything else
is a finding.
"""

from hardening.fuzz.campaign import attack

__all__ = ["attack"]
