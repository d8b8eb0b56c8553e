"""Work on more data than memory holds: counts that spill to disk, arrays in files, what it takes.

What is learnt is the same, bit for bit, as in memory; what the data are belongs to layers above.
"""
