"""The vocabulary and the index of a corpus that lies in files, built in blocks of sentences.

Both are those that `Vocabulary.fit` gives, number for number.
"""
