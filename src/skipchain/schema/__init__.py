"""What a stored object may hold: the fields of its header, and the types and ranges of its arrays.

Here belong the words in which a schema is written, and its check. The schema of each object stands
beside the object. What belongs to model files as a whole is in `skipchain.modelfile`.
"""
