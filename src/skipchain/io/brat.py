"""brat stand-off files: a text ``x.txt`` and its annotations ``x.ann``."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError, ReadError, SkipchainError
from skipchain.io.files import STDIO, read_text, write_text
from skipchain.io.standoff import Passage, Span, corpus_of, passages_of

BOUND = re.compile(r"(T\S*)\t(\S+) (\d{1,12}) (\d{1,12})(?:\t(.*))?")
BROKEN = re.compile(r"T\S*\t\S+ \d+ \d+;[\d ;]+(?:\t.*)?")
# Relations, events, attributes, modifications, normalisations, notes and equivalences.
OTHER = "REAMN#*"


def read_brat(
    path: str | Path,
    max_bytes: int | None = None,
    *,
    scheme: str | None = None,
    charset: str | None = None,
) -> Corpus:
    """Read one pair ``x.txt``/``x.ann``, named by either, or all pairs of a folder.

    Only text-bound annotations (T lines) are read; a warning counts the others. ``charset`` and
    ``max_bytes`` are as for `skipchain.read`, and hold for each file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.txt").write_text("Ada slept.")
    ...     _ = Path(folder, "x.ann").write_text("T1\\tPerson 0 3\\tAda\\n")
    ...     read_brat(folder)
    Corpus(1 document, 1 sentence, 3 tokens, columns word, label (iob2))
    """
    others: Counter[str] = Counter()
    stems = find_stems(Path(path))
    passages = [read_pair(stem, others, max_bytes, charset) for stem in stems]
    if all(not passage.text.strip() for passage in passages):
        raise ReadError("the text is empty", path=path)
    if others:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        warnings.warn(f"{path}: lines that mark no text were left out: {kinds}", stacklevel=2)
    return corpus_of(passages, scheme, path)


def write_brat(corpus: Corpus, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a document as the pair ``x.txt``/``x.ann``, or the documents as pairs in a folder.

    A path that ends in .txt or .ann is a pair, and then there must be one document; any other is a
    folder, which is made if need be. Documents without a name are numbered.
    """
    if str(path) == STDIO:
        raise CorpusError("brat needs two files a document; name a folder, or a file x.ann")
    target = Path(path)
    passages = passages_of(corpus)
    if target.suffix in (".txt", ".ann"):
        if len(passages) != 1:
            fault = f"a brat pair holds one document, got {len(passages):,}; name a folder"
            raise CorpusError(fault)
        write_pair(target.with_suffix(""), passages[0], overwrite)
        return
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise SkipchainError(f"cannot make the folder {path}: {error.strerror}") from None
    for stem, passage in zip(file_names(passages), passages, strict=True):
        write_pair(target / stem, passage, overwrite)


def find_stems(path: Path) -> list[Path]:
    """The paths of the pairs without their endings, sorted."""
    if path.is_dir():
        stems = sorted(file.with_suffix("") for file in path.glob("*.ann"))
        if not stems:
            fault = (
                f"this folder has no .ann files; name files in it, such as {Path(path, '*.txt')}"
            )
            raise ReadError(fault, path=path)
        return stems
    if path.suffix not in (".ann", ".txt"):
        raise ReadError("brat files end in .txt and .ann; name one of them, or a folder", path=path)
    return [path.with_suffix("")]


def read_pair(
    stem: Path, others: Counter[str], max_bytes: int | None = None, charset: str | None = None
) -> Passage:
    """The text of a pair with its spans; ``others`` counts the lines that mark no text."""
    text = read_text(pair_file(stem, ".txt"), max_bytes, charset=charset, named=True)
    annotations = pair_file(stem, ".ann")
    marks = read_text(annotations, max_bytes, charset=charset, named=True)
    spans = []
    lines = marks.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("T"):
            spans.append(read_span(line, text, annotations, number))
        elif line and line[0] in OTHER:
            others[line[0]] += 1
        elif line.strip():
            raise ReadError(f"{line!r} is no annotation of brat", path=annotations, line=number)
    return Passage(text, spans, name=stem.name)


def pair_file(stem: Path, ending: str) -> Path:
    """The file of a pair; both must be there."""
    path = stem.with_name(stem.name + ending)
    if not path.exists():
        raise ReadError("this half of the brat pair is missing", path=path)
    return path


def read_span(line: str, text: str, path: Path, number: int) -> Span:
    """The span of a T line, checked against the text."""
    match = BOUND.fullmatch(line)
    if match is None:
        if BROKEN.fullmatch(line):
            fault = "a span in several pieces; labels hold only whole spans, so join or drop it"
        else:
            fault = f"wanted 'T1<TAB>TYPE START END<TAB>TEXT', got {line!r}"
        raise ReadError(fault, path=path, line=number)
    start, end, quoted = int(match[3]), int(match[4]), match[5]
    content = single_line(text[start:end])
    if quoted is not None and single_line(quoted) != content:
        fault = f"{match[1]} says {quoted!r}, but the text has {content!r} at {start}:{end}; "
        raise ReadError(fault + "do the two files belong together?", path=path, line=number)
    return start, end, match[2]


def single_line(text: str) -> str:
    """The text on one line, as brat writes it."""
    return re.sub(r"[\r\n]", " ", text)


def write_pair(stem: Path, passage: Passage, overwrite: bool) -> None:
    """Write the text and its annotations."""
    lines = []
    for number, (start, end, kind) in enumerate(passage.spans or (), 1):
        if re.search(r"[\s\0]", kind):
            raise CorpusError(f"brat cannot hold the type {kind!r}; rename it")
        lines.append(f"T{number}\t{kind} {start} {end}\t{single_line(passage.text[start:end])}\n")
    write_text(stem.with_name(stem.name + ".txt"), passage.text, overwrite=overwrite)
    write_text(stem.with_name(stem.name + ".ann"), "".join(lines), overwrite=overwrite)


def file_names(passages: list[Passage]) -> list[str]:
    """A file name for each document: its name, as far as a file can have it, else its number.

    >>> file_names([Passage("", name="a/b"), Passage("", name="a_b"), Passage("")])
    ['a_b', 'a_b-2', '3']
    """
    names: list[str] = []
    used: set[str] = set()  # in lower case: some file systems do not tell a from A
    for number, passage in enumerate(passages, 1):
        plain = re.sub(r"[^\w.+@=-]", "_", passage.name or "")[:100].lstrip(".") or str(number)
        name, copy = plain, 2
        while name.lower() in used:
            name, copy = f"{plain}-{copy}", copy + 1
        used.add(name.lower())
        names.append(name)
    return names
