"""Text as columns: tokens, sentences, documents and labels."""

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus, Sentence

__all__ = ["Column", "Corpus", "Sentence"]
