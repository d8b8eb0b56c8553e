"""Rosenberg, Klein and Taskar: mixture-of-parents MEMMs on names and on linked pages.

Only what the paper's figures show; the models are in `skipchain.models.graph`.
"""
