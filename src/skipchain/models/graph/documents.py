"""Whether a corpus has the documents and links that the edges of a model need."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from skipchain.corpus import Corpus
from skipchain.edges.rules import NO_LINKS, Links, Rule, Siblings
from skipchain.errors import SkipchainWarning
from skipchain.models.base.documents import check_document_boundaries


def check_linked_documents(
    corpus: Corpus, rules: Sequence[Rule], longest: int | None = None
) -> None:
    """Warn of a corpus that has been cut into sentences, not into documents, or has no links.

    ``longest`` is the number of tokens of the longest document in training. Rules that link no
    tokens of different sentences need no documents.

    >>> from skipchain.edges import parse_rules
    >>> check_linked_documents(Corpus.of([["a"], ["b"]]), parse_rules("same_word"))
    """
    if all(rule.is_chain for rule in rules) or not corpus.n_tokens:
        return
    if corpus.links is None and any(isinstance(rule, Links | Siblings) for rule in rules):
        warnings.warn(NO_LINKS, SkipchainWarning, stacklevel=2)
    check_document_boundaries(corpus, longest)
