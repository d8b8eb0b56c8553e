"""Mausam, slides on names with MEMMs: search, encodings, non-local features, the name tagger.

Only what the slides tabulate, and stepwise search for features, which they name; the taggers are in
`skipchain.models` and `skipchain.nametagger`.
"""
