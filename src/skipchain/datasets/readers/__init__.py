"""Readers of the formats in which single public data sets are published.

The formats of users' own files belong to `skipchain.io`.
"""
