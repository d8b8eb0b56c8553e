"""Stewart, *Structure Learning in Sequential Data* (2005): toy problems, Cora references.

Only what the thesis tabulates; the models are in `skipchain.models`.
"""
