"""How a file was read, in a line."""

from __future__ import annotations

from dataclasses import dataclass

from skipchain.corpus.corpus import Corpus, plural
from skipchain.io.columns.layout import INDEX
from skipchain.io.conll import header_of, header_read


@dataclass(frozen=True, slots=True)
class Reading:
    """Format, character set, columns and size of a file, as it was read.

    ``header`` has the names that the first row gave the columns, and is empty where none did. The
    sizes are None where all of the file has not been read yet.

    >>> corpus = Corpus.of([["Ada", "slept"]], [["B-PER", "O"]])
    >>> print(Reading.of(corpus, "conll", "utf-8"))
    1 document, 1 sentence, 2 tokens; conll in utf-8; columns word, label
    """

    format: str
    charset: str
    columns: tuple[str, ...]
    documents: int | None
    sentences: int | None
    tokens: int | None
    header: tuple[str, ...] = ()

    @classmethod
    def of(cls, corpus: Corpus, format: str, charset: str) -> Reading:
        """How a corpus was read."""
        sizes = corpus.n_documents, len(corpus), corpus.n_tokens
        header = header_of(corpus)
        if header is None and format in ("conll", "tsv", "csv"):
            header = header_read(corpus)
        return cls(format, charset, (*corpus.columns,), *sizes, tuple(header or ()))

    @property
    def sizes(self) -> str:
        """How much there is: ``1 document, 1 sentence, 2 tokens``."""
        nouns = {"document": self.documents, "sentence": self.sentences, "token": self.tokens}
        return ", ".join(plural(count, noun) for noun, count in nouns.items() if count is not None)

    def __str__(self) -> str:
        columns = f"columns {', '.join(self.columns)}"
        if self.header:
            columns += f", by the header row {', '.join(map(repr, self.header))}"
        elif self.columns[:1] == (INDEX,) and self.format not in ("conllu", "jsonl"):
            columns += f"; the column {INDEX} counts tokens"
        return "; ".join(filter(None, [self.sizes, f"{self.format} in {self.charset}", columns]))
