"""One string of each token by which it is compared with others."""

from __future__ import annotations

from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.errors import ParameterError
from skipchain.features.template import View
from skipchain.features.views import UserViews, evaluate_view


def token_keys(view: View, corpus: Corpus, functions: UserViews) -> Column:
    """A view of each token; empty where it has nothing.

    >>> corpus = Corpus.of([["The", "the", "cat"]])
    >>> token_keys(View("word", "lower", View("word")), corpus, {}).tolist()
    ['the', 'the', 'cat']
    """
    distinct = Column.encode(view_strings(view, corpus, functions))
    codes = corpus.column(view.column).codes
    return Column(frozen(distinct.codes[codes]), distinct.values)


def view_strings(view: View, corpus: Corpus, functions: UserViews) -> list[str]:
    """A view of each distinct value of its column; empty where the view has nothing."""
    if view.function is None:
        return list(corpus.column(view.column).values)
    assert view.source is not None
    strings = view_strings(view.source, corpus, functions)
    values = evaluate_view(view.function, view.arguments, strings, functions)
    for value in values:
        if isinstance(value, list):
            raise ParameterError(f"{view}: the view gives several strings; wanted one")
    return [str(value) if value is not None else "" for value in values]
