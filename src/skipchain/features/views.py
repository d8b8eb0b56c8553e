"""Views: functions from a string to a string, to nothing, or to several strings.

A view is computed once for each distinct string of a column, never per token. The built-in ones
work on whole lists, so that most of their time is spent in the interpreter's own C loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from skipchain.errors import TemplateError
from skipchain.features.regex import compile_regex

Value = str | None | list[str]
Values = Sequence[Value]
UserView = Callable[[str], Value]
UserViews = Mapping[str, UserView]


def lower(values: Sequence[str]) -> Values:
    """Lower case."""
    return [value.lower() for value in values]


def shape(values: Sequence[str]) -> Values:
    """Upper-case letters as X, lower-case as x, digits as d, anything else as it is.

    >>> shape(["McDonald's", "B-52"])
    ["XxXxxxxx'x", 'X-dd']
    """
    return _map_characters(values, _character_class)


def shortshape(values: Sequence[str]) -> Values:
    """The shape with runs of the same sign written once.

    >>> shortshape(["McDonald's", "B-52"])
    ["XxXx'x", 'X-d']
    """
    shapes = shape(values)
    short = {s: "".join(sign for sign, _ in groupby(s)) for s in set(shapes) if isinstance(s, str)}
    return [short[s] for s in shapes]  # type: ignore[index]


def _character_class(letter: str) -> str:
    if letter.isupper():
        return "X"
    if letter.islower():
        return "x"
    return "d" if letter.isdigit() else letter


def _map_characters(values: Sequence[str], change: Callable[[str], str]) -> list[str]:
    """Each letter changed, in all strings at once unless one of them holds a line end."""
    if not values:
        return []
    text = "\n".join(values)
    table = str.maketrans({letter: change(letter) for letter in set(text) if letter != "\n"})
    if text.count("\n") == len(values) - 1:
        return text.translate(table).split("\n")
    return [value.translate(table) for value in values]


def digits(values: Sequence[str]) -> Values:
    """Each digit as 0, so that numbers of one form are one value.

    >>> digits(["1996-08-22", "ten"])
    ['0000-00-00', 'ten']
    """
    return _map_characters(values, lambda letter: "0" if letter.isdigit() else letter)


def prefix(values: Sequence[str], length: int) -> Values:
    """The first ``length`` characters; nothing for shorter strings."""
    return [value[:length] if len(value) >= length else None for value in values]


def suffix(values: Sequence[str], length: int) -> Values:
    """The last ``length`` characters; nothing for shorter strings."""
    return [value[-length:] if len(value) >= length else None for value in values]


def match(values: Sequence[str], pattern: str) -> Values:
    """``yes`` where the regular expression is found in the string.

    >>> match(["1996", "ten"], "^[0-9]+$")
    ['yes', None]
    """
    search = compile_regex(pattern)
    return ["yes" if search(value) is not None else None for value in values]


def find(values: Sequence[str], pattern: str) -> Values:
    """The first part of the string that the regular expression matches.

    >>> find(["B-52s", "ten"], "[0-9]+")
    ['52', None]
    """
    return list(map(compile_regex(pattern), values))


def trim(values: Sequence[str], characters: str) -> Values:
    """The string without any of these characters at its end; nothing where none is left.

    >>> trim(["1990).,", "J.-P.", "..."], ".,")
    ['1990)', 'J.-P', None]
    """
    return [value.rstrip(characters) or None for value in values]


def stem(values: Sequence[str]) -> Values:
    """English words without their endings, by Porter's rules, which are fixed for good.

    >>> stem(["proceedings", "programming", "1990"])
    ['proceed', 'program', '1990']
    """
    from snowballstemmer import stemmer

    stems: list[Value] = stemmer("porter").stemWords(values)
    return stems


def words(values: Sequence[str], shortest: int = 1) -> Sequence[list[str]]:
    """The distinct words of a longer string: runs of letters and digits, in lower case.

    Runs of fewer than ``shortest`` characters are left out.

    >>> words(["The CS-415 page; the O'Neil_page!"])
    [['the', 'cs', '415', 'page', 'o', 'neil']]
    >>> words(["The CS-415 page"], 3)
    [['the', '415', 'page']]
    """
    runs = map(re.compile(r"[^\W_]+").findall, values)
    return [list(dict.fromkeys(w.lower() for w in found if len(w) >= shortest)) for found in runs]


def items(values: Sequence[str]) -> Sequence[list[str]]:
    """The distinct parts of a string that has spaces between them.

    >>> items(["B-place S-name", ""])
    [['B-place', 'S-name'], []]
    """
    return [list(dict.fromkeys(value.split())) for value in values]


NGRAMS, WORDS, ITEMS = "ngrams", "words", "items"
LONGEST_NGRAM = 50
LISTS = (WORDS, ITEMS)  # views that give a list for each string
MULTI_VALUED = MappingProxyType({NGRAMS: "n-grams", WORDS: "words", ITEMS: "items"})
"""Views of several values, with what these are called; no view can look at them."""

REGEX_VIEWS = ("match", "find")  # views whose argument is a regular expression
BuiltinView = tuple[Callable[..., Values], tuple[type, ...]]
BUILTIN_VIEWS: Mapping[str, BuiltinView] = MappingProxyType(
    {
        "lower": (lower, ()),
        "shape": (shape, ()),
        "shortshape": (shortshape, ()),
        "digits": (digits, ()),
        "prefix": (prefix, (int,)),
        "suffix": (suffix, (int,)),
        "match": (match, (str,)),
        "find": (find, (str,)),
        "trim": (trim, (str,)),
        "stem": (stem, ()),
        WORDS: (words, (int,)),
        ITEMS: (items, ()),
    }
)
"""Views that are plain functions of a list of strings, with the types of their arguments."""


def evaluate_view(
    function: str, arguments: tuple[int | str, ...], values: Sequence[str], user_views: UserViews
) -> Values:
    """A view of each string.

    >>> evaluate_view("suffix", (2,), ["London", "a"], {})
    ['on', None]
    """
    if function in user_views:
        view = user_views[function]
        return [_check_value(function, view(value, *arguments), value) for value in values]
    built_in, _ = BUILTIN_VIEWS[function]
    return built_in(values, *arguments)


def _check_value(name: str, value: object, string: str) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(v, str) for v in value):
        return sorted(value) if isinstance(value, (set, frozenset)) else list(dict.fromkeys(value))
    fault = f"view {name!r} of {string!r} gave {value!r}"
    raise TemplateError(f"{fault}; it must give a string, None or a list of strings")


def check_arguments(function: str, arguments: tuple[int | str, ...]) -> None:
    """Refuse arguments that the built-in view cannot take, with what it wants."""
    wanted = (int, int) if function == NGRAMS else BUILTIN_VIEWS[function][1]
    if function in MULTI_VALUED and not arguments:
        return
    if len(arguments) != len(wanted) or not all(map(isinstance, arguments, wanted)):
        kinds = {int: "a number", str: 'a "string"'}
        takes = " and ".join(kinds[kind] for kind in wanted) or "no arguments"
        raise TemplateError(f"view {function!r} takes {takes}, got {list(arguments)}")
    if any(isinstance(a, int) and a < 1 for a in arguments):
        raise TemplateError(f"view {function!r} wants lengths of at least 1, got {list(arguments)}")
    if function == NGRAMS and arguments[0] > arguments[1]:  # type: ignore[operator]
        raise TemplateError(f"ngrams({arguments[0]}, {arguments[1]}): the first length is larger")
    if function in REGEX_VIEWS:
        try:
            compile_regex(str(arguments[0]))
        except TemplateError as error:
            raise TemplateError(f"{function}: {error}") from None
