"""Text as columns: tokens, sentences, documents, and labels with their schemes.

Files are read in `skipchain.io`; what is computed from a corpus for a model belongs to
`skipchain.features`.
"""

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus, Sentence
from skipchain.corpus.label_map import LabelMap

__all__ = ["Column", "Corpus", "LabelMap", "Sentence"]
