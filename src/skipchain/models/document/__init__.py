"""Chain models with factors over whole documents: names that keep their type, and other rules.

Labels linked inside the model itself belong to `skipchain.models.graph`.
"""
