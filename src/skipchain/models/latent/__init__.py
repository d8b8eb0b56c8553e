"""Models with hidden states: the input-output HMM and the hidden random field.

Hidden units over label windows belong to `skipchain.models.rbm`.
"""
