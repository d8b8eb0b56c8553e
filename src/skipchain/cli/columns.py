"""Which columns features see, and what tagging will need because of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from skipchain.cli.options import say
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.corpus import Corpus

RICHER, RICHER_RECIPE = "ner", "ner-full"
"""The sets that read what the default sets leave unread."""


def columns_left_out(texts: Iterable[str] | None) -> tuple[str, ...]:
    """The columns that --without names.

    >>> columns_left_out(["pos,chunk", "lemma"])
    ('pos', 'chunk', 'lemma')
    """
    names = (name.strip() for text in texts or () for name in text.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def check_left_out(columns: Sequence[str], corpus: Corpus) -> None:
    """Refuse columns that the data do not have: a typing error would leave everything in."""
    from skipchain.checks import nearest
    from skipchain.corpus.corpus import LABEL

    known = [name for name in corpus.columns if name != LABEL]
    for name in columns:
        if name == LABEL:
            raise SkipchainError(f"--without {name}: the label is what is learnt; leave it in")
        if name not in known:
            raise SkipchainError(
                f"--without {name}: the data have no such column; {nearest(name, known)}"
            )


def tell_needs(reads: set[str], corpus: Corpus, richer: str | None = None) -> None:
    """Say what a model that ``reads`` these columns will need to tag, before it is trained.

    ``richer`` names features that nobody has asked for, and that may read more of the data.
    """
    say(f"features: {needs(reads, corpus.columns, richer)}")


def needs(reads: set[str], columns: Iterable[str], richer: str | None = None) -> str:
    """What tagging needs, in a line, and the option that changes it.

    >>> needs({"word", "pos"}, ["word", "pos", "label"])
    'tagging will need the columns word, pos; to tag plain text, train with --without pos'
    """
    from skipchain.corpus.corpus import WORD
    from skipchain.features.templates import Templates

    given = list(columns)
    beyond = [name for name in given if name in reads and name != WORD]
    if beyond:
        listed = ", ".join([WORD, *beyond])
        option = f"--without {','.join(beyond)}"
        return f"tagging will need the columns {listed}; to tag plain text, train with {option}"
    told = "tagging will need words alone, so plain text will do"
    if richer is None:
        return told
    unread = Templates.of(richer).reads(given) - {WORD}
    if not unread:
        return told
    listed = ", ".join(name for name in given if name in unread)
    noun = "the column" if len(unread) == 1 else "the columns"
    return f"{told}; {noun} {listed} will not be read (--features {richer} reads {_it(unread)})"


def _it(things: set[str]) -> str:
    return "it" if len(things) == 1 else "them"
