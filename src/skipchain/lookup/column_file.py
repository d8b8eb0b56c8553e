"""Column files tagged as the bytes that they are, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipchain.arrays import Ints, Labels
from skipchain.corpus import Column
from skipchain.io.charsets import UTF8
from skipchain.io.columns.reading import Reading
from skipchain.io.columns.tidy import TidyColumns, closed, cut, cut_documents, has_documents
from skipchain.io.detect import SAMPLE
from skipchain.io.formats import format_of_text
from skipchain.lookup.frozen import FrozenChain
from skipchain.parallel import Workers

SMALL = 1 << 16
"""Bytes of a file that is tagged as quickly as a corpus, and may need no compiled kernels."""


def tag_lines(
    chain: FrozenChain,
    named: Callable[[Labels, Ints], Column],
    data: bytes,
    path: str | Path,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    threads: int | None = None,
) -> tuple[list[bytes], Reading] | None:
    """The lines of a column file with labels, and how it was read; None where that needs a corpus.

    ``named`` makes labels of a path and the offsets of its sentences. ``path`` names the file in
    errors, ``format`` and ``columns`` are as for `skipchain.read`.
    """
    tagger = LineTagger.of(chain, named, data, path, format, columns)
    if tagger is None:
        return None
    with Workers(threads) as workers:
        pieces = cut_documents if chain.annotated else cut
        blocks = workers.map(tagger.tag, pieces(closed(data)))
    done = [block for block in blocks if block is not None]
    if len(done) < len(blocks):
        return None
    return [block.lines for block in done], _reading(done, tagger.layout.names)


@dataclass(frozen=True, slots=True)
class LineTagger:
    """Labels blocks of whole lines of a column file that begins as a simple one does."""

    chain: FrozenChain
    named: Callable[[Labels, Ints], Column]
    layout: TidyColumns
    path: str | Path

    @classmethod
    def of(
        cls,
        chain: FrozenChain,
        named: Callable[[Labels, Ints], Column],
        data: bytes,
        path: str | Path,
        format: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> LineTagger | None:
        """What labels a file that begins so; None where that needs a corpus."""
        if len(data) < SMALL or format not in (None, "conll") or isinstance(columns, str):
            return None
        layout = TidyColumns.of(data, columns)
        if layout is None or not (chain.annotated or set(chain.columns) <= set(layout.names)):
            return None
        if chain.annotated and not has_documents(data):
            return None  # one document, which is looked at as a whole
        head = data[: 4 * SAMPLE].decode(errors="ignore")  # a character has four bytes at most
        if format is None and format_of_text(head, path) != "conll":
            return None
        return cls(chain, named, layout, path)

    def tag(self, block: bytes) -> LabelledLines | None:
        """The block with labels; None where it is not tidy."""
        chain, layout = self.chain, self.layout
        if not layout.fits(block):
            return None
        tokens = layout.scan(block, () if chain.annotated else chain.columns)
        if tokens is None:
            return None
        if chain.annotated:
            codes = chain.path_of(layout.corpus(block, self.path))
        else:
            codes = chain.path(tokens.text, tokens.starts, tokens.ends, tokens.sentences)
        labels = self.named(codes, tokens.sentences)
        written = tokens.with_labels(labels.codes, labels.values)
        sizes = len(tokens.sentences) - 1, len(tokens.lines)
        return LabelledLines(written, tokens.documents, *sizes)


@dataclass(frozen=True, slots=True)
class LabelledLines:
    """A block with labels, and what it holds: where documents begin, and how much there is."""

    lines: bytes
    documents: set[int]
    sentences: int
    tokens: int


def _reading(blocks: Sequence[LabelledLines], columns: tuple[str, ...]) -> Reading:
    """How a file in these blocks was read."""
    documents, tokens = {0}, 0
    for block in blocks:
        documents |= {tokens + place for place in block.documents}
        tokens += block.tokens
    sentences = sum(block.sentences for block in blocks)
    return Reading("conll", UTF8, columns, len(documents - {tokens}), sentences, tokens)
