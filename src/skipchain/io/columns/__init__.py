"""Column files as bytes: where lines and cells begin and end, and the columns that they are.

What the lines of one format mean belongs to its own file, such as `skipchain.io.conll`.
"""
