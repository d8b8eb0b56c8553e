"""Features of references to papers: those of Table 6.14 of Stewart's thesis, and richer ones."""

from __future__ import annotations

import re

from skipchain.datasets.registry import data_folder
from skipchain.errors import CorpusError
from skipchain.features.presets import MONTHS, PRESETS
from skipchain.features.views import UserView
from skipchain.io.files import read_text

PUNCTUATION = ",.:;()[]\"'“”`"
LISTS = {
    "name": (
        "nltk-names/male.txt", "nltk-names/female.txt",
        "illinois/known_name.lst", "illinois/known_names.big.lst",
    ),
    "place": ("illinois/known_place.lst", "illinois/known_country.lst", "illinois/known_state.lst"),
}  # fmt: skip
"""Files of the data set ``gazetteers``, by the view that looks words up in them."""

THESIS = PRESETS["reference"] + "\nname[-1..1]\nplace[-1..1]"
OURS = """
    word
    stem(lower(trim(",.:;")))[-2..2]
    digits
    prefix(lower, 3)
    suffix(lower(trim(",.:;")), 3)
    shape
    shortshape[-2..2]
    shortshape[-1] & shortshape
    shortshape & shortshape[1]
    kind[-2..2]
    kind & mark
    kind[-1] & mark[-1]
    kind[-1] & kind
    kind & kind[1]
    bag(kind, -5..-1)
    bag(kind, 1..5)
    number[-2..2]
    number[-1] & number
    number & number[1]
    ending[-2..1]
    mark[-1] & mark
    mark[-1] & shortshape
    label[-1] & mark[-1]
    quote[-1..1]
    bag(quote, -64..-1)
    bag(quote, 1..64)
    name[-1..1]
    place[-1..1]
"""

# The field that a word points to, whatever its case and the punctuation around it.
KINDS = {
    "editor": "eds?|editors?|edited",
    "publisher": (
        "academic|addison(-wesley)?|benjamin.*|birkh.*|brooks.*|chapman|dekker|dover|elsevier"
        "|erlbaum|freeman|hall|kaufmann?|kluwer|macmillan|mcgraw(-hill)?|morgan(-?kaufmann?)?"
        "|north-?holland|o'reilly|pergamon|plenum|prentice(-hall)?|press|pub|publish.+|sons"
        "|springer(-verlag)?|verlag|wadsworth|wesley|wiley"
    ),
    "institution": (
        "cent(er|re)|college|corp(oration)?|department|dept|division|faculty|inc|inst|institut.*"
        "|labs?|laborator.*|ltd|school|univ|universit.*"
    ),
    "report": (
        r"dissertation|draft|m\.?sc?|manuscript|masters?|memo(randum)?|patent|ph\.?d|preprint|rep"
        "|report|tech|technical|thesis|tr|unpublished"
    ),
    "journal": (
        "acta|ann|annals|bull|bulletin|comm|commun|communications|j|jour|journal|lett|letters|mag"
        "|magazine|newsletter|notices|quarterly|review|trans(actions)?"
    ),
    "conference": (
        "colloquium|conf|conference|congress|meeting|proc|proceedings|symp|symposi(um|a)|workshop"
    ),
    "book": "advances|collection|encyclopedia|handbook|lecture|lncs|notes|readings|series",
    "ordinal": (
        r"\d+(st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
        "|eleventh|twelfth|thirteenth|fourteenth|fifteenth|annual|international|int'?l|int|joint"
        "|national|european|ieee|acm"
    ),
    "volume": "issue|no|num|number|vol(ume)?",
    "page": "pg|pp?|pages?",
    "note": (
        "accepted|also|appear(ed)?|available|communication|edition|forthcoming|personal|preparation"
        "|presented|published|reprinted|revised|special|submitted|version"
    ),
    "and": "and|&|et|al",
    "in": "in",
    "chapter": "appendix|ch|chapter|sec|section",
    "month": rf"({MONTHS}|spring|summer|fall|autumn|winter)([-/]\w+)?",
}
# The form of a word; punctuation behind it counts where it is written here.
NUMBERS = {
    "year": r"(1[89]|20)\d\d[a-z]?[.,;:]*",
    "year in parentheses": r"[([](1[89]|20)\d\d[a-z]?[])][.,;:]*",
    "range": r"\(?\d+(-+|–|\{|\+)\d+\)?[.,;:]*",
    "volume(issue)": r"\d+\(\d+([-/]\d+)?\)[.,;:]*",
    "volume:page": r"\d+(\(\d+\))?:\d+.*",
    "small": r"\d{1,3}[.,;:]*",
    "large": r"\d{4,}[.,;:]*",
    "in parentheses": r"\(\d{1,2}\)[.,;:]*",
    "roman": r"[IVX]+[.,;:]*",
    "code": r"(?=.*[A-Z])(?=.*\d)[A-Z0-9./-]+[.,;:]*",
    "initial": r"([A-Z]\.-?)+[,;]?",
    "surname": r"[A-Z][a-zA-Z'-]+,",
    "address": r".*((https?|ftp)://|www\.|~).*",
    "state": r"[A-Z][A-Z][.,;:]*",
    "'91": r"'\d\d[.,;:]*",
    "in brackets": r"\[.*\][.,;:]*",
}
_KINDS, _NUMBERS = (
    {name: re.compile(pattern).fullmatch for name, pattern in patterns.items()}
    for patterns in (KINDS, NUMBERS)
)
_ENDING, _OPENS, _CLOSES = map(re.compile, (r"\W+$", r"[\"“`]|''?\w", r".+?([\"”]|'')"))


def views() -> dict[str, UserView]:
    """All views that the templates name; lists of words come from ``SKIPCHAIN_DATA``."""
    lookups = {name: _lookup(word_list(name)) for name in LISTS}
    return {view.__name__: view for view in (kind, number, ending, mark, quote)} | lookups


def kind(word: str) -> list[str]:
    """The kinds of words of references that a word belongs to.

    >>> kind("Proceedings"), kind("(Eds.),"), kind("IEEE"), kind("learning")
    (['conference'], ['editor'], ['ordinal'], [])
    """
    return [name for name, match in _KINDS.items() if match(bare(word))]


def number(word: str) -> list[str]:
    """The kinds of numbers and short forms that a word belongs to.

    >>> number("(1990)."), number("21(6),"), number("1462-1477"), number("J.-P."), number("Lee,")
    (['year in parentheses'], ['volume(issue)'], ['range'], ['initial'], ['surname'])
    """
    return [name for name, match in _NUMBERS.items() if match(word)]


def ending(word: str) -> str:
    """What follows the last letter or digit of a word; ``none`` if nothing does.

    >>> ending('Systems",'), ending("of")
    ('",', 'none')
    """
    match = _ENDING.search(word)
    return match[0] if match else "none"


def mark(word: str) -> str:
    """The last character of a word; all letters and digits are ``a``."""
    return "a" if word[-1].isalnum() else word[-1]


def quote(word: str) -> list[str]:
    """Whether quotation marks open before the word, or close behind it.

    >>> quote("``Incremental"), quote('"Strips",')
    (['open'], ['open', 'close'])
    """
    matches = {"open": _OPENS.match(word), "close": _CLOSES.match(word)}
    return [name for name, match in matches.items() if match]


def bare(word: str) -> str:
    """The word in lower case, without the punctuation around it."""
    return word.strip(PUNCTUATION).lower()


def word_list(name: str) -> frozenset[str]:
    """The words of a list, in lower case; entries of several words are left out."""
    folder = data_folder() / "gazetteers"
    words: set[str] = set()
    for file in LISTS[name]:
        if not (folder / file).exists():
            raise CorpusError(f"there is no list {file} in {folder}, which the view {name!r} needs")
        words.update(line.strip().lower() for line in read_text(folder / file).split("\n"))
    return frozenset(word for word in words if word and " " not in word)


def _lookup(words: frozenset[str]) -> UserView:
    return lambda word: "yes" if bare(word) in words else None
