"""What is doubtful about columns that could be read: lists in cells, no sentences, many labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import CorpusError, ReadError, SkipchainWarning
from skipchain.io.columns.layout import DOCUMENT, OTHERS, SENTENCE, comes_in_runs

LONGEST = 1000  # tokens of a sentence beyond which no file has one alone
LONG = 50  # tokens beyond which it hardly does where a column looks like the numbers of sentences
MOST_LABELS = 500


def look_for_doubts(
    corpus: Corpus, names: Sequence[str], lines: Ints, path: object, *, table: bool
) -> None:
    """Refuse or warn of what can be read but is hardly meant.

    ``names`` are those of the columns of the file, ``lines`` the line numbers of the tokens.
    """
    if corpus.n_tokens == 0:
        return
    if table:
        try:
            check_lists(corpus)
            check_texts(corpus)
        except CorpusError as error:
            raise ReadError(str(error), path=path, line=int(lines[0])) from None
    warn_of_doubts(corpus, names, path)


def check_lists(corpus: Corpus) -> None:
    """Refuse words that are all lists, as a row a sentence has them.

    >>> check_lists(Corpus.of([["Ada slept"], ["Bo left"]], [["B-PER O"], ["B-PER O"]]))
    Traceback (most recent call last):
        ...
    skipchain.errors.CorpusError: the words are lists ('Ada slept'); one token a row is wanted, or \
JSON lines with "tokens" and "labels"
    """
    values = _used(corpus.words)
    lists = all(value[:1] == "[" and value[-1:] == "]" and value[1:-1].strip() for value in values)
    if corpus.labelled and all(" " in label.strip() for label in _used(corpus.labels)):
        pairs = zip(corpus.words.tolist(), corpus.labels.tolist(), strict=True)
        lists = lists or all(len(word.split()) == len(label.split()) for word, label in pairs)
    if lists:
        fault = f"the words are lists ({values[0][:40]!r})"
        wanted = 'one token a row is wanted, or JSON lines with "tokens" and "labels"'
        raise CorpusError(f"{fault}; {wanted}")


def check_texts(corpus: Corpus) -> None:
    """Refuse words that are mostly texts, as a table has them with a row each.

    >>> check_texts(Corpus.of([["Ada left Rome early."], ["Bo ran."]] * 9))
    Traceback (most recent call last):
        ...
    skipchain.errors.CorpusError: the words are texts ('Ada left Rome early.'); one token a row is \
wanted, or JSON lines with "text", or plain text
    """
    counts = np.bincount(corpus.words.codes, minlength=len(corpus.words.values))
    texts = np.array([value.count(" ") > 1 for value in corpus.words.values], bool)
    if corpus.labelled or 2 * counts[texts].sum() < corpus.n_tokens:
        return
    first = next(value for value in _used(corpus.words) if value.count(" ") > 1)
    fault = f"the words are texts ({first[:40]!r}); one token a row is wanted"
    raise CorpusError(f'{fault}, or JSON lines with "text", or plain text')


def warn_of_doubts(corpus: Corpus, names: Sequence[str], path: object) -> None:
    """Warn of a long file without sentences, and of labels that look like words.

    ``names`` are those of the columns of the file.
    """
    shown = "columns" if path is None else path
    if len(corpus) == 1 and corpus.n_tokens > LONG:
        told = f"{shown}: all {corpus.n_tokens:,} tokens are one sentence; a blank line ends one"
        place = next((k for k, name in enumerate(names) if _may_cut(corpus, name)), None)
        if place is not None:
            named = ",".join((*names[:place], SENTENCE, *names[place + 1 :]))
            told += f", or a column {SENTENCE}: is it {names[place]!r}? then say --columns {named}"
        if place is not None or corpus.n_tokens > LONGEST:
            warnings.warn(told, SkipchainWarning, stacklevel=2)
    if corpus.labelled:
        count = len(corpus.labels.used())
        if count > MOST_LABELS and count * 10 > corpus.n_tokens:
            told = f"{count:,} different labels in {corpus.n_tokens:,} tokens"
            advice = "are the columns of words and labels swapped?"
            warnings.warn(f"{shown}: {told}; {advice}", SkipchainWarning, stacklevel=2)


def warn_of_swaps(given: Sequence[str], header: Sequence[str], path: object) -> None:
    """Warn where the words are not the column that a header calls so, but the one of the labels."""
    place = list(given).index(WORD)
    if header[place] == LABEL:
        told = f"the words are column {place + 1}, which the header calls labels"
        shown = "columns" if path is None else path
        warnings.warn(f"{shown}: {told}; are the columns swapped?", SkipchainWarning, stacklevel=2)


def _may_cut(corpus: Corpus, name: str) -> bool:
    """Whether the values of a column could be the numbers or names of sentences."""
    column = corpus.columns.get(name)
    if column is None or name in (WORD, LABEL) or name in {*OTHERS} - {SENTENCE, DOCUMENT}:
        return False
    return comes_in_runs(column)


def _used(column: Column) -> list[str]:
    """The values that a column has."""
    return [column.values[code] for code in column.used().tolist()]
