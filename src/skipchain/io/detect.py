"""Which format a file is in: first by its ending, then by its content; never by a guess."""

from __future__ import annotations

import re
from pathlib import Path

from skipchain.errors import CorpusError, ReadError
from skipchain.io.conll import split
from skipchain.io.files import COMPRESSED_ENDINGS, STDIO

ENDINGS = {
    ".conll": "conll",
    ".iob": "conll",
    ".iob2": "conll",
    ".bio": "conll",
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".sgml": "inline",
    ".sgm": "inline",
    ".xml": "inline",
    ".ann": "brat",
    ".html": "html",
    ".htm": "html",
}
PLAIN_TEXT_ENDINGS = ("", ".txt", ".text")  # the endings under which plain text is no surprise
SAMPLE = 50_000  # characters
ROWS = 500
SPANS = re.compile(r"(?:O|[BIESLU]-\S+)")
SENTENCE_END = re.compile(r".*\w[.?!,;:]")
ADVICE = "say which with format= (on the command line, --from or --to)"


def by_ending(path: str | Path) -> str | None:
    """The format that the name alone tells, or None.

    >>> by_ending("a/b.conllu.xz"), by_ending("eng.train")
    ('conllu', None)
    """
    if str(path) == STDIO:
        return None
    return "brat" if Path(path).is_dir() else ENDINGS.get(ending(path))


def by_content(text: str, path: str | Path) -> str:
    """The format that the content tells; an error asks where it does not.

    >>> by_content("<START:person> Ada <END> slept .", "x.train")
    'opennlp'
    >>> by_content("Ada B-PER\\nslept O\\n", "eng.train")
    'conll'
    """
    sample = text[:SAMPLE]
    if sample.lstrip().startswith('{"'):
        return "jsonl"
    if re.search(r"<START(?::[^\s>]+)?> ", sample) and "<END>" in sample:
        return "opennlp"
    cells = rows(sample, whole=len(text) <= SAMPLE)
    if cells and (table := by_columns(cells, path)):
        return table
    if re.search(r"<([^\W\d][\w.:-]*)>[^<]*</\1>", sample):
        return "inline"
    if ending(path) in PLAIN_TEXT_ENDINGS:
        return "text"
    raise ReadError(f"neither the ending nor the content tells the format; {ADVICE}", path=path)


def target_by_ending(path: str | Path, *, labelled: bool) -> str:
    """The format to write, as the name tells it."""
    name = ending(path)
    if name in ENDINGS:
        return ENDINGS[name]
    if name == ".txt" and not labelled:
        return "text"
    reason = "plain text would lose the labels" if name == ".txt" else "the ending does not tell"
    raise CorpusError(f"{path}: in which format? {reason}; {ADVICE}")


def ending(path: str | Path) -> str:
    """The ending of a name in lower case, without that of a packed file."""
    name = Path(path)
    return Path(name.stem if name.suffix in COMPRESSED_ENDINGS else name.name).suffix.lower()


def rows(sample: str, *, whole: bool) -> list[list[str]]:
    """The cells of the first lines that may be tokens."""
    lines = sample.split("\n")
    if not whole:
        lines.pop()  # the sample may end within a line
    tokens = [
        line.rstrip("\r")
        for line in lines
        if line.strip() and not line.startswith(("#", "-DOCSTART-"))
    ][:ROWS]
    separator = "\t" if tokens and "\t" in tokens[0] else " "
    return [split(line, separator) for line in tokens]


def by_columns(cells: list[list[str]], path: str | Path) -> str | None:
    """The column format of lines that all have as many cells, or None if they differ."""
    width = len(cells[0])
    if width < 2 or any(len(row) != width for row in cells):
        return None
    if width == 10 and all(re.fullmatch(r"\d+([-.]\d+)?", row[0]) for row in cells):
        return "conllu"
    labels = [row[-1] for row in cells]
    if all(map(SPANS.fullmatch, labels)):
        return "conll"
    if len(cells) == 1 or any(map(SENTENCE_END.fullmatch, labels)):
        return None
    # Labels come again and again; the last words of lines that happen to be equally long do not.
    if len(set(labels)) <= len(labels) // 3:
        return "conll"
    raise ReadError(
        f"every line has {width} words: are these columns (conll) or prose (text)? {ADVICE}",
        path=path,
    )
