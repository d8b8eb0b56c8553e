"""The unsupervised name tagger: persons by the gender and animacy of words in n-grams.

Models that learn from labels belong to `skipchain.models`.
"""
