"""Word lists made from n-grams: members give patterns, patterns give members, in rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skipchain.errors import ParameterError, ReadError
from skipchain.io.files import write_text
from skipchain.io.streams import numbered_lines
from skipchain.resources.ngrams.duck import sql_literal
from skipchain.resources.ngrams.pattern import END, SHAPES, START, Pattern
from skipchain.resources.ngrams.store import NgramStore, Session, capitals, check_whole

CAP = SHAPES["Cap"]
TITLE = r"^\p{Lu}\p{Ll}+\.$"  # Mr., Gen.: before a name, not in it
SEED_PATTERN_CONFIDENCE = 0.5  # the confidence of a pattern that the user gives
MIN_SUPPORT = (
    2  # known members that a new pattern must go with, and patterns that a new member must
)
SMOOTHING_COUNT = 3  # phrases of no class that every pattern is thought to go with
CONTEXT_WIDTHS = ((1, 1), (2, 1), (1, 2), (2, 2))  # words before and behind

Known = dict[str, "Member"]


@dataclass(frozen=True, slots=True)
class Member:
    """A phrase, its class, how sure that is, by how many patterns, and the round that found it.

    ``round`` is 0 for the members that the harvest began with.
    """

    phrase: str
    kind: str
    confidence: float
    patterns: int
    round: int


@dataclass(frozen=True, slots=True)
class Context:
    """Words around members of a class, how many known ones, and how many phrases in all."""

    text: str
    kind: str
    known: int
    phrases: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Members, surest first, and the patterns that found them."""

    members: tuple[Member, ...]
    contexts: tuple[Context, ...]

    def of(self, kind: str) -> tuple[Member, ...]:
        """The members of one class."""
        return tuple(own for own in self.members if own.kind == kind)

    def lines(self) -> str:
        """The lexicon: a class, a tab and a phrase a line, surest first."""
        return "".join(f"{own.kind}\t{own.phrase}\n" for own in self.members)

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the lexicon."""
        write_text(path, self.lines(), overwrite=overwrite)


def harvest(
    store: NgramStore,
    members: Mapping[str, Iterable[str]] | None = None,
    patterns: Mapping[str, Iterable[str]] | None = None,
    *,
    rounds: int = 5,
    words: int = 2,
    per_round: int = 20,
    contexts: int = 40,
) -> Gazetteer:
    """Members of classes, from some members of each, or patterns in which they stand, or both.

    In each round, the words around known members become patterns. A pattern that goes with k known
    members of a class and n phrases in all has the confidence $c = k / (n + 3)$ if no other class
    has more; of each class, the ``contexts`` with the largest $c \\log_2(k + 1)$ are kept. A phrase
    is a member with confidence $1 - \\prod (1 - c)$ over the patterns that it stands in, of the
    class where that is largest, and the ``per_round`` surest of each class are known from then on.
    Several classes keep each other from drifting: give days and months where you want cities. A
    phrase with a word that is known to be of another class is no member.

    Members have at most so many ``words``; where those given are all capitalised, new ones are.

    >>> from tempfile import TemporaryDirectory
    >>> from skipchain.corpus import Corpus
    >>> text = Corpus.of([f"he {way} to {name} on Monday".split() for way in ("flew", "went")
    ...                   for name in ("Oslo", "Rome", "Bern", "Paris")])
    >>> with TemporaryDirectory() as folder:
    ...     store = NgramStore.count([text], folder + "/store")
    ...     found = harvest(store, {"city": ["Oslo", "Rome"]}, rounds=1)
    >>> [member.phrase for member in found.members]
    ['Oslo', 'Rome', 'Bern', 'Paris']
    """
    given = {
        kind: tuple(dict.fromkeys(" ".join(own.split()) for own in phrases))
        for kind, phrases in (members or {}).items()
    }
    seeds = {
        kind: [Pattern.parse(own) for own in texts] for kind, texts in (patterns or {}).items()
    }
    if not any(given.values()) and not any(seeds.values()):
        raise ParameterError("a harvest begins with members or patterns; there are none")
    for name, value in (
        ("rounds", rounds),
        ("words", words),
        ("per_round", per_round),
        ("contexts", contexts),
    ):
        check_whole(name, value)
    known: Known = {}
    for kind, phrases in given.items():
        for own in phrases:
            if own in known:
                raise ParameterError(
                    f"{own!r} is given as a member of {known[own].kind} and of {kind}; a phrase "
                    "has one class"
                )
            known[own] = Member(own, kind, 1.0, 0, 0)
    kept: list[Context] = []
    with store.session() as session:
        told = [
            (filler.text, kind, SEED_PATTERN_CONFIDENCE)
            for kind, own in seeds.items()
            for pattern in own
            for filler in session.query(pattern)
        ]
        update_members(known, told, per_round, 1, 1)
        capital = bool(known) and all(word[0].isupper() for own in known for word in own.split())
        collect_contexts(session, words, capital)
        for number in range(1, rounds + 1):
            kept = best_contexts(session, known, contexts)
            update_members(known, told + phrases_in(session, kept), per_round, number, MIN_SUPPORT)
    surest = sorted(known.values(), key=lambda own: (-own.confidence, own.round, own.phrase))
    return Gazetteer(tuple(surest), tuple(kept))


def read_seeds(paths: Iterable[str | Path]) -> dict[str, list[str]]:
    """Members or patterns of classes: ``CLASS<TAB>phrase`` a line.

    A line without a tab is of the class that the file is named after.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "city.txt").write_text("Oslo\\nday\\tMonday\\n")
    ...     read_seeds([folder + "/city.txt"])
    {'city': ['Oslo'], 'day': ['Monday']}
    """
    found: dict[str, list[str]] = {}
    for path in paths:
        for number, line in numbered_lines(path):
            if not line.strip():
                continue
            kind, tab, phrase = line.partition("\t")
            if not tab:
                kind, phrase = Path(path).stem, line
            if not kind.strip() or not phrase.strip() or "\t" in phrase:
                raise ReadError(
                    f"expected a class, a tab and a phrase, got {line!r}", path=path, line=number
                )
            found.setdefault(kind.strip(), []).append(phrase.strip())
    return found


def collect_contexts(session: Session, words: int, capital: bool) -> None:
    """The table ``around``: phrases, and the words around them."""
    session.database.execute("CREATE TEMP TABLE around (phrase VARCHAR, context VARCHAR)")
    session.database.execute("CREATE TEMP TABLE common (word VARCHAR)")
    if capital and 1 in session.store.orders:  # words that begin sentences, but are no names
        session.rows(f"INSERT INTO common {capitals(session)}", 1)
    marks = f"({sql_literal(START)}, {sql_literal(END)})"
    for size in range(1, words + 1):
        for left, right in CONTEXT_WIDTHS:
            order = left + size + right
            if order not in session.store.orders:
                continue
            names = [f"w{k + 1}" for k in range(order)]
            inner = names[left : left + size]
            tests = [f"{name} NOT IN {marks}" for name in inner]
            tests += [f"{names[0]} NOT IN {marks}"] if left == 2 else []
            tests += [f"{names[-1]} NOT IN {marks}"] if right == 2 else []
            if capital:
                before, after = names[left - 1], names[left + size]
                tests += [f"regexp_matches({name}, {sql_literal(CAP)})" for name in inner]
                tests += [f"{name} NOT IN (FROM common)" for name in inner]
                tests.append(f"NOT regexp_matches({inner[0]}, {sql_literal(TITLE)})")
                tests.append(f"NOT regexp_matches({after}, {sql_literal(CAP)})")
                tests.append(
                    f"(NOT regexp_matches({before}, {sql_literal(CAP)}) "
                    f"OR regexp_matches({before}, {sql_literal(TITLE)}) OR {before} IN (FROM "
                    "common))"
                )
            sides = (names[:left], names[left + size :])
            texts = [f"concat_ws(' ', {', '.join(own)})" for own in (inner, *sides)]
            session.rows(
                f"INSERT INTO around SELECT {texts[0]}, {texts[1]} || ' * ' || {texts[2]} "
                f"FROM {session.source(order)} WHERE {' AND '.join(tests)}",
                order,
            )


def best_contexts(session: Session, known: Known, limit: int) -> list[Context]:
    """The patterns around known members that go with few other phrases, of each class."""
    session.database.register(
        "known",
        {
            "phrase": sql_strings(list(known)),
            "kind": sql_strings([own.kind for own in known.values()]),
        },
    )
    rows = session.database.execute(
        "WITH spread AS (SELECT context, count(*) AS n FROM around GROUP BY context), "
        "counts AS (SELECT context, kind, count(*) AS k FROM around JOIN known USING (phrase) "
        "GROUP BY context, kind), "
        "ranked AS (SELECT *, row_number() OVER (PARTITION BY context ORDER BY k DESC) AS place, "
        "sum(k) OVER (PARTITION BY context) AS known_all FROM counts) "
        "SELECT context, kind, k, n FROM ranked JOIN spread USING (context) "
        f"WHERE place = 1 AND k >= {MIN_SUPPORT} AND known_all < 2 * k "
        "QUALIFY row_number() OVER (PARTITION BY kind ORDER BY log2(k + 1) * k / (n + "
        f"{SMOOTHING_COUNT}) "
        f"DESC, context) <= {limit} ORDER BY kind, log2(k + 1) * k / (n + {SMOOTHING_COUNT}) DESC, "
        "context"
    ).fetchall()
    session.database.unregister("known")
    return [Context(text, kind, k, n, k / (n + SMOOTHING_COUNT)) for text, kind, k, n in rows]


def phrases_in(session: Session, contexts: Sequence[Context]) -> list[tuple[str, str, float]]:
    """The phrases that stand in contexts, with the class and the confidence of each context."""
    if not contexts:
        return []
    about = {own.text: own for own in contexts}
    session.database.register("chosen", {"context": sql_strings(list(about))})
    rows = session.database.execute(
        "SELECT phrase, context FROM around JOIN chosen USING (context) ORDER BY ALL"
    ).fetchall()
    session.database.unregister("chosen")
    return [(phrase, about[own].kind, about[own].confidence) for phrase, own in rows]


def update_members(
    known: Known, found: Iterable[tuple[str, str, float]], limit: int, number: int, fewest: int
) -> None:
    """Members get the confidence that patterns give them, and the surest phrases become members."""
    grounds: dict[tuple[str, str], list[float]] = {}
    for phrase, kind, confidence in found:
        grounds.setdefault((phrase, kind), []).append(confidence)
    best: Known = {}
    for (phrase, kind), own in grounds.items():
        member = Member(phrase, kind, noisy_or(own), len(own), number)
        if phrase not in best or member.confidence > best[phrase].confidence:
            best[phrase] = member
    new: dict[str, list[Member]] = {}
    for phrase, member in best.items():
        before = known.get(phrase)
        if before is None:
            if member.patterns >= fewest and not has_conflicting_word(member, known):
                new.setdefault(member.kind, []).append(member)
        elif before.round:
            known[phrase] = Member(
                phrase, member.kind, member.confidence, member.patterns, before.round
            )
    for own_kind in new.values():
        own_kind.sort(key=lambda own: (-own.confidence, own.phrase))
        known.update({own.phrase: own for own in own_kind[:limit]})


def has_conflicting_word(member: Member, known: Known) -> bool:
    """Whether a word of a phrase is by itself known to be of another class: *Vienna Friday*."""
    words = member.phrase.split()
    return len(words) > 1 and any(
        word in known and known[word].kind != member.kind for word in words
    )


def noisy_or(confidences: Iterable[float]) -> float:
    """How sure something is that several grounds speak for, each by itself.

    >>> noisy_or([0.5, 0.5])
    0.75
    """
    return 1.0 - float(np.prod([1.0 - own for own in confidences]))


def sql_strings(values: Sequence[str]) -> object:
    """Strings as DuckDB takes them."""
    return np.array(values, object)
