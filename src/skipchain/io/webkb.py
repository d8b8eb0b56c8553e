"""WebKB: web pages of four computer science departments, with their classes and links.

Two versions are read, each as a corpus of four documents: Cornell, Texas, Washington, Wisconsin. A
page is one token in a sentence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus, offsets_of
from skipchain.errors import ReadError
from skipchain.io.archive import read_archive
from skipchain.io.files import check_text, read_text
from skipchain.io.webpage import WebPage, address, decode_page, parse_webpage, strip_header

SCHOOLS = ("cornell", "texas", "washington", "wisconsin")
CHOSEN = "taskar_like"  # the column of pages.tsv.gz that is 1 for the pages to be read
MARK = re.compile(r"<!WA\d+>")  # put before every link by those who collected the pages


def read_webkb(folder: str | Path) -> Corpus:
    """The pages of five classes that are chosen in ``pages.tsv.gz``.

    The columns are ``word`` (the URL), ``text``, ``title``, ``headings``, ``anchors`` (with `` | ``
    between them, the texts of links that lead here from the school's other pages) and ``label``.
    Links are those of ``links.tsv.gz`` within a school.
    """
    folder = Path(folder)
    rows = list(
        _rows(folder / "pages.tsv.gz", ("id", "university", "class", "path", "url", CHOSEN))
    )
    rows = sorted((row for row in rows if row[CHOSEN] == "1"), key=lambda row: row["university"])
    if not rows:
        raise ReadError("no page is chosen", path=folder / "pages.tsv.gz")
    number = {row["id"]: k for k, row in enumerate(rows)}
    schools = [row["university"] for row in rows]
    links = [
        (number[row["src"]], number[row["dst"]])
        for row in _rows(folder / "links.tsv.gz", ("src", "dst"))
        if row["src"] in number and row["dst"] in number
    ]
    links = [(start, end) for start, end in links if schools[start] == schools[end]]
    pages = _pages(folder / "webkb-four-universities.tar.xz", [row["path"] for row in rows])
    urls = [row["url"] for row in rows]
    columns = {
        WORD: urls,
        "text": [page.text for page in pages],
        "title": [page.title for page in pages],
        "headings": [page.headings for page in pages],
        "anchors": _incoming(pages, urls, links),
        LABEL: [row["class"] for row in rows],
    }
    return _corpus(columns, schools, links)


def read_webkb_linqs(folder: str | Path) -> Corpus:
    """The LINQS version: a ``.content`` and a ``.cites`` file a school.

    The columns are ``word`` (the page's id), ``text`` (the numbers of the words that it has, from
    0, as ``w12 w57 …``) and ``label``. A page that cites itself has no link for it.
    """
    columns: dict[str, list[str]] = {WORD: [], "text": [], LABEL: []}
    schools: list[str] = []
    links: list[tuple[int, int]] = []
    for school in SCHOOLS:
        number: dict[str, int] = {}
        path = Path(folder) / f"{school}.content.gz"
        for line, (page, *has, label) in _fields(path, 3):
            if not set(has) <= {"0", "1"}:
                raise ReadError("wanted 0 or 1 for each word", path=path, line=line)
            number[page] = len(schools)
            schools.append(school)
            columns[WORD].append(page)
            columns["text"].append(" ".join(f"w{k}" for k, yes in enumerate(has) if yes == "1"))
            columns[LABEL].append(label)
        path = path.with_name(f"{school}.cites.gz")
        for line, (cited, citing, *_) in _fields(path, 2):
            if cited not in number or citing not in number:
                unknown = citing if cited in number else cited
                raise ReadError(f"{unknown} is no page of {school}", path=path, line=line)
            if cited != citing:
                links.append((number[citing], number[cited]))
    return _corpus(columns, schools, links)


def _corpus(
    columns: Mapping[str, Sequence[str]],
    schools: Sequence[str],
    links: Sequence[tuple[int, int]],
) -> Corpus:
    """The corpus of pages; neighbours of one school are a document, which has its name."""
    sizes = {school: len(list(own)) for school, own in groupby(schools)}
    return Corpus(
        {name: Column.encode(values) for name, values in columns.items()},
        np.arange(len(schools) + 1),
        offsets_of(sizes.values()),
        names=tuple(sizes),
        links=np.array(links, np.int64),
    )


def _pages(path: Path, names: Sequence[str]) -> list[WebPage]:
    """The pages of an archive, by their names in it."""
    found = read_archive(path, set(names).__contains__)
    for name in names:
        if name not in found:
            raise ReadError(f"there is no {name} in the archive", path=path)
    texts = (decode_page(strip_header(found[name])) for name in names)
    return [parse_webpage(MARK.sub("", text)) for text in texts]


def _incoming(
    pages: Sequence[WebPage], urls: Sequence[str], links: Sequence[tuple[int, int]]
) -> list[str]:
    """For each page the texts of the links to it."""
    known = set(links)
    number: dict[str, int] = {}
    for k, url in enumerate(urls):
        number.setdefault(address(url), k)
    texts: list[list[str]] = [[] for _ in pages]
    for start, (page, url) in enumerate(zip(pages, urls, strict=True)):
        for target, text in page.anchors:
            end = number.get(address(target, url), start)
            if text and (start, end) in known:
                texts[end].append(text)
    return [" | ".join(own) for own in texts]


def _rows(path: Path, wanted: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a table, whose first line names its columns, among them those wanted."""
    lines = check_text(read_text(path), path).removesuffix("\n").split("\n")
    names = lines[0].split("\t")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ReadError(f"there is no column {missing[0]!r}", path=path, line=1)
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(names):
            raise ReadError(
                f"{len(cells)} columns, but the first line has {len(names)}",
                path=path,
                line=number,
            )
        yield dict(zip(names, cells, strict=True))


def _fields(path: Path, least: int) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line between white space, with its number; as many as in the first."""
    lines = check_text(read_text(path), path).removesuffix("\n").split("\n")
    count = max(least, len(lines[0].split()))
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if len(fields) != count:
            raise ReadError(f"{len(fields)} fields, wanted {count}", path=path, line=number)
        yield number, fields
