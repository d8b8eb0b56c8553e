"""RBM-CRF: hidden units that look at windows of labels, beside a base model or experts.

Chains of hidden states by themselves belong to `skipchain.models.latent`.
"""
