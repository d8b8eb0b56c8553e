"""Models whose labels are linked across a document: mixture-of-parents MEMM and skip-chain CRF.

Which tokens are linked is decided in `skipchain.edges`.
"""
