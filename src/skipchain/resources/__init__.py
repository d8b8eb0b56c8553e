"""Resources learned from raw text or read from files: clusters, vectors, n-grams, gazetteers.

How they become columns of a corpus belongs to `skipchain.annotators`.
"""
