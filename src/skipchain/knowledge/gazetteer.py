"""Word lists made from n-grams: members give patterns, patterns give members, in rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skipchain.errors import ParameterError
from skipchain.io.files import write_text
from skipchain.knowledge.ngrams.duck import quoted
from skipchain.knowledge.ngrams.pattern import END, SHAPES, START, Pattern
from skipchain.knowledge.ngrams.store import NgramStore, Session, check_whole

CAP = SHAPES["Cap"]
TOLD = 0.5  # the confidence of a pattern that the user gives
FEWEST = 2  # known members that a new pattern must go with


@dataclass(frozen=True, slots=True)
class Member:
    """A phrase, how sure it is a member, by how many patterns, and the round that found it.

    ``round`` is 0 for the members that the harvest began with.
    """

    phrase: str
    confidence: float
    patterns: int
    round: int


@dataclass(frozen=True, slots=True)
class Context:
    """Words around a member, the members known to stand there, and all phrases that do."""

    text: str
    known: int
    phrases: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Members, surest first, and the patterns that found them."""

    members: tuple[Member, ...]
    contexts: tuple[Context, ...]

    def lines(self, name: str | None = None) -> str:
        """A phrase a line, surest first; with ``name``, that class and a tab before it."""
        before = "" if name is None else f"{name}\t"
        return "".join(f"{before}{member.phrase}\n" for member in self.members)

    def write(self, path: str | Path, name: str | None = None, *, overwrite: bool = False) -> None:
        """Write the lines as a lexicon."""
        write_text(path, self.lines(name), overwrite=overwrite)


def harvest(
    store: NgramStore,
    *,
    members: Iterable[str] = (),
    patterns: Iterable[str | Pattern] = (),
    rounds: int = 3,
    words: int = 2,
    per_round: int = 50,
    contexts: int = 40,
) -> Gazetteer:
    """Members of a class, from some members of it, or patterns in which members stand, or both.

    In each round, the words around known members become patterns. A pattern that goes with k known
    members and n phrases in all has the confidence $k / (n + 1)$; the ``contexts`` with the largest
    $\\log_2(k + 1)\\, k / (n + 1)$ are kept. A phrase is a member with confidence
    $1 - \\prod (1 - c)$ over the patterns that it stands in, and the ``per_round`` surest new ones
    are known from the next round on. Members have at most so many ``words``; where those given
    are all capitalised, the new ones are.

    >>> from tempfile import TemporaryDirectory
    >>> from skipchain.corpus import Corpus
    >>> text = Corpus.of([f"he flew to {name} on Monday".split() for name in
    ...                   ("Oslo", "Rome", "Bern", "Paris")])
    >>> with TemporaryDirectory() as folder:
    ...     store = NgramStore.count([text], folder + "/store")
    ...     [m.phrase for m in harvest(store, members=["Oslo", "Rome"], rounds=1).members]
    ['Oslo', 'Rome', 'Bern', 'Paris']
    """
    given = tuple(dict.fromkeys(" ".join(own.split()) for own in members if own.strip()))
    seeds = [Pattern.parse(own) if isinstance(own, str) else own for own in patterns]
    if not given and not seeds:
        raise ParameterError("a harvest begins with members or patterns; there are none")
    for name, value in (
        ("rounds", rounds), ("words", words), ("per_round", per_round), ("contexts", contexts),
    ):  # fmt: skip
        check_whole(name, value)
    known = {own: Member(own, 1.0, 0, 0) for own in given}
    kept: tuple[Context, ...] = ()
    with store.session() as session:
        told: dict[str, list[float]] = {}
        for pattern in seeds:
            for filler in session.query(pattern):
                told.setdefault(filler.text, []).append(TOLD)
        add(known, told, per_round, 1)
        if given or told:
            capital = all(word[0].isupper() for own in (*given, *told) for word in own.split())
            collect(session, words, capital)
            for number in range(1, rounds + 1):
                kept = tuple(best_contexts(session, list(known), contexts))
                found = {phrase: list(own) for phrase, own in told.items()}
                for phrase, confidence in standing_in(session, kept):
                    found.setdefault(phrase, []).append(confidence)
                renew(known, found)
                add(known, found, per_round, number)
    surest = sorted(known.values(), key=lambda own: (-own.confidence, own.round, own.phrase))
    return Gazetteer(tuple(surest), kept)


def collect(session: Session, words: int, capital: bool) -> None:
    """The table ``around``: phrases, the words around them, and counts."""
    session.database.execute(
        "CREATE TEMP TABLE around (phrase VARCHAR, context VARCHAR, count BIGINT)"
    )
    for size in range(1, words + 1):
        for left, right in ((1, 1), (2, 1), (1, 2), (2, 2)):
            order = left + size + right
            if order not in session.store.orders:
                continue
            names = [f"w{k + 1}" for k in range(order)]
            inner = names[left : left + size]
            tests = [f"{name} NOT IN ({quoted(START)}, {quoted(END)})" for name in inner]
            if capital:
                tests += [f"regexp_matches({name}, {quoted(CAP)})" for name in inner]
                tests += [
                    f"NOT regexp_matches({name}, {quoted(CAP)})"
                    for name in (names[left - 1], names[left + size])
                ]
            before, after = (f"concat_ws(' ', {', '.join(own)})"
                             for own in (names[:left], names[left + size :]))  # fmt: skip
            session.rows(
                f"INSERT INTO around SELECT concat_ws(' ', {', '.join(inner)}), "
                f"{before} || ' * ' || {after}, count FROM {session.source(order)} "
                f"WHERE {' AND '.join(tests)}",
                order,
            )


def best_contexts(session: Session, known: Sequence[str], limit: int) -> list[Context]:
    """The patterns around known members that go with few other phrases."""
    session.database.register("known", {"phrase": array(known)})
    rows = session.database.execute(
        "SELECT context, count(DISTINCT around.phrase) FILTER (known.phrase IS NOT NULL) AS k, "
        "count(DISTINCT around.phrase) AS n FROM around LEFT JOIN known USING (phrase) "
        f"GROUP BY context HAVING k >= {FEWEST} "
        f"ORDER BY log2(k + 1) * k / (n + 1) DESC, context LIMIT {limit}"
    ).fetchall()
    session.database.unregister("known")
    return [Context(text, k, n, k / (n + 1)) for text, k, n in rows]


def standing_in(session: Session, contexts: Sequence[Context]) -> list[tuple[str, float]]:
    """The phrases that stand in contexts, with the confidence of each context."""
    if not contexts:
        return []
    confidence = {own.text: own.confidence for own in contexts}
    session.database.register("chosen", {"context": array(list(confidence))})
    rows = session.database.execute(
        "SELECT DISTINCT phrase, context FROM around JOIN chosen USING (context) "
        "ORDER BY phrase, context"
    ).fetchall()
    session.database.unregister("chosen")
    return [(phrase, confidence[context]) for phrase, context in rows]


def renew(known: dict[str, Member], found: dict[str, list[float]]) -> None:
    """Members of earlier rounds with the confidence that the present patterns give them."""
    for phrase, member in known.items():
        if member.round and phrase in found:
            own = found[phrase]
            known[phrase] = Member(phrase, joined(own), len(own), member.round)


def add(known: dict[str, Member], found: dict[str, list[float]], limit: int, number: int) -> None:
    """The surest phrases that are not known yet become known."""
    new = [(phrase, joined(own), len(own)) for phrase, own in found.items() if phrase not in known]
    new.sort(key=lambda own: (-own[1], -own[2], own[0]))
    for phrase, confidence, patterns in new[:limit]:
        known[phrase] = Member(phrase, confidence, patterns, number)


def joined(confidences: Iterable[float]) -> float:
    """How sure something is that several grounds speak for, each by itself.

    >>> joined([0.5, 0.5])
    0.75
    """
    doubt = 1.0
    for own in confidences:
        doubt *= 1.0 - own
    return 1.0 - doubt


def array(values: Sequence[str]) -> object:
    """Strings as DuckDB takes them."""
    import numpy as np

    return np.array(list(values), object)
