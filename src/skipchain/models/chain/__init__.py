"""Models of label chains: CRF, MEMM, MaxEnt, perceptron and HMM.

Chain inference and likelihoods that other families use as well belong to `skipchain.chains`.
"""
