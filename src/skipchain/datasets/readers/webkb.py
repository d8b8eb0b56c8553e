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

from skipchain.arrays import offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.datasets.readers.archive import read_archive
from skipchain.datasets.readers.webpage import (
    Anchor,
    WebPage,
    address,
    decode_page,
    parse_webpage,
    strip_header,
)
from skipchain.errors import ReadError
from skipchain.io.files import check_text, read_text

SCHOOLS = ("cornell", "texas", "washington", "wisconsin")
OTHER = "other"
CLASSES = ("course", "faculty", OTHER, "project", "student")
MIN_PAGE_BYTES = 315  # bytes; what is no longer leads elsewhere or says nothing
MIN_LINKS = 3
# columns of what links say of a page, by the part of an anchor that they hold
ANCHOR_COLUMNS = {"text": "anchors", "section": "sections", "around": "around"}
MARK = re.compile(r"<!WA\d+>")  # put before every link by those who collected the pages


def read_webkb(folder: str | Path) -> Corpus:
    """The pages of five classes.

    Stubs are left out, and pages of the class ``other`` that lead to fewer than three other pages:
    this comes close to the subset of Taskar, Abbeel and Koller (2002), of which only the numbers of
    pages and links are known. Addresses must agree as they are written.

    The columns are ``word`` (the URL), ``text``, ``title``, ``headings``, ``label``, and what the
    school's other pages say where they link here, with `` | `` between them: ``anchors`` (the texts
    of the links), ``sections`` (the headings before them) and ``around`` (words on both sides).
    Pages are sorted by their URLs. Links are those within a school.
    """
    folder = Path(folder)
    wanted = ("university", "class", "path", "url")
    rows = [
        row
        for row in _rows(folder / "pages.tsv.gz", wanted)
        if row["university"] in SCHOOLS and row["class"] in CLASSES
    ]
    rows.sort(key=lambda row: (row["university"], row["url"]))
    bodies = _bodies(folder / "webkb-four-universities.tar.xz", [row["path"] for row in rows])
    long = [k for k, body in enumerate(bodies) if len(body) > MIN_PAGE_BYTES]
    rows = [rows[k] for k in long]
    pages = [parse_webpage(MARK.sub("", decode_page(bodies[k]))) for k in long]
    leads = _page_links(pages, [row["url"] for row in rows])
    chosen = [
        k
        for k, row in enumerate(rows)
        if row["class"] != OTHER or len({end for end, _ in leads[k]}) >= MIN_LINKS
    ]
    if not chosen:
        raise ReadError("no page is chosen", path=folder / "pages.tsv.gz")
    columns = {
        WORD: [rows[k]["url"] for k in chosen],
        "text": [pages[k].text for k in chosen],
        "title": [pages[k].title for k in chosen],
        "headings": [pages[k].headings for k in chosen],
        LABEL: [rows[k]["class"] for k in chosen],
    }
    schools = [rows[k]["university"] for k in chosen]
    said, links = _anchor_texts(chosen, leads, schools)
    for part, name in ANCHOR_COLUMNS.items():
        texts = [[getattr(anchor, part) for anchor in own] for own in said]
        columns[name] = [" | ".join(filter(None, own)) for own in texts]
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
    columns: Mapping[str, Sequence[str]], schools: Sequence[str], links: Sequence[tuple[int, int]]
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


def _bodies(path: Path, names: Sequence[str]) -> list[bytes]:
    """The pages of an archive, by their names in it, without what the server said."""
    found = read_archive(path, set(names).__contains__)
    for name in names:
        if name not in found:
            raise ReadError(f"there is no {name} in the archive", path=path)
    return [strip_header(found[name]) for name in names]


def _page_links(pages: Sequence[WebPage], urls: Sequence[str]) -> list[list[tuple[int, Anchor]]]:
    """For each page its links to others of them: the number of the other, and the link."""
    number: dict[str, int] = {}
    for k, url in enumerate(urls):
        number.setdefault(address(url), k)
    found = []
    for k, (page, url) in enumerate(zip(pages, urls, strict=True)):
        ends = [(number.get(address(anchor.target, url), k), anchor) for anchor in page.anchors]
        found.append([(end, anchor) for end, anchor in ends if end != k])
    return found


def _anchor_texts(
    chosen: Sequence[int], leads: Sequence[Sequence[tuple[int, Anchor]]], schools: Sequence[str]
) -> tuple[list[list[Anchor]], list[tuple[int, int]]]:
    """Of the chosen pages the links that lead to each within its school, and all of them."""
    number = {k: place for place, k in enumerate(chosen)}
    said: list[list[Anchor]] = [[] for _ in chosen]
    links = []
    for start, k in enumerate(chosen):
        for other, anchor in leads[k]:
            end = number.get(other)
            if end is not None and schools[start] == schools[end]:
                said[end].append(anchor)
                links.append((start, end))
    return said, links


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
                f"{len(cells)} columns, but the first line has {len(names)}", path=path, line=number
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
