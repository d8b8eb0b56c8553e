"""Annotators: lexicons, clusters, vectors and whole documents as further columns of a corpus.

The resources themselves (how clusters are induced, n-grams counted) belong to
`skipchain.resources`, the protocol of an annotator to `skipchain.features.annotator`.
"""
