"""Readers of the formats in which single public data sets are published.

Formats that users have files in belong to `skipchain.io`.
"""
