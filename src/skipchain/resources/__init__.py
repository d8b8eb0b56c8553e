"""Knowledge learnt from raw text or read from files: clusters, vectors, n-gram counts, gazetteers.

How it becomes columns of a corpus belongs to `skipchain.annotators`.
"""
