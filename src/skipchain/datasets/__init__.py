"""Data sets: public ones by name and their readers, a built-in corpus, synthetic problems.

The formats of users' own files are read in `skipchain.io`.
"""
