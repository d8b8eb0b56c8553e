"""Gazetteers by bootstrapping on n-grams: members give patterns, patterns give members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skipchain.checks import check_integer
from skipchain.errors import ParameterError, ReadError
from skipchain.io.files import write_text
from skipchain.io.streams import numbered_lines
from skipchain.resources.ngrams.duck import sql_literal
from skipchain.resources.ngrams.pattern import END, SHAPES, START, Pattern
from skipchain.resources.ngrams.store import NgramStore, Session, capitals

CAP = SHAPES["Cap"]
TITLE = r"^\p{Lu}\p{Ll}+\.$"  # Mr., Gen.: before a name, not in it
SEED_PATTERN_CONFIDENCE = 0.5  # the confidence of the user's patterns
MIN_SUPPORT = 2  # known members of a new pattern, and patterns of a new member
SMOOTHING_COUNT = 3  # added to the phrases of every pattern, as if of no class
CONTEXT_WIDTHS = ((1, 1), (2, 1), (1, 2), (2, 2))  # words before and behind

Known = dict[str, "Member"]


@dataclass(frozen=True, slots=True)
class Member:
    """A phrase, its class with a confidence, by how many patterns, and in which round.

    ``round`` is 0 for the seeds.
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
    """Members, by falling confidence, and the contexts in which they were found."""

    members: tuple[Member, ...]
    contexts: tuple[Context, ...]

    def of(self, kind: str) -> tuple[Member, ...]:
        """The members of one class."""
        return tuple(member for member in self.members if member.kind == kind)

    def lines(self) -> str:
        """The lexicon: a class, a tab and a phrase a line, surest first."""
        return "".join(f"{member.kind}\t{member.phrase}\n" for member in self.members)

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
    """Members of classes by bootstrapping from seeds: members of each class, patterns, or both.

    In each round, the words around known members become patterns. A pattern that goes with k known
    members of a class and n phrases in all has the confidence $c = k / (n + 3)$ if no other class
    has more; of each class, the ``contexts`` with the largest $c \\log_2(k + 1)$ are kept. A phrase
    is a member with confidence $1 - \\prod (1 - c)$ over the patterns that it stands in, of the
    class where that is largest, and the ``per_round`` surest of each class are known from then on.
    Several classes keep each other from drifting: give days and months where you want cities. A
    phrase with a word that is known to be of another class is no member.

    Members have at most so many ``words``; where all seeds are capitalised, new members are.

    >>> from tempfile import TemporaryDirectory
    >>> from skipchain.corpus import Corpus
    >>> text = Corpus.of([f"he {way} to {name} on Monday".split() for way in ("flew", "went")
    ...                   for name in ("Oslo", "Rome", "Bern", "Paris")])
    >>> with TemporaryDirectory() as folder:
    ...     store = NgramStore.count([text], folder + "/store")
    ...     gazetteer = harvest(store, {"city": ["Oslo", "Rome"]}, rounds=1)
    >>> [member.phrase for member in gazetteer.members]
    ['Oslo', 'Rome', 'Bern', 'Paris']
    """
    seeds = [
        (kind, phrase)
        for kind, phrases in (members or {}).items()
        for phrase in dict.fromkeys(" ".join(phrase.split()) for phrase in phrases)
    ]
    texts = ((kind, text) for kind, several in (patterns or {}).items() for text in several)
    seed_patterns = [(kind, Pattern.parse(text)) for kind, text in texts]
    if not seeds and not seed_patterns:
        raise ParameterError("a harvest begins with members or patterns; there are none")
    check_integer("rounds", rounds)
    check_integer("words", words)
    check_integer("per_round", per_round)
    check_integer("contexts", contexts)
    known: Known = {}
    for kind, phrase in seeds:
        if phrase in known:
            fault = f"{phrase!r} is given as a member of {known[phrase].kind} and of {kind}"
            raise ParameterError(f"{fault}; a phrase has one class")
        known[phrase] = Member(phrase, kind, confidence=1.0, patterns=0, round=0)
    best: list[Context] = []
    with store.session() as session:
        fillers = [
            (filler.text, kind, SEED_PATTERN_CONFIDENCE)
            for kind, pattern in seed_patterns
            for filler in session.query(pattern)
        ]
        update_members(known, fillers, per_round, 1, 1)
        capital = bool(known) and all(word[0].isupper() for seed in known for word in seed.split())
        collect_contexts(session, words, capital)
        for number in range(1, rounds + 1):
            best = best_contexts(session, known, contexts)
            matches = fillers + phrases_in(session, best)
            update_members(known, matches, per_round, number, MIN_SUPPORT)
    ordered = sorted(known.values(), key=lambda m: (-m.confidence, m.round, m.phrase))
    return Gazetteer(tuple(ordered), tuple(best))


def read_seeds(paths: Iterable[str | Path]) -> dict[str, list[str]]:
    """Members or patterns of classes: ``CLASS<TAB>phrase`` a line.

    A line without a tab is of the class that the file is named after.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "city.txt").write_text("Oslo\\nday\\tMonday\\n")
    ...     read_seeds([folder + "/city.txt"])
    {'city': ['Oslo'], 'day': ['Monday']}
    """
    seeds: dict[str, list[str]] = {}
    for path in paths:
        for number, line in numbered_lines(path):
            if not line.strip():
                continue
            kind, tab, phrase = line.partition("\t")
            if not tab:
                kind, phrase = Path(path).stem, line
            if not kind.strip() or not phrase.strip() or "\t" in phrase:
                fault = f"expected a class, a tab and a phrase, got {line!r}"
                raise ReadError(fault, path=path, line=number)
            seeds.setdefault(kind.strip(), []).append(phrase.strip())
    return seeds


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
            texts = [f"concat_ws(' ', {', '.join(columns)})" for columns in (inner, *sides)]
            session.rows(
                f"INSERT INTO around SELECT {texts[0]}, {texts[1]} || ' * ' || {texts[2]} "
                f"FROM {session.source(order)} WHERE {' AND '.join(tests)}",
                order,
            )


def best_contexts(session: Session, known: Known, limit: int) -> list[Context]:
    """The patterns around known members that go with few other phrases, of each class."""
    kinds = [member.kind for member in known.values()]
    table = {"phrase": sql_strings(list(known)), "kind": sql_strings(kinds)}
    session.database.register("known", table)
    worth = f"log2(k + 1) * k / (n + {SMOOTHING_COUNT})"
    rows = session.database.execute(
        "WITH spread AS (SELECT context, count(*) AS n FROM around GROUP BY context), "
        "counts AS (SELECT context, kind, count(*) AS k FROM around JOIN known USING (phrase) "
        "GROUP BY context, kind), "
        "ranked AS (SELECT *, row_number() OVER (PARTITION BY context ORDER BY k DESC) AS place, "
        "sum(k) OVER (PARTITION BY context) AS known_all FROM counts) "
        "SELECT context, kind, k, n FROM ranked JOIN spread USING (context) "
        f"WHERE place = 1 AND k >= {MIN_SUPPORT} AND known_all < 2 * k "
        f"QUALIFY row_number() OVER (PARTITION BY kind ORDER BY {worth} DESC, context) <= {limit} "
        f"ORDER BY kind, {worth} DESC, context"
    ).fetchall()
    session.database.unregister("known")
    return [Context(text, kind, k, n, k / (n + SMOOTHING_COUNT)) for text, kind, k, n in rows]


def phrases_in(session: Session, contexts: Sequence[Context]) -> list[tuple[str, str, float]]:
    """The phrases that stand in contexts, with the class and the confidence of each context."""
    if not contexts:
        return []
    by_text = {context.text: context for context in contexts}
    session.database.register("chosen", {"context": sql_strings(list(by_text))})
    sql = "SELECT phrase, context FROM around JOIN chosen USING (context) ORDER BY ALL"
    rows = session.database.execute(sql).fetchall()
    session.database.unregister("chosen")
    matches = ((phrase, by_text[text]) for phrase, text in rows)
    return [(phrase, context.kind, context.confidence) for phrase, context in matches]


def update_members(
    known: Known, matches: Iterable[tuple[str, str, float]], limit: int, number: int, fewest: int
) -> None:
    """Update the confidence of members, and make members of the phrases with the highest one."""
    evidence: dict[tuple[str, str], list[float]] = {}
    for phrase, kind, confidence in matches:
        evidence.setdefault((phrase, kind), []).append(confidence)
    best: Known = {}
    for (phrase, kind), confidences in evidence.items():
        member = Member(phrase, kind, noisy_or(confidences), len(confidences), number)
        if phrase not in best or member.confidence > best[phrase].confidence:
            best[phrase] = member
    new: dict[str, list[Member]] = {}
    for phrase, member in best.items():
        before = known.get(phrase)
        if before is None:
            if member.patterns >= fewest and not has_conflicting_word(member, known):
                new.setdefault(member.kind, []).append(member)
        elif before.round:
            known[phrase] = replace(member, round=before.round)
    for members in new.values():
        members.sort(key=lambda member: (-member.confidence, member.phrase))
        known.update({member.phrase: member for member in members[:limit]})


def has_conflicting_word(member: Member, known: Known) -> bool:
    """Whether a word of a phrase is by itself known to be of another class: *Vienna Friday*."""
    words = member.phrase.split()
    kinds = {known[word].kind for word in words if word in known}
    return len(words) > 1 and not kinds <= {member.kind}


def noisy_or(confidences: Iterable[float]) -> float:
    """The confidence that follows from several independent ones.

    >>> noisy_or([0.5, 0.5])
    0.75
    """
    return 1.0 - float(np.prod([1.0 - c for c in confidences]))


def sql_strings(values: Sequence[str]) -> object:
    """Strings as DuckDB takes them."""
    return np.array(values, object)
