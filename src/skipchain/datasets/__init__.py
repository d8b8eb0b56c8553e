"""Data sets: public ones by name and their readers, a built-in corpus, synthetic problems.

Formats that users bring along are read in `skipchain.io`.
"""
