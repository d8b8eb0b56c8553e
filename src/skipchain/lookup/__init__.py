"""Tagging by look-up: what is known of a word is put together once, and found when it comes again.

Whatever serves labels under weights that stay belongs here; learning, which changes weights, goes
by the sparse index of `skipchain.features`.
"""
