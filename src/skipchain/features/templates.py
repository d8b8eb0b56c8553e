"""A set of templates, with the user's views and the annotators whose columns it reads."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skipchain.corpus import Corpus
from skipchain.corpus.corpus import LABEL, WORD, plural
from skipchain.errors import ReadError, TemplateError
from skipchain.features.annotator import Annotator, fit_annotators
from skipchain.features.edge_template import LABELS, TYPES, EdgeTemplate
from skipchain.features.label_history import LabelHistory
from skipchain.features.presets import PRESETS
from skipchain.features.template import (
    MAX_ATOMS,
    MAX_BAG,
    MAX_COMBINATIONS,
    MAX_PATTERNS,
    MAX_TEMPLATES,
    NAME,
    NUMERIC,
    RAW,
    Template,
    View,
    nested_views,
    parse_templates,
    shorten,
)
from skipchain.features.views import (
    BUILTIN_VIEWS,
    MULTI_VALUED,
    NGRAMS,
    REGEX_VIEWS,
    UserViews,
    check_arguments,
)
from skipchain.io.files import read_text

STRING_VIEWS = frozenset(BUILTIN_VIEWS) | {NGRAMS}
VIEW_NAMES = STRING_VIEWS | NUMERIC
RESERVED_NAMES = VIEW_NAMES | {"bag", LABEL, WORD}
TYPICAL_VALUES = 50  # of a view that has several; n-grams of a word, say
FILE_NAME = re.compile(r"[^\s()&\[\]]*[./][\w-]+")  # no template looks like this


@dataclass(frozen=True, slots=True, repr=False)
class Templates:
    """What features a token has: templates, and the functions behind the user's views.

    ``annotators`` add further columns to the corpus, which the templates can read (see
    `skipchain.features.annotator`).

    >>> templates = Templates.parse("word[-1..1]\\nsuffix(3) & shape")
    >>> print(templates.text)
    word[-1]
    word
    word[1]
    suffix(3) & shape
    """

    templates: tuple[Template, ...]
    functions: UserViews = field(default_factory=dict)
    annotators: tuple[Annotator, ...] = ()
    label_history: LabelHistory | None = None
    """Features of labels earlier in the document: the line ``history(…)``."""
    edge_templates: tuple[EdgeTemplate, ...] = ()
    """Features of edges other than those of chains: the lines ``edge: …``."""

    def __repr__(self) -> str:
        descriptions = (annotator.description for annotator in self.annotators)
        return f"<Templates: {'; '.join([plural(len(self.templates), 'template'), *descriptions])}>"

    def __post_init__(self) -> None:
        for name in self.functions:
            if name in RESERVED_NAMES or not NAME.fullmatch(name):
                raise TemplateError(f"{name!r} cannot name a view of your own; choose another name")
        _check_sizes(self.templates)
        for template in self.templates:
            for atom in template.atoms:
                if atom.view.numeric and (len(template.atoms) > 1 or atom.bag):
                    fault = "is a number, which goes with no other view and into no bag"
                    advice = "give it a line of its own"
                    raise TemplateError(f"'{template}': {atom.view} {fault}; {advice}")
                for view in nested_views(atom.view):
                    self._check(view)
        provided = [name for annotator in self.annotators for name in annotator.provides]
        for name in provided:
            if provided.count(name) > 1:
                fault = f"two annotators give the column {name!r}, of which one would never be read"
                raise TemplateError(f"{fault}; give one of them another column")
        if self.label_history is not None:
            for view in nested_views(self.label_history.view):
                if view.numeric or view.function in MULTI_VALUED:
                    fault = f"{self.label_history}: {view} is not one string; use another view"
                    raise TemplateError(fault)
                self._check(view)
        for line in self.edge_templates:
            self._check_edge_template(line)

    def _check_edge_template(self, line: EdgeTemplate) -> None:
        """Refuse a line about features that tokens do not have, and two ways to pair labels."""
        if line.template is not None and line.template not in self.templates:
            self._refuse_features(line, line.template)
        if line.same is not None:
            for view in nested_views(line.same.view):
                self._check(view)
        pairings = sorted({own.pairing for own in self.edge_templates if own.pairing})
        if len(pairings) > 1:
            fault = "edges go with labels in some lines and with types in others"
            raise TemplateError(f"{fault}; write 'label &' or 'type &' in all of them")

    def _refuse_features(self, line: EdgeTemplate, template: Template) -> None:
        """The error of a line about features that tokens do not have."""
        advice = f"add '{template}' as a line of its own"
        for mark in (LABELS, TYPES):
            rest = [str(atom) for atom in template.atoms if atom.view != View(mark)]
            if len(rest) < len(template.atoms):
                wanted = f"'edge: {mark} & {' & '.join(rest) or '*'}'"
                fault = f"'{line}': {mark!r} says with which labels features go, and stands before"
                column = "" if mark == LABELS else f", or if it is a column {advice}"
                raise TemplateError(f"{fault} them, once: write {wanted}{column}")
        raise TemplateError(f"'{line}': tokens have no feature '{template}'; {advice}")

    def _check(self, view: View) -> None:
        several = MULTI_VALUED.get(view.source.function or "") if view.source is not None else None
        if several is not None:
            raise TemplateError(f"{view}: {several} are several values, use them directly")
        if view.source is not None and view.source.numeric:
            raise TemplateError(f"{view}: {view.source} is a number, and views look at strings")
        if view.function is None:
            if view.column == LABEL:
                advice = (
                    f"templates can read it only as '{LABEL}[-1] & …' and '{LABEL}[-2] & …', the "
                    "labels before"
                )
                raise TemplateError(f"{LABEL!r} is what is to be predicted; {advice}")
            if not NAME.fullmatch(view.column) or view.column in STRING_VIEWS | set(self.functions):
                advice = "rename it to a word of letters and digits that is no view"
                raise TemplateError(f"templates cannot name column {view.column!r}; {advice}")
        elif view.numeric:
            if view.arguments not in ((), (RAW,)):
                fault = f"{view.function} takes a column and {RAW!r}, got {list(view.arguments)}"
                raise TemplateError(fault)
        elif view.function not in self.functions:
            check_arguments(view.function, view.arguments)

    @property
    def user_views(self) -> set[str]:
        """The names of the user's views that the templates use."""
        atoms = (atom for template in self.all_templates for atom in template.atoms)
        used = {view.function for atom in atoms for view in nested_views(atom.view)}
        return {name for name in self.functions if name in used}

    @property
    def columns(self) -> set[str]:
        """The columns that the templates read."""
        return {name for template in self.all_templates for name in template.columns}

    @property
    def trigram(self) -> Template | None:
        """The first template that looks two labels back."""
        return next((template for template in self.templates if template.trigram), None)

    @property
    def all_templates(self) -> tuple[Template, ...]:
        """The templates, and those that read what label history and edges look at."""
        history = () if self.label_history is None else (self.label_history.template,)
        compared = (own.read for own in self.edge_templates if own.same is not None)
        return (*self.templates, *history, *(own for own in compared if own is not None))

    def line_of(self, template: Template) -> str:
        """How errors name one of `all_templates`: as the line that its user has written."""
        for line in self.edge_templates if template not in self.templates else ():
            if line.same is not None and line.read == template:
                return f"'{line}'"
        return f"template '{template}'"

    @classmethod
    def parse(
        cls, text: str, functions: UserViews | None = None, annotators: Sequence[Annotator] = ()
    ) -> Templates:
        """The templates of a text, one or more a line."""
        views = dict(functions or {})
        known = VIEW_NAMES | frozenset(views)
        label_history, lines = None, text.split("\n")
        of_edges: list[EdgeTemplate] = []
        for number, line in enumerate(lines):
            try:
                history = LabelHistory.parse(line, known)
                edge_lines = EdgeTemplate.parse(line, known)
            except TemplateError as error:
                raise TemplateError(f"template line {number + 1}: {error}") from None
            if edge_lines is not None:
                of_edges += edge_lines
                lines[number] = ""
            if history is not None:
                if label_history is not None:
                    fault = f"there is a second history, {history} after {label_history}"
                    raise TemplateError(f"template line {number + 1}: {fault}; keep one of them")
                label_history, lines[number] = history, ""
        templates = parse_templates("\n".join(lines), known)
        edge_templates = tuple(dict.fromkeys(of_edges))
        return cls(templates, views, tuple(annotators), label_history, edge_templates)

    @classmethod
    def of(
        cls,
        features: str | Path | Templates,
        functions: UserViews | None = None,
        columns: tuple[str, ...] = (),
        annotators: Sequence[Annotator] = (),
    ) -> Templates:
        """Templates from a standard set's name, template text, or a file of either kind.

        A file (or text) in the form of CRF++ and Wapiti patterns is recognised; its column numbers
        refer to ``columns``.
        """
        if isinstance(features, Templates):
            return features
        if isinstance(features, str) and features in PRESETS:
            return cls.parse(PRESETS[features], functions, annotators)
        if not isinstance(features, (str, Path)):
            raise TemplateError(f"features must be text, a path or Templates, got {features!r}")
        text = str(features)
        if features is text and FILE_NAME.fullmatch(text) and not os.path.isfile(text):
            raise TemplateError(f"there is no template file {text}")
        if isinstance(features, Path) or ("\n" not in text and os.path.isfile(text)):
            try:
                text = read_text(features)
            except ReadError as error:
                raise TemplateError(f"cannot read the templates in {error}") from None
        from skipchain.features.crfpp import is_crfpp_text, parse_crfpp

        if is_crfpp_text(text):
            return cls(parse_crfpp(text, columns), dict(functions or {}), tuple(annotators))
        try:
            return cls.parse(text, functions, annotators)
        except TemplateError as error:
            raise TemplateError(f"{error} (standard sets: {', '.join(PRESETS)})") from None

    @property
    def text(self) -> str:
        """The templates as text, one a line."""
        history = () if self.label_history is None else (self.label_history,)
        return "\n".join(map(str, (*self.templates, *history, *self.edge_templates)))

    def dependent(self) -> Templates:
        """The templates, each conjoined with the previous label.

        >>> print(Templates.parse("word").dependent().text)
        label[-1] & word
        """
        paired = (replace(template, transition=True) for template in self.templates)
        return replace(self, templates=tuple(dict.fromkeys(paired)))

    def fit_annotators(self, corpus: Corpus, progress: Any = None) -> tuple[Templates, Corpus]:
        """The templates with fitted annotators, and the corpus with the annotators' columns."""
        annotators, corpus = fit_annotators(self.annotators, corpus, progress)
        return replace(self, annotators=annotators), corpus

    def without(self, *columns: str) -> Templates:
        """The templates that read none of these columns; what nothing reads changes nothing.

        >>> print(Templates.parse("word\\nsuffix(3) & pos\\npos[-1]").without("pos").text)
        word
        """
        gone = set(columns)

        def stays(template: Template | None) -> bool:
            return template is None or not template.columns & gone

        kept = tuple(filter(stays, self.templates))
        if not kept:
            listed = ", ".join(repr(name) for name in columns)
            raise TemplateError(
                f"every template reads {listed}, so none is left without; leave fewer columns out"
            )
        history = self.label_history
        return replace(
            self,
            templates=kept,
            label_history=history if history is None or stays(history.template) else None,
            edge_templates=tuple(own for own in self.edge_templates if stays(own.read)),
        )

    def reads(self, columns: Iterable[str]) -> set[str]:
        """What is read of a corpus with these columns, beside what annotators provide.

        >>> templates = Templates.parse("word\\npos?[-1]\\nchunk? & shape")
        >>> sorted(templates.reads(["word", "pos", "label"]))
        ['pos', 'word']
        """
        provided = {name for annotator in self.annotators for name in annotator.provides}
        there = provided | set(columns)
        kept = (own for own in self.all_templates if own.optional <= there)
        return {name for template in kept for name in template.columns} - provided

    def for_corpus(self, corpus: Corpus) -> Templates:
        """The templates whose columns a corpus has, none of them optional any more."""
        columns = set(corpus.columns)
        for template in self.all_templates:
            missing = sorted(template.columns - columns - template.optional)
            if missing:
                raise TemplateError(
                    f"{self.line_of(template)} reads column {missing[0]!r}, but the corpus has "
                    f"{', '.join(corpus.columns)}; name the columns when reading, or write "
                    f"'{missing[0]}?' to leave such templates out (standard sets: "
                    f"{', '.join(PRESETS)})"
                )

        def there(template: Template | None) -> bool:
            return template is None or template.columns <= columns

        kept = [template.required() for template in self.templates if there(template)]
        if not kept:
            raise TemplateError("every template reads a column that the corpus does not have")
        history = self.label_history
        if history is not None:
            history = history.required() if there(history.template) else None
        of_edges = [own.required() for own in self.edge_templates if there(own.read)]
        if self.edge_templates and not of_edges:
            raise TemplateError(
                f"every line of edge features reads a column that the corpus does not have, first "
                f"'{self.edge_templates[0]}'; without any, edges have all features of both ends: "
                "add the column, or take these lines out if that is meant"
            )
        return replace(
            self,
            templates=tuple(dict.fromkeys(kept)),
            label_history=history,
            edge_templates=tuple(dict.fromkeys(of_edges)),
        )


def _check_sizes(templates: Sequence[Template]) -> None:
    """Refuse more templates, or more expressions, than a few lines may ask for."""
    if len(templates) > MAX_TEMPLATES:
        fault = f"there are {len(templates):,} templates; wanted at most {MAX_TEMPLATES:,}"
        raise TemplateError(f"{fault} with one for each offset of a window")
    views = (view for t in templates for atom in t.atoms for view in nested_views(atom.view))
    patterns = {view.arguments for view in views if view.function in REGEX_VIEWS}
    if len(patterns) > MAX_PATTERNS:
        fault = f"there are {len(patterns):,} regular expressions"
        raise TemplateError(f"{fault}; wanted at most {MAX_PATTERNS}")
    for template in templates:
        _check_size(template)


def _check_size(template: Template) -> None:
    """Refuse a template whose combinations of values would be too many for any token."""
    if len(template.atoms) > MAX_ATOMS:
        fault = f"'{shorten(str(template))}' joins {len(template.atoms)} views"
        raise TemplateError(f"{fault}; wanted at most {MAX_ATOMS}")
    widest = max(len(atom.offsets) for atom in template.atoms)
    if widest > MAX_BAG:
        fault = f"'{shorten(str(template))}' has a bag of {widest:,} tokens"
        raise TemplateError(f"{fault}; wanted at most {MAX_BAG:,}")
    size = combinations(template)
    if size > MAX_COMBINATIONS:
        fault = f"'{shorten(str(template))}' has about {size:,} combinations of values"
        raise TemplateError(f"{fault} at each token; wanted at most {MAX_COMBINATIONS:,}")


def combinations(template: Template) -> int:
    """About how many combinations of values a template has at a token."""
    multiple = (atom.view.function in MULTI_VALUED for atom in template.atoms)
    values = (TYPICAL_VALUES if several else 1 for several in multiple)
    return math.prod(values) * math.prod(len(atom.offsets) for atom in template.atoms)
