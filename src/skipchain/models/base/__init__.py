"""What all families share: the base estimator, the fitted model's contract, input, cross-fitting.

Nothing here knows a family.
"""
