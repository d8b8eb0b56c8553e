"""Features as data: templates, views, vocabularies, and the encoded feature matrix of a corpus.

Weights and scores belong to `skipchain.chains` and the models; annotators that add columns for
templates to read, to `skipchain.annotators` (their protocol is here).
"""
