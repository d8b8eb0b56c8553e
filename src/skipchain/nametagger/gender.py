"""Gender and animacy of words: counts of properties, from n-grams and from published files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import add
from pathlib import Path

from skipchain.errors import ParameterError, ReadError
from skipchain.io.streams import numbered_lines
from skipchain.resources.ngrams.pattern import Pattern
from skipchain.resources.ngrams.store import NgramStore

GENDERS = ("masculine", "feminine", "neutral", "plural")
ANIMACIES = ("animate", "inanimate")
PROPERTIES = (*GENDERS, *ANIMACIES)

Counts = tuple[int, ...]  # of the six properties

# The property of the noun that a pronoun stands for.
MEANING = {
    **dict.fromkeys(("his", "he", "himself"), "masculine"),
    **dict.fromkeys(("her", "she", "herself"), "feminine"),
    **dict.fromkeys(("its", "it", "itself"), "neutral"),
    **dict.fromkeys(("their", "they", "themselves"), "plural"),
    "who": "animate",
    **dict.fromkeys(("which", "where", "when"), "inanimate"),
}
NOMINATIVE, POSSESSIVE = "*(he|she|it|they)", "*(his|her|its|their)"
REFLEXIVE, RELATIVE = "*(himself|herself|itself|themselves)", "*(who|which|where|when)"
BE, NOUN, CAPITAL = "(am|is|are|was|were|be)", "*<NN*>", "*<Cap>"
EITHER, OUTSIDE = "*<NN*|Cap>", "!<IN|NN*|JJ*>"

# The patterns: the target, which is T, with the words around it. One-word targets may be any noun,
# longer ones are capitalised.
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "conjunction-possessive": (f"{EITHER} <CC> {POSSESSIVE}",),
    "nominative-predicate": (f"{NOMINATIVE} {BE} {NOUN}", f"{NOMINATIVE} {BE} (a|an|the) {NOUN}"),
    "verb-nominative": (f"{EITHER} <VB*> {NOMINATIVE}",),
    "verb-possessive": (f"{EITHER} <VB*> {POSSESSIVE}",),
    "verb-reflexive": (f"{EITHER} <VB*> {REFLEXIVE}",),
    "relative-pronoun": (f"{OUTSIDE} *<NN*|JJ*> , {RELATIVE}", f"{OUTSIDE} *<NN*|JJ*> {RELATIVE}"),
}
LONGEST = 3  # words of a target


@dataclass(frozen=True, slots=True)
class PropertyCounts:
    """Counts of phrases with each of `PROPERTIES`; with ``folded``, phrases are in lower case.

    >>> counts = PropertyCounts("ours", {"john": (32, 0, 0, 0, 0, 0)}, folded=True)
    >>> counts.of("John")
    (32, 0, 0, 0, 0, 0)
    """

    name: str
    table: Mapping[str, Counts]
    folded: bool = False

    def of(self, phrase: str) -> Counts | None:
        """The counts of a phrase, or None where it was never seen."""
        return self.table.get(phrase.lower() if self.folded else phrase)

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def sum(cls, name: str, sources: Iterable[PropertyCounts]) -> PropertyCounts:
        """The sum of several counts; all or none of them must be in lower case (``folded``)."""
        table: dict[str, Counts] = {}
        folded = set()
        for source in sources:
            folded.add(source.folded)
            for phrase, counts in source.table.items():
                add_row(table, phrase, counts)
        if len(folded) > 1:
            raise ParameterError("counts in lower case cannot be summed with others")
        return cls(name, table, folded == {True})


def count_properties(
    store: NgramStore, names: Iterable[str] = tuple(PATTERNS)
) -> list[PropertyCounts]:
    """The counts that each of the `PATTERNS` finds in a store, which must have parts of speech.

    Where the text has no word of some part of speech, such as adjectives, a pattern finds what the
    others give, or nothing.

    >>> from tempfile import TemporaryDirectory
    >>> from skipchain.corpus import Corpus
    >>> text = Corpus.of([["John", "and", "his", "dog", "slept"]],
    ...                  pos=[["NNP", "CC", "PRP$", "NN", "VBD"]])
    >>> with TemporaryDirectory() as folder:
    ...     store = NgramStore.count([text], folder + "/store")
    ...     count_properties(store, ["conjunction-possessive"])[0].of("John")
    (1, 0, 0, 0, 0, 0)
    """
    results = []
    with store.session() as session:
        for name in names:
            if name not in PATTERNS:
                raise ParameterError(f"no pattern {name!r}; there are {', '.join(PATTERNS)}")
            table: dict[str, list[int]] = {}
            for text in PATTERNS[name]:
                for size in range(1, LONGEST + 1):
                    pattern = Pattern.parse(extend_pattern(text, size))
                    if len(pattern) not in store.orders:
                        continue
                    for filler in session.query(pattern, any_tag=True):
                        pronoun, phrase = split_match(filler.words, text)
                        row = table.setdefault(phrase, [0] * len(PROPERTIES))
                        row[PROPERTIES.index(MEANING[pronoun])] += filler.count
            rows = {phrase: tuple(row) for phrase, row in table.items()}
            results.append(PropertyCounts(name, rows))
    return results


def extend_pattern(text: str, size: int) -> str:
    """The pattern for targets of so many words.

    >>> extend_pattern("*<NN*|Cap> <CC> *(his|her)", 2)
    '*<Cap> *<Cap> <CC> *(his|her)'
    """
    if size == 1:
        return text
    items = text.split()
    place = next(k for k, item in enumerate(items) if item.startswith("*<"))
    return " ".join([*items[:place], *[CAPITAL] * size, *items[place + 1 :]])


def split_match(words: tuple[str, ...], text: str) -> tuple[str, str]:
    """Pronoun and target among the words that fill the slots."""
    if text.startswith(NOMINATIVE):
        return words[0], " ".join(words[1:])
    return words[-1], " ".join(words[:-1])


def read_gender_counts(path: str | Path) -> PropertyCounts:
    """Counts by gender: a word, a tab, and masculine, feminine, neutral and plural with spaces.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "gender.txt").write_text("aaron\\t4322 143 41 63\\n")
    ...     read_gender_counts(folder + "/gender.txt").of("Aaron")
    (4322, 143, 41, 63, 0, 0)
    """
    table = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        word, _, rest = line.partition("\t")
        cells = rest.split()
        if len(cells) != len(GENDERS) or not all(cell.isdecimal() for cell in cells):
            wanted = "a word, a tab and four counts (masculine, feminine, neutral, plural)"
            raise ReadError(f"expected {wanted}, got {line[:60]!r}", path=path, line=number)
        table[word.lower()] = (*map(int, cells), 0, 0)
    return PropertyCounts(Path(path).name, table, folded=True)


def read_phrases(
    lists: Iterable[tuple[str | Path, str]], name: str, weight: int = 10
) -> PropertyCounts:
    """Lists of phrases that have a property, a phrase a line; each counts ``weight`` times.

    What stands behind a tab is left out, and so are lines that begin with ``#`` and a space.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "male.txt").write_text("John\\nAaron\\n")
    ...     read_phrases([(folder + "/male.txt", "masculine")], "lists").of("Aaron")
    (10, 0, 0, 0, 0, 0)
    """
    table: dict[str, Counts] = {}
    for path, kind in lists:
        if kind not in PROPERTIES:
            raise ParameterError(f"no property {kind!r}; there are {', '.join(PROPERTIES)}")
        row = tuple(weight * (kind == known) for known in PROPERTIES)
        seen = set()
        for _, line in numbered_lines(path):
            phrase = line.partition("\t")[0].strip().lower()
            if phrase and not phrase.startswith("# ") and phrase not in seen:
                seen.add(phrase)
                add_row(table, phrase, row)
    return PropertyCounts(name, table, folded=True)


def add_row(table: dict[str, Counts], phrase: str, row: Counts) -> None:
    """Add further counts to those of a phrase."""
    before = table.get(phrase)
    table[phrase] = row if before is None else tuple(map(add, before, row))
