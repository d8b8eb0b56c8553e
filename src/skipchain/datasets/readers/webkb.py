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
from skipchain.datasets.readers import webpage
from skipchain.datasets.readers.archive import read_archive
from skipchain.datasets.readers.webpage import Anchor, WebPage, parse_webpage
from skipchain.errors import ReadError
from skipchain.io.files import read_content

PageLinks = list[tuple[int, Anchor]]  # the number of the other page, and the anchor

SCHOOLS = ("cornell", "texas", "washington", "wisconsin")
OTHER = "other"
CLASSES = ("course", "faculty", OTHER, "project", "student")
MIN_PAGE_BYTES = 315  # shorter pages are stubs: redirections, or next to empty
MIN_LINKS = 3
# Columns of what other pages say of a page, by the field of an anchor that they hold.
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
    table = _rows(folder / "pages.tsv.gz", ("university", "class", "path", "url"))
    rows = [row for row in table if row["university"] in SCHOOLS and row["class"] in CLASSES]
    rows.sort(key=lambda row: (row["university"], row["url"]))
    bodies = _bodies(folder / "webkb-four-universities.tar.xz", [row["path"] for row in rows])
    kept = [k for k, body in enumerate(bodies) if len(body) > MIN_PAGE_BYTES]
    rows = [rows[k] for k in kept]
    pages = [parse_webpage(MARK.sub("", webpage.decode_page(bodies[k]))) for k in kept]
    page_links = _page_links(pages, [row["url"] for row in rows])
    linked = [len({end for end, _ in links}) >= MIN_LINKS for links in page_links]
    chosen = [k for k, row in enumerate(rows) if row["class"] != OTHER or linked[k]]
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
    anchors, links = _incoming_links(chosen, page_links, schools)
    for field, name in ANCHOR_COLUMNS.items():
        texts = [[getattr(anchor, field) for anchor in incoming] for incoming in anchors]
        columns[name] = [" | ".join(filter(None, strings)) for strings in texts]
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
    sizes = {school: len(list(pages)) for school, pages in groupby(schools)}
    return Corpus(
        {name: Column.encode(values) for name, values in columns.items()},
        np.arange(len(schools) + 1),
        offsets_of(sizes.values()),
        names=tuple(sizes),
        links=np.array(links, np.int64),
    )


def _bodies(path: Path, names: Sequence[str]) -> list[bytes]:
    """The pages of an archive, by their names in it, without HTTP headers."""
    files = read_archive(path, set(names).__contains__)
    for name in names:
        if name not in files:
            raise ReadError(f"there is no {name} in the archive", path=path)
    return [webpage.strip_header(files[name]) for name in names]


def _page_links(pages: Sequence[WebPage], urls: Sequence[str]) -> list[PageLinks]:
    """The links of each page to other pages: the number of the other page, and the anchor."""
    number: dict[str, int] = {}
    for k, url in enumerate(urls):
        number.setdefault(webpage.address(url), k)
    links = []
    for k, (page, url) in enumerate(zip(pages, urls, strict=True)):
        targets = (webpage.address(anchor.target, url) for anchor in page.anchors)
        ends = zip((number.get(target, k) for target in targets), page.anchors, strict=True)
        links.append([(end, anchor) for end, anchor in ends if end != k])
    return links


def _incoming_links(
    chosen: Sequence[int], page_links: Sequence[PageLinks], schools: Sequence[str]
) -> tuple[list[list[Anchor]], list[tuple[int, int]]]:
    """The anchors that lead to each chosen page from its school, and all such links."""
    number = {k: place for place, k in enumerate(chosen)}
    anchors: list[list[Anchor]] = [[] for _ in chosen]
    links = []
    for start, k in enumerate(chosen):
        for other, anchor in page_links[k]:
            end = number.get(other)
            if end is not None and schools[start] == schools[end]:
                anchors[end].append(anchor)
                links.append((start, end))
    return anchors, links


def _rows(path: Path, required: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a table, whose first line names its columns, among them those required."""
    lines = read_content(path).removesuffix("\n").split("\n")
    names = lines[0].split("\t")
    missing = [name for name in required if name not in names]
    if missing:
        raise ReadError(f"there is no column {missing[0]!r}", path=path, line=1)
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(names):
            fault = f"{len(cells)} columns, but the first line has {len(names)}"
            raise ReadError(fault, path=path, line=number)
        yield dict(zip(names, cells, strict=True))


def _fields(path: Path, least: int) -> Iterator[tuple[int, list[str]]]:
    """The number of each line and its fields between white space, as many as in the first."""
    lines = read_content(path).removesuffix("\n").split("\n")
    count = max(least, len(lines[0].split()))
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if len(fields) != count:
            raise ReadError(f"{len(fields)} fields, wanted {count}", path=path, line=number)
        yield number, fields
