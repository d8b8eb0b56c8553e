"""The formats by name, and reading and writing by path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.io.detect import by_content, by_ending, target_by_ending
from skipchain.io.files import check_text, display_path, read_text


@dataclass(frozen=True, slots=True)
class Format:
    """Where the functions of a format stand; the module is imported when it is first used."""

    module: str
    read: str | None
    parse: str | None  # None: reads more than one file
    write: str

    def function(self, name: str) -> Callable[..., Any]:
        """One of the functions."""
        found: Callable[..., Any] = getattr(import_module(f"skipchain.io.{self.module}"), name)
        return found


TABLE = {
    "conll": Format("conll", "read_conll", "parse_conll", "write_conll"),
    "conllu": Format("conllu", "read_conllu", "parse_conllu", "write_conllu"),
    "jsonl": Format("jsonl", "read_jsonl", "parse_jsonl", "write_jsonl"),
    "inline": Format("inline", "read_inline", "parse_inline", "write_inline"),
    "opennlp": Format("opennlp", "read_opennlp", "parse_opennlp", "write_opennlp"),
    "brat": Format("brat", "read_brat", None, "write_brat"),
    "text": Format("text", "read_plain", "parse_plain", "write_plain"),
    "html": Format("html", None, None, "write_html"),
}
FORMATS: tuple[str, ...] = tuple(TABLE)


def read(
    path: str | Path,
    format: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    scheme: str | None = None,
    **options: Any,
) -> Corpus:
    """Read a corpus from a file, a folder (brat) or, with ``-``, from stdin.

    The format is one of `FORMATS`; without it the ending decides, and for endings that do not tell,
    the content. ``columns`` names the columns of a column file. ``scheme`` is the scheme of the
    labels; without it the labels tell. Other options are those of the format's own function.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.conll").write_text("Ada B-PER\\nslept O\\n")
    ...     read(folder + "/a.conll")
    Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2))
    """
    if columns is not None:
        options["columns"] = columns
    if format is None:
        format = by_ending(path)
    if format is not None and check_format(format).parse is None:
        return read_whole(path, format, scheme, options)
    source = display_path(path)
    text = check_text(read_text(path), source)
    if format is None:
        format = by_content(text, source)
    parse = TABLE[format].function(str(TABLE[format].parse))
    check_options(parse, format, options)
    corpus: Corpus = parse(text, source, scheme=scheme, **options)
    return corpus


def write(corpus: Corpus, path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write a corpus to a file, a folder (brat) or, with ``-``, to stdout.

    The format is one of `FORMATS`; without it the ending decides. A file that exists is replaced
    only with ``overwrite=True``. Other options are those of the format's own function.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Corpus.of([["Ada"]], [["B-PER"]]), folder + "/a.conll")
    ...     Path(folder, "a.conll").read_text()
    'Ada B-PER\\n\\n'
    """
    if format is None:
        format = target_by_ending(path, labelled=corpus.labelled)
    save = check_format(format).function(TABLE[format].write)
    check_options(save, format, options)
    save(corpus, path, **options)


def read_whole(
    path: str | Path, format: str, scheme: str | None, options: dict[str, Any]
) -> Corpus:
    """Read a format that opens its files itself."""
    name = TABLE[format].read
    if name is None:
        raise ReadError(f"{format} can be written, but not read", path=path)
    load = TABLE[format].function(name)
    check_options(load, format, options)
    corpus: Corpus = load(path, scheme=scheme, **options)
    return corpus


def check_format(format: str) -> Format:
    """The format of that name."""
    if format not in TABLE:
        raise CorpusError(f"unknown format {format!r}; the formats are {', '.join(FORMATS)}")
    return TABLE[format]


def check_options(function: Callable[..., Any], format: str, options: dict[str, Any]) -> None:
    """Refuse options that the format does not have."""
    known = getattr(function, "__kwdefaults__", None) or {}
    strange = [name for name in options if name not in known]
    if strange:
        raise CorpusError(
            f"the format {format} has no option {strange[0]!r}; it has {', '.join(known)}"
        )
