"""The formats by name, with their file endings, and reading and writing by path."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from skipchain.corpus.corpus import Corpus
from skipchain.errors import BrokenSchemeReadError, CorpusError, ParameterError, ReadError
from skipchain.io.charsets import LONGEST_MARK, UTF8, charset_of, check_charset, decode_text
from skipchain.io.columns.reading import Reading
from skipchain.io.detect import ADVICE, detect_format
from skipchain.io.files import (
    COMPRESSED_ENDINGS,
    STDIO,
    check_text,
    display_path,
    unpacked_bytes,
    write_text,
)


@dataclass(frozen=True, slots=True)
class Format:
    """The names of a format's functions, whose module is imported when it is first used.

    ``parse`` makes a corpus of a text (None: the format can only be written), ``format`` a text of
    a corpus. Where a document is ``several_files``, both take a path instead of a text.
    """

    module: str
    parse: str | None
    format: str
    endings: tuple[str, ...] = ()
    several_files: bool = False

    def function(self, name: str) -> Callable[..., Any]:
        """One of the functions by its name."""
        function: Callable[..., Any] = getattr(import_module(f"skipchain.io.{self.module}"), name)
        return function


TABLE = {
    "conll": Format("conll", "parse_conll", "format_conll", (".conll", ".iob", ".iob2", ".bio")),
    "tsv": Format("columns.spreadsheet", "parse_tsv", "format_tsv", (".tsv", ".tab")),
    "csv": Format("columns.spreadsheet", "parse_csv", "format_csv", (".csv",)),
    "conllu": Format("conllu", "parse_conllu", "format_conllu", (".conllu",)),
    "jsonl": Format("jsonl", "parse_jsonl", "format_jsonl", (".jsonl", ".ndjson")),
    "inline": Format("inline", "parse_inline", "format_inline", (".sgml", ".sgm", ".xml")),
    "opennlp": Format("opennlp", "parse_opennlp", "format_opennlp"),
    "brat": Format("brat", "read_brat", "write_brat", (".ann",), several_files=True),
    "text": Format("text", "parse_plain", "format_plain"),
    "html": Format("html", None, "format_html", (".html", ".htm")),
}
FORMATS: tuple[str, ...] = tuple(TABLE)
ENDINGS = {ending: name for name, entry in TABLE.items() for ending in entry.endings}
PLAIN_TEXT_ENDINGS = ("", ".txt", ".text")  # the endings under which plain text is no surprise


def read(
    path: str | Path,
    format: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    scheme: str | None = None,
    charset: str | None = None,
    repair: bool | None = None,
    max_bytes: int | None = None,
    **options: Any,
) -> Corpus:
    """Read a corpus from a file, a folder (brat) or, with ``-``, from stdin.

    The format is one of `FORMATS`; by default the ending decides, and for endings that do not tell,
    the content. ``columns`` names the columns of a column file. ``scheme`` is the scheme of the
    labels (``none``: they mark no spans), by default inferred from them. Where fewer than one label
    in a thousand breaks it, these are repaired, with a warning; more are an error. With ``repair``
    they are repaired whatever their number, with False all labels stay as they are
    (``docs/guide/schemes.md`` has the rules). ``charset`` is the character set of the file, by
    default UTF-8; a byte-order mark (of UTF-8, UTF-16, UTF-32) counts more. A file that has more
    than ``max_bytes`` bytes when it is unpacked is refused; by default 2 GiB. Other options are
    those of the format's parser, such as `skipchain.io.conll.parse_conll`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.conll").write_text("Ada B-PER\\nslept O\\n")
    ...     read(folder + "/a.conll")
    Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2))
    """
    how: dict[str, Any] = {"scheme": scheme, "charset": charset, "repair": repair}
    return read_told(path, format, columns=columns, max_bytes=max_bytes, **how, **options)[0]


def read_told(
    path: str | Path,
    format: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    scheme: str | None = None,
    charset: str | None = None,
    repair: bool | None = None,
    max_bytes: int | None = None,
    **options: Any,
) -> tuple[Corpus, Reading]:
    """The corpus that `read` gives, and how it was read."""
    if not isinstance(path, (str, Path)):
        raise ParameterError(f"a path must be a string or a Path, got {type(path).__name__}")
    named_charset = UTF8 if charset is None else check_charset(charset)
    if columns is not None:
        options["columns"] = columns
    named = format
    if format is None:
        format = format_of_path(path)
    if format is not None and is_folder(format):
        parse = TABLE[format].function(str(TABLE[format].parse))
        check_options(parse, format, options)
        corpus: Corpus = parse(path, max_bytes, scheme=scheme, charset=charset, **options)
        return corpus, Reading.of(corpus, format, named_charset)
    check_readable(format, path)
    shown = display_path(path)
    data = unpacked_bytes(path, max_bytes, text=True, charset=charset, named=True)
    found = charset_of(data[:LONGEST_MARK], charset)[0]
    text = check_text(decode_text(data, shown, charset=charset, named=True), shown)
    del data
    format = format or format_of_text(text, shown)
    try:
        corpus = parse_text(text, shown, format, scheme=scheme, repair=repair, **options)
    except BrokenSchemeReadError as error:
        given = {
            "--from": named,
            "--scheme": scheme,
            "--charset": charset,
            **{f"--{name}": options.get(name) for name in ("columns", "label", "separator")},
        }
        advice = repair_advice(path, given)
        raise BrokenSchemeReadError(f"{error}; {advice}") from None
    return corpus, Reading.of(corpus, format, found)


def parse_text(
    text: str,
    path: str | Path,
    format: str | None = None,
    *,
    scheme: str | None = None,
    repair: bool | None = None,
    **options: Any,
) -> Corpus:
    """The corpus that a text holds in a format, by default the one that its content shows.

    ``path`` is named in errors; other options are as for `read`.

    >>> parse_text("Ada B-PER\\nslept O\\n", "eng.train")
    Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2))
    """
    check_readable(format, path)
    format = format or format_of_text(check_text(text, path), path)
    parse = TABLE[format].function(str(TABLE[format].parse))
    check_options(parse, format, options)
    known = parse.__kwdefaults__ or {}
    how = {"repair": repair} if "repair" in known else {}  # others have spans, not labels
    corpus: Corpus = parse(text, path, scheme=scheme, **how, **options)
    return corpus


def repair_advice(path: str | Path, options: Mapping[str, str | Sequence[str] | None]) -> str:
    """How to go on where labels break their scheme: an option, and a command that can be pasted.

    >>> print(repair_advice("my corpus.txt", {"--from": "conll", "--scheme": None}))
    mend them while reading (--repair, repair=True), or once for all:
    skipchain convert 'my corpus.txt' 'my corpus.repaired.conll' --repair --from conll
    """
    reading = "mend them while reading (--repair, repair=True)"
    if str(path) == STDIO:
        return reading
    source = Path(path)
    last = ending(path) if ending(path) in ENDINGS else ".conll"
    target = source.with_name(f"{source.name.split('.')[0]}.repaired{last}")
    words = ["skipchain", "convert", str(source), str(target), "--repair"]
    for option, value in options.items():
        if value is not None:
            words += [option, value if isinstance(value, str) else ",".join(value)]
    return f"{reading}, or once for all: {shlex.join(words)}"


def is_folder(format: str) -> bool:
    """Whether a document in this format is several files, which are named by their folder."""
    return check_format(format).several_files


def check_readable(format: str | None, path: str | Path) -> None:
    """Refuse a format that can only be written."""
    if format is not None and check_format(format).parse is None:
        raise ReadError(f"{format} can be written, but not read", path=path)


def write(
    corpus: Corpus,
    path: str | Path,
    format: str | None = None,
    *,
    overwrite: bool = False,
    **options: Any,
) -> None:
    """Write a corpus to a file, a folder (brat) or, with ``-``, to stdout.

    The format is one of `FORMATS`; by default the ending decides. A file that exists is replaced
    only with ``overwrite``. Other options are those of the format's writer, such as
    `skipchain.io.conll.format_conll`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Corpus.of([["Ada"]], [["B-PER"]]), folder + "/a.conll")
    ...     Path(folder, "a.conll").read_text()
    'Ada B-PER\\n\\n'
    """
    if format is None:
        format = format_to_write(path, labelled=corpus.labelled)
    entry = check_format(format)
    function = entry.function(entry.format)
    check_options(function, format, options)
    if entry.several_files:
        function(corpus, path, overwrite=overwrite, **options)
    else:
        write_text(path, function(corpus, **options), overwrite=overwrite)


def format_of_path(path: str | Path) -> str | None:
    """The format of a path by its ending (a folder is brat), or None where that does not decide.

    >>> format_of_path("a/b.conllu.xz"), format_of_path("page.htm"), format_of_path("eng.train")
    ('conllu', 'html', None)
    """
    if str(path) == STDIO:
        return None
    return "brat" if Path(path).is_dir() else ENDINGS.get(ending(path))


def format_of_text(text: str, path: str | Path) -> str:
    """The format of a text by its content; prose is plain text if the name may be a text's.

    >>> format_of_text("Ada B-PER\\nslept O\\n", "eng.train")
    'conll'
    """
    format = detect_format(text, path)
    if format is None and ending(path) in PLAIN_TEXT_ENDINGS:
        return "text"
    if format is None:
        raise ReadError(f"neither the ending nor the content tells the format; {ADVICE}", path=path)
    return format


def format_to_write(path: str | Path, *, labelled: bool) -> str:
    """The format in which to write a corpus, by the ending of the name."""
    suffix = ending(path)
    if suffix in ENDINGS:
        return ENDINGS[suffix]
    if suffix == ".txt" and not labelled:
        return "text"
    reason = "plain text would lose the labels" if suffix == ".txt" else "the ending does not tell"
    raise CorpusError(f"{path}: in which format? {reason}; {ADVICE}")


def ending(path: str | Path) -> str:
    """The ending of a name in lower case, without that of a packed file."""
    name = Path(path)
    return Path(name.stem if name.suffix in COMPRESSED_ENDINGS else name.name).suffix.lower()


def check_format(format: str) -> Format:
    """The format of that name."""
    if format not in TABLE:
        raise CorpusError(f"unknown format {format!r}; the formats are {', '.join(FORMATS)}")
    return TABLE[format]


def check_options(function: Callable[..., Any], format: str, options: dict[str, Any]) -> None:
    """Refuse options that the format does not have."""
    known = getattr(function, "__kwdefaults__", None) or {}
    for name in options:
        if name not in known:
            there = ", ".join(known) or "none"
            raise CorpusError(f"the format {format} has no option {name!r}; it has {there}")
