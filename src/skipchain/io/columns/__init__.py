"""Column files: where lines and cells lie among bytes, the columns that they are, and tables.

What the lines of one format mean belongs to its own file, such as `skipchain.io.conll`.
"""
