"""Labelled lines: a tar archive of texts, each line with its label before a tab."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus, offsets_of
from skipchain.errors import ReadError
from skipchain.io.files import decode_text, raw_bytes


def read_labelled_lines(path: str | Path) -> Corpus:
    """Read an archive: a text is a document of one sentence, whose tokens are its lines.

    Texts are read in the order of their names, which the corpus keeps without their ending.
    """
    lines: list[str] = []
    labels: list[str] = []
    sizes: list[int] = []
    names: list[str] = []
    for name, data in sorted(_texts(path).items()):
        rows = decode_text(data, f"{path}({name})").removesuffix("\n").split("\n")
        for number, row in enumerate(rows, 1):
            label, tab, line = row.partition("\t")
            if not tab or not label:
                raise ReadError(
                    f"{row[:40]!r} is no line with its label and a tab before it",
                    path=f"{path}({name})",
                    line=number,
                )
            labels.append(label)
            lines.append(line)
        sizes.append(len(rows))
        names.append(Path(name).stem)
    return Corpus(
        {WORD: Column.encode(lines), LABEL: Column.encode(labels)},
        offsets_of(sizes),
        offsets_of([1] * len(sizes)),
        names=tuple(names),
    )


def _texts(path: str | Path) -> dict[str, bytes]:
    """The files of the archive that end in .txt."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw_bytes(path))) as archive:
            for member in archive:
                data = archive.extractfile(member) if member.name.endswith(".txt") else None
                if data is not None:
                    found[member.name] = data.read()
    # Besides tarfile's own, the libraries that unpack raise errors of several kinds.
    except (tarfile.TarError, EOFError, OSError, ValueError, KeyError) as error:
        raise ReadError(
            f"damaged or no tar archive ({error}); fetch the file again", path=path
        ) from None
    if not found:
        raise ReadError("the archive holds no .txt file", path=path)
    return found
