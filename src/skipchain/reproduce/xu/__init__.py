"""Xu, slides on maximum entropy Markov models: worked examples, label bias, FAQ segmentation.

Only what the slides tabulate or claim; the models are in `skipchain.models`.
"""
