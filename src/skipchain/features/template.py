"""The template language: which features a token has, as text that can be printed and stored.

One template a line. A *view* looks at a token: a column by its name (``word``, ``pos``), or a
function of one (``lower``, ``suffix(3)``, ``shape(lemma)``; without a column it looks at ``word``;
views nest: ``suffix(lower, 3)``). Some have several values: ``ngrams``, ``words(text)``. ``[k]``
looks k tokens away, ``[a..b]`` stands for one template per offset, ``&`` joins views into one
feature, ``bag(view, a..b)`` is the set of values within a window. ``value(column)`` and
``vector(column)`` read the column's strings as numbers, which become the values of features;
``raw`` as a last argument keeps their scale. A template that begins with ``label[-1] &`` is scored
for each pair of labels instead of each label; ``label[-2] &``, with ``label[-1] &`` or without it,
looks at the label two tokens back. ``?`` after a column leaves the template out where the corpus
has no such column; ``#`` begins a comment. Strings are written as in JSON, so a backslash is
written twice.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from skipchain.corpus.corpus import WORD
from skipchain.errors import TemplateError

NUMERIC = frozenset({"value", "vector"})  # views that give numbers, one or several
RAW = "raw"
MISSING = ("", "_")  # cells that hold no number
PREVIOUS_LABEL, SECOND_LABEL = "label[-1]", "label[-2]"
STATE, PAIR, TRIGRAM = "state", "pair", "trigram"  # families of features


@dataclass(frozen=True, slots=True)
class View:
    """A column (no function), or a function of another view with constant arguments."""

    column: str
    function: str | None = None
    source: View | None = None
    arguments: tuple[int | str, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        mark = "?" if self.optional else ""
        if self.function is None:
            return self.column + mark
        if self.numeric:
            return f"{self.function}({', '.join(map(str, (self.source, *self.arguments)))})"
        inside = [json.dumps(a, ensure_ascii=False) for a in self.arguments]
        if self.source != View(WORD):
            inside.insert(0, str(self.source))
        return self.function + (f"({', '.join(inside)})" if inside else "")

    @property
    def numeric(self) -> bool:
        """Whether the view gives numbers instead of strings."""
        return self.function in NUMERIC


@dataclass(frozen=True, slots=True)
class Atom:
    """A view at one offset, or (a bag) the set of its values at several."""

    view: View
    offsets: tuple[int, ...] = (0,)

    @property
    def bag(self) -> bool:
        """Whether several offsets make one set."""
        return len(self.offsets) > 1

    def __str__(self) -> str:
        if self.bag:
            return f"bag({self.view}, {self.offsets[0]}..{self.offsets[-1]})"
        return str(self.view) + (f"[{self.offsets[0]}]" if self.offsets != (0,) else "")


@dataclass(frozen=True, slots=True)
class Template:
    """A conjunction of atoms; with ``transition``, also of the previous label.

    With ``trigram`` it is one of the label two tokens back, too.

    >>> [t] = parse_template("word & label[-1] & label[-2]")
    >>> str(t), t.family
    ('label[-2] & label[-1] & word', 'trigram')
    """

    atoms: tuple[Atom, ...]
    transition: bool = False
    trigram: bool = False

    def __str__(self) -> str:
        labels = [PREVIOUS_LABEL] * self.transition
        if self.trigram:
            labels.insert(0, SECOND_LABEL)
        return " & ".join([*labels, *map(str, self.atoms)])

    @property
    def family(self) -> str:
        """With which labels its features go, and are numbered: ``state``, ``pair``, ``trigram``."""
        if self.trigram:
            return TRIGRAM
        return PAIR if self.transition else STATE

    @property
    def columns(self) -> set[str]:
        """The columns that the template reads."""
        return {atom.view.column for atom in self.atoms}

    @property
    def optional(self) -> set[str]:
        """The columns without which the template is left out."""
        views = (view for atom in self.atoms for view in nested_views(atom.view))
        return {view.column for view in views if view.optional}

    def required(self) -> Template:
        """The template without the ``?`` that lets it be left out."""
        atoms = (replace(atom, view=_required(atom.view)) for atom in self.atoms)
        return replace(self, atoms=tuple(atoms))

    def format(self, values: Iterable[str]) -> str:
        """The name of one feature, from the value of each atom; a number has the template's name.

        >>> parse_template("pos[-1] & pos")[0].format(["DT", "NN"])
        'pos[-1] & pos=DT|NN'
        """
        if self.atoms[0].view.function == "value":
            return str(self)
        if len(self.atoms) > 1:  # no two features may have one name
            values = (value.replace("\\", r"\\").replace("|", r"\|") for value in values)
        return f"{self}={'|'.join(values)}"


def _required(view: View) -> View:
    source = None if view.source is None else _required(view.source)
    return replace(view, source=source, optional=False)


def nested_views(view: View) -> Iterator[View]:
    """The view and the views it is made from."""
    current: View | None = view
    while current is not None:
        yield current
        current = current.source


def parse_templates(text: str, functions: frozenset[str]) -> tuple[Template, ...]:
    """All templates of a text, one or more a line, each once, in order.

    >>> [str(t) for t in parse_templates('''
    ... word[-1..1]        # three templates
    ... suffix(3) & pos
    ... ''', frozenset({"suffix"}))]
    ['word[-1]', 'word', 'word[1]', 'suffix(3) & pos']
    """
    templates: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):  # splitlines() cuts strings at U+2028
        try:
            for template in parse_template(line, functions):
                templates[template] = None
        except TemplateError as error:
            raise TemplateError(f"template line {number}: {error}") from None
    if not templates:
        raise TemplateError("there is no template; write at least one, such as 'word'")
    return tuple(templates)


def parse_template(line: str, functions: frozenset[str] = frozenset()) -> list[Template]:
    """The templates of one line: one, or one per combination of its windows."""
    parser = _Parser(line, functions)
    if parser.at_end():
        return []
    terms: list[list[Atom]] = []
    transition = trigram = False
    while True:
        if parser.accept(PREVIOUS_LABEL):
            transition = True
        elif parser.accept(SECOND_LABEL):
            trigram = True
        else:
            terms.append(parser.term())
        if not parser.accept("&"):
            break
    if not parser.at_end():
        raise parser.error("'&' or the end of the line")
    if not terms:
        fault = f"{line.strip()!r} has only the previous label{'s' * trigram}"
        raise TemplateError(f"{fault}; plain label transitions are always there")
    if math.prod(map(len, terms)) > MAX_TEMPLATES:
        fault = f"{shorten(line)!r} stands for more than {MAX_TEMPLATES:,} templates"
        raise TemplateError(f"{fault}; make its windows smaller, or use bag(…)")
    return [Template(atoms, transition, trigram) for atoms in itertools.product(*terms)]


NAME = re.compile(r"[^\W\d]\w*")
STRING = r'"(?:[^"\\]++|\\.)*+"'
TOKEN = re.compile(
    rf"\s*(?:(?P<string>{STRING})"
    r"|(?P<number>[+-]?\d{1,4000}(?!\d))"
    rf"|(?P<name>{NAME.pattern})"
    r"|(?P<sign>\.\.|[\[\](),&?])|(?P<comment>\#.*))"
)
STRING_OR_COMMENT = re.compile(rf"{STRING}|(?P<comment>\#)")

# Limits, so that no text of a few lines asks for more than can be done; docs/security.md has them.
MAX_OFFSET = 10_000  # tokens that an offset can look away
MAX_TEMPLATES = 5_000  # of a set, with one for each offset of a window
MAX_ATOMS = 20  # views joined by &
MAX_BAG = 1_000  # offsets of a bag
MAX_PATTERNS = 200  # different regular expressions of a set
MAX_COMBINATIONS = 10_000  # of the values that a template has at a token
MAX_NESTED = 20  # views inside views
LONGEST_LINE = 10_000  # characters


class _Parser:
    """One line as tokens, with one look-ahead."""

    def __init__(self, line: str, functions: frozenset[str]) -> None:
        self.line = line
        self.functions = functions
        self.tokens: list[tuple[str, str]] = []
        if len(line) > LONGEST_LINE:
            fault = f"the template {shorten(line)!r} has more than {LONGEST_LINE:,} characters"
            raise TemplateError(fault)
        at = 0
        while line[at:].strip():
            match = TOKEN.match(line, at)
            if match is None:
                fault = f"cannot read {line[at:].strip()!r} in {line.strip()!r}"
                raise TemplateError(f"{fault}; a template looks like 'word[-1] & suffix(3)'")
            at = match.end()
            if match.lastgroup == "comment":
                break
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
        self.position = 0

    def at_end(self) -> bool:
        return self.position >= len(self.tokens)

    def error(self, wanted: str) -> TemplateError:
        got = "the end of the line" if self.at_end() else repr(self.tokens[self.position][1])
        return TemplateError(f"wanted {wanted}, got {got} in {self.line.strip()!r}")

    def accept(self, text: str) -> bool:
        """Pass over the text if it comes next."""
        wanted = [m[m.lastgroup or 0] for m in TOKEN.finditer(text)]
        ahead = [text for _, text in self.tokens[self.position : self.position + len(wanted)]]
        if ahead != wanted:
            return False
        self.position += len(wanted)
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(repr(text))

    def next_is(self, kind: str) -> bool:
        return not self.at_end() and self.tokens[self.position][0] == kind

    def kind(self, kind: str, wanted: str) -> str:
        if not self.next_is(kind):
            raise self.error(wanted)
        self.position += 1
        return self.tokens[self.position - 1][1]

    def term(self) -> list[Atom]:
        """One atom, or one per offset of a window."""
        if self.accept("bag ("):
            view = self.view()
            self.expect(",")
            offsets = self.range()
            self.expect(")")
            return [Atom(view, tuple(offsets))]
        view = self.view()
        if not self.accept("["):
            return [Atom(view)]
        offsets = self.range()
        self.expect("]")
        return [Atom(view, (offset,)) for offset in offsets]

    def range(self) -> list[int]:
        first = int(self.kind("number", "an offset"))
        last = int(self.kind("number", "the window's last offset")) if self.accept("..") else first
        if last < first:
            raise TemplateError(f"window {first}..{last} runs backwards in {self.line.strip()!r}")
        check_offset(first)
        check_offset(last)
        return list(range(first, last + 1))

    def view(self, depth: int = 1) -> View:
        name = self.kind("name", "a column or a view")
        if depth > MAX_NESTED:
            raise TemplateError(f"views are more than {MAX_NESTED} deep in {shorten(self.line)!r}")
        called = not self.at_end() and self.tokens[self.position][1] == "("
        if name not in self.functions or (name in NUMERIC and not called):
            if called:
                known = ", ".join(sorted(self.functions))
                raise TemplateError(f"there is no view {name!r}; there are {known}")
            return View(name, optional=self.accept("?"))
        source = View(WORD)
        arguments: list[int | str] = []
        if self.accept("("):
            if self.next_is("name"):
                source = self.view(depth + 1)
            else:
                arguments.append(self.argument("a view, a number or a string"))
            while self.accept(","):
                if name in NUMERIC:
                    self.expect(RAW)
                    arguments.append(RAW)
                else:
                    arguments.append(self.argument("a number or a string"))
            self.expect(")")
        return View(source.column, name, source, tuple(arguments))

    def argument(self, wanted: str) -> int | str:
        if not self.next_is("string"):
            return int(self.kind("number", wanted))
        text = self.kind("string", wanted)
        try:
            return str(json.loads(text, strict=False))
        except json.JSONDecodeError as error:
            fault = f"cannot read the string {text}: {error.msg}; write a backslash twice"
            raise TemplateError(fault) from None


def without_comment(line: str) -> str:
    """The line up to the ``#`` that begins a comment; in a string it begins none.

    >>> without_comment('match("a #b")[1]#b'), without_comment("* # all")
    ('match("a #b")[1]', '* ')
    """
    for match in STRING_OR_COMMENT.finditer(line):
        if match["comment"]:
            return line[: match.start()]
    return line


def shorten(line: str) -> str:
    """A line as messages show it."""
    line = line.strip()
    return line if len(line) <= 100 else f"{line[:100]}…"


def check_offset(offset: int) -> None:
    """Refuse offsets that no sentence needs."""
    if abs(offset) > MAX_OFFSET:
        raise TemplateError(f"offset {offset} is too far; wanted at most {MAX_OFFSET} tokens")
