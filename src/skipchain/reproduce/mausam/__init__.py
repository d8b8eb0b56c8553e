"""Mausam, slides on names with MEMMs: search, encodings, non-local features, the name tagger.

Only what the slides tabulate; the taggers are in `skipchain.models` and `skipchain.nametagger`.
"""
