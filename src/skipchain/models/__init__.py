"""Models: one folder a family, the registry of kinds, stacking, and what all families share.

Inference on chains belongs to `skipchain.chains`, model files to `skipchain.modelfile`.
"""
