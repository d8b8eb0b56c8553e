"""Finkel, Grenager and Manning (2005): non-local structure by Gibbs sampling.

Only what the paper tabulates; the models are in `skipchain.models.document`.
"""
