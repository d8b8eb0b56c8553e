"""Chains as mathematics: encoded data, potentials, decoding, likelihoods and how chains are learnt.

No estimators and no files: these belong to `skipchain.models` and `skipchain.modelfile`.
"""
