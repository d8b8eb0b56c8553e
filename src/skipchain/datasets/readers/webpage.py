"""Web pages: the title, headings, text and links of a page of HTML."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from skipchain.io.tokenizer import word_set

WINDOW = 10  # words on each side of a link


class Anchor(NamedTuple):
    """A link: its target as it is written, and what the page says of it.

    ``text`` is what is clicked on, ``section`` the last heading before it, ``around`` are the ten
    words before it and, after ``|``, the ten that follow.
    """

    target: str
    text: str
    section: str
    around: str


@dataclass(frozen=True, slots=True)
class WebPage:
    """The strings of a page, white space as single spaces.

    ``text`` is what a reader sees, headings and links included, the title not.
    """

    title: str
    headings: str
    text: str
    anchors: tuple[Anchor, ...]


def parse_webpage(html: str) -> WebPage:
    """Read a page, however broken: what is never closed ends where something else must begin.

    Scripts, styles and comments are left out; an image is its alternative text (``alt``).

    >>> page = parse_webpage("<title>Ada</title><h1>Ada <b>L</b>ee<p>See <a href=/cs>my class")
    >>> page.title, page.headings, page.text
    ('Ada', 'Ada Lee', 'Ada Lee See my class')
    >>> page.anchors
    (Anchor(target='/cs', text='my class', section='Ada Lee', around='Ada Lee See |'),)
    """
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
    except AssertionError:  # html.parser gives up on a broken "<![": what was read stays
        pass
    title, headings, text = map(_normalize_space, (reader.title, reader.headings, reader.text))
    return WebPage(title, headings, text, _anchors(reader))


def strip_header(data: bytes) -> bytes:
    """The page without the lines of HTTP before it, which end at a blank line.

    >>> strip_header(b"Server: CERN/3.0\\r\\nContent-type: text/html\\r\\n\\r\\n<html>")
    b'<html>'
    """
    if data.lstrip().startswith(b"<"):
        return data
    blank = re.search(rb"\r?\n\r?\n", data)
    return data[blank.end() :] if blank else data


def decode_page(data: bytes) -> str:
    """The text in UTF-8 or, where it is none, in latin-1.

    >>> decode_page("né".encode("latin-1")), decode_page("né".encode())
    ('né', 'né')
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def address(target: str, base: str = "") -> str:
    """A link's target as an absolute address, without fragment.

    >>> address("../CS415/#staff", "http://CS.cornell.edu/Info/CS414/")
    'http://cs.cornell.edu/Info/CS415/'
    """
    try:
        parts = urlsplit(urljoin(base, target.strip()))
    except ValueError:  # brackets that hold no address
        return ""
    return parts._replace(netloc=parts.netloc.lower(), fragment="").geturl()


HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
ENDS_HEADING = HEADINGS | {"p", "hr", "ul", "ol", "dl", "table", "pre", "blockquote", "address"}
INVISIBLE_TAGS = frozenset({"script", "style"})
# Tags that may stand inside a word; all others separate words.
INLINE = word_set(
    "abbr b big blink cite code em font i kbd s samp small span strike strong sub sup tt u var"
)


class _Reader(HTMLParser):
    """Pieces of text by where they stand."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.headings: list[str] = []
        self.text: list[str] = []
        # of each link the target, where it begins in the text, its pieces, the heading before it
        self.anchors: list[tuple[str, int, list[str], list[str]]] = []
        self.silent = False
        self.in_title = False
        self.heading: list[str] | None = None
        self.last_heading: list[str] = []
        self.anchor: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.in_title = tag == "title"  # no tag stands in a title
        self._separate_words(tag)
        if tag in INVISIBLE_TAGS:
            self.silent = True
        elif tag == "img":
            self.handle_data(dict(attrs).get("alt") or "")
        elif tag == "a":
            self.anchor = None
            target = dict(attrs).get("href")
            if target:
                self.anchor = []
                self.anchors.append((target, len(self.text), self.anchor, self.last_heading))
        if tag in ENDS_HEADING and self.heading and any(map(str.strip, self.heading)):
            self.heading = None
        if tag in HEADINGS:
            self.heading = self.last_heading = []

    def handle_endtag(self, tag: str) -> None:
        self._separate_words(tag)
        if tag in INVISIBLE_TAGS:
            self.silent = False
        elif tag == "title":
            self.in_title = False
        elif tag == "a":
            self.anchor = None
        elif tag in HEADINGS:
            self.heading = None

    def handle_data(self, data: str) -> None:
        if self.silent:
            return
        if self.in_title:
            self.title.append(data)
            return
        self.text.append(data)
        if self.heading is not None:
            self.heading.append(data)
            self.headings.append(data)
        if self.anchor is not None:
            self.anchor.append(data)

    def _separate_words(self, tag: str) -> None:
        if tag not in INLINE:
            self.handle_data(" ")
            self.headings.append(" ")


def _anchors(reader: _Reader) -> tuple[Anchor, ...]:
    """The links, with the words on both sides of each."""
    spans = list(re.finditer(r"\S+", "".join(reader.text)))
    words = [word[0] for word in spans]
    starts, ends = ([word.span()[side] for word in spans] for side in (0, 1))
    places = list(accumulate(map(len, reader.text), initial=0))  # characters before each piece
    anchors = []
    for target, place, pieces, heading in reader.anchors:
        before = bisect_right(ends, places[place])
        after = bisect_left(starts, places[place + len(pieces)])
        sides = words[max(before - WINDOW, 0) : before], words[after : after + WINDOW]
        around = " ".join([*sides[0], "|", *sides[1]])
        anchors.append(Anchor(target, _normalize_space(pieces), _normalize_space(heading), around))
    return tuple(anchors)


def _normalize_space(pieces: Sequence[str]) -> str:
    """The pieces as one string, runs of white space as one space."""
    return " ".join("".join(pieces).split())
