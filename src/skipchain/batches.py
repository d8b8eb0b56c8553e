"""Texts and corpora in batches, read as they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skipchain.checks import check_integer
from skipchain.corpus import Corpus
from skipchain.errors import ParameterError, SkipchainError
from skipchain.report.printable import printable

BATCH = 256  # texts at most
CHARACTERS = 200_000  # after which a batch is full, however few texts it has
TOKEN = 6  # characters that a token of a corpus counts for
SHOWN = 40  # characters of a text that an error quotes


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts, or corpora, that follow each other; ``first`` is the number of the first of them."""

    first: int
    items: Sequence[str | Corpus]

    @property
    def texts(self) -> list[str]:
        """The texts; none where the items are corpora."""
        return [item for item in self.items if isinstance(item, str)]


def check_stream(given: Any) -> None:
    """Refuse what is no stream of texts or corpora, or a single one of them.

    >>> check_stream("Ada slept.")
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: pipe takes many texts or corpora, got a string; tag takes one
    """
    for kind, name, method in ((str, "a string", "tag"), (Corpus, "a corpus", "predict")):
        if isinstance(given, kind):
            raise ParameterError(
                f"pipe takes many texts or corpora, got {name}; {method} takes one"
            )
    if not isinstance(given, Iterable):
        raise ParameterError(f"pipe takes many texts or corpora, got {type(given).__name__}")


def batches(items: Iterable[Any], most: int) -> Iterator[Batch]:
    """Batches of at most so many texts or corpora, fewer where they are long.

    An item is read when its batch is asked for. Where one is no text and no corpus, or cannot be
    read, those before it come first.

    >>> [batch.items for batch in batches(["Ada slept.", "Bo left.", "All ran."], 2)]
    [['Ada slept.', 'Bo left.'], ['All ran.']]
    """
    check_integer("batch", most)
    begun: list[Any] = []
    first, size, failure = 0, 0, None
    source = iter(items)
    while True:
        try:
            item = next(source)
            check_item(item, first + len(begun))
        except StopIteration:
            break
        except Exception as error:
            failure = error
            break
        if begun and isinstance(item, str) != isinstance(begun[0], str):
            yield Batch(first, begun)
            first, size, begun = first + len(begun), 0, []
        begun.append(item)
        size += len(item) if isinstance(item, str) else TOKEN * item.n_tokens
        if len(begun) == most or size >= CHARACTERS:
            yield Batch(first, begun)
            first, size, begun = first + len(begun), 0, []
    if begun:
        yield Batch(first, begun)
    if failure is not None:
        raise failure


def check_item(item: Any, number: int) -> None:
    """Refuse what is neither a text nor a corpus."""
    if isinstance(item, (str, Corpus)):
        return
    advice = ""
    if isinstance(item, (list, tuple)):
        advice = "; Corpus.of(lists of words) makes a corpus of what has been cut into words"
    elif isinstance(item, bytes):
        advice = "; decode() makes a text of bytes"
    raise ParameterError(
        f"text {number}: wanted a string or a corpus, got {type(item).__name__}{advice}"
    )


def named_error(error: Exception, item: str | Corpus, number: int) -> Exception:
    """The error, which says in which text or corpus it came up."""
    where = f"corpus {number}"
    if isinstance(item, str):
        quoted = item[:SHOWN] + (" …" if len(item) > SHOWN else "")
        where = f"text {number}, '{printable(quoted)}'"
    if isinstance(error, SkipchainError):
        error.args = (f"{where}: {error}",)
    else:
        error.add_note(f"in {where}")
    return error
