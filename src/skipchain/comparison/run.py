"""Compare entries on one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skipchain.chains.decode import check_width
from skipchain.checks import nearest
from skipchain.comparison.comparison import Comparison
from skipchain.comparison.entry import Entry, check_distinct
from skipchain.comparison.entry_run import Display, EntryRun
from skipchain.comparison.fingerprint import Fingerprint, data_fingerprint, fingerprint
from skipchain.comparison.process import Notice, run_in_subprocess
from skipchain.comparison.row import ComparisonRow
from skipchain.comparison.run_result import RunResult
from skipchain.comparison.store import ResultStore
from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.features.templates import Templates
from skipchain.models.base.documents import longest_document
from skipchain.models.base.model import BEAM
from skipchain.models.specification import settings_of


@dataclass(frozen=True, slots=True)
class _PreparedEntry:
    entry: Entry
    entry_run: EntryRun
    templates: Templates


def compare(
    entries: str | Iterable[str | Entry],
    train: Corpus,
    test: Corpus,
    *,
    dev: Corpus | None = None,
    decoders: Sequence[str] = (),
    beam: int = BEAM,
    folder: str | Path | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] | None = None,
    display: Display | None = None,
    notice: Notice | None = None,
    without: Sequence[str] = (),
    **settings: Any,
) -> Comparison:
    """Train each entry in a process of its own, and measure it on the test data.

    ``entries`` is a list such as ``"crf,memm:order=2,hmm"``, or several texts or `Entry`;
    the first is what the others are compared with. ``settings`` apply to all entries that have
    them and do not set them themselves; ``dev`` is scored while training. Features do not see the
    columns ``without``. ``decoders`` are compared for each entry that has them; one that none has
    is refused.

    ``folder`` keeps the result of each entry as soon as it is there, and its model. A later call
    with the same folder takes what is there, unless settings or data have changed; files in it
    that no comparison wrote are refused unless ``overwrite``. ``say`` is called with messages on
    the progress; ``display`` makes a display of training in the entry's process, and ``notice`` a
    context in which that process compiles kernels and trains; so both must be functions that can be
    imported.

    >>> from skipchain.datasets.harbour import harbour
    >>> train, test = harbour().split(0.75)
    >>> comparison = compare("hmm,tokenhmm", train, test, features="word[-1..1]")
    >>> [result.entry.name for result in comparison.results]
    ['hmm', 'tokenhmm']
    >>> comparison.results[1].significance.p_value <= 1
    True
    """
    tell = say or (lambda message: None)
    _check_data(train, test, dev)
    parsed = check_distinct(_parse_entries(entries))
    _check_settings(settings, parsed)
    chosen = tuple(dict.fromkeys(decoders))
    check_width(beam)
    store = None if folder is None else ResultStore(folder)
    if store is not None:
        store.check(parsed, overwrite=overwrite)
    prepared_entries = []
    for entry in parsed:
        file = None if store is None else store.model_file(entry)
        run = EntryRun(entry.estimator(settings, without), train, test, dev, chosen, beam, file)
        prepared_entries.append(_prepare(entry, run))
    _check_decoders(chosen, prepared_entries)
    data = {} if store is None else data_fingerprint(train, test, dev)
    seed = settings.get("seed") or 0
    rows: list[ComparisonRow] = []
    for number, prepared in enumerate(prepared_entries, 1):
        place = f"{number} of {len(prepared_entries)}: {prepared.entry.name}"
        result, note = _load_or_run(prepared, place, store, data, tell, display, notice)
        first = rows[0].run_result if rows else None
        rows.append(ComparisonRow.of(prepared.entry, result, test, first, seed))
        tell(f"{place}: {_short(rows[-1])}{note}")
    corpora = {"train": train, "dev": dev, "test": test}
    sizes = {name: _sizes(corpus) for name, corpus in corpora.items() if corpus is not None}
    return Comparison(tuple(rows), sizes, chosen)


def _load_or_run(
    prepared: _PreparedEntry,
    place: str,
    store: ResultStore | None,
    data: Fingerprint,
    tell: Callable[[str], None],
    display: Display | None,
    notice: Notice | None,
) -> tuple[RunResult, str]:
    """The result that is stored, or that of a new run; and a note on where it comes from."""
    made_from = fingerprint(prepared.entry_run, prepared.templates, data)
    if store is not None:
        stored, note = store.load(prepared.entry, made_from)
        if stored is not None:
            return stored, f" ({note})"
        place += f": {note}" if note else ""
    tell(place)
    try:
        result = run_in_subprocess(prepared.entry_run, display, notice)
    except SkipchainError as error:
        raise SkipchainError(f"{prepared.entry.name}: {error}") from None
    if store is not None:
        store.save(prepared.entry, made_from, result)
    return result, ""


def _parse_entries(entries: str | Iterable[str | Entry]) -> list[Entry]:
    parsed: list[Entry] = []
    for entry in [entries] if isinstance(entries, str) else entries:
        parsed.extend([entry] if isinstance(entry, Entry) else Entry.parse_list(entry))
    return parsed


def _prepare(entry: Entry, entry_run: EntryRun) -> _PreparedEntry:
    """The entry with its templates, refused where they do not suit the data."""
    estimator = entry_run.estimator
    try:
        estimator._check_fit(entry_run.dev, None)
        templates = estimator._templates(entry_run.train)
        assert templates is not None
        templates = templates.for_corpus(entry_run.train)
        templates.for_corpus(entry_run.test)
        longest = longest_document(entry_run.train)
        for corpus in (entry_run.train, entry_run.test):
            estimator.check_documents(corpus, longest)
    except SkipchainError as error:
        raise SkipchainError(f"{entry.name}: {error}") from None
    return _PreparedEntry(entry, entry_run, templates)


def _check_settings(settings: Mapping[str, Any], entries: Sequence[Entry]) -> None:
    """Refuse a setting that no entry has."""
    known = dict.fromkeys(name for entry in entries for name in settings_of(entry.kind))
    for name in settings:
        if name not in known:
            hint = nearest(name, known)
            raise ParameterError(f"none of the models has a setting {name!r}; {hint}")


def _check_decoders(decoders: Sequence[str], prepared: Sequence[_PreparedEntry]) -> None:
    """Refuse a decoder that the model of no entry has."""
    pairs = ((p.entry.name, p.entry_run.estimator.decoders_for(p.templates)) for p in prepared)
    known = dict(pairs)
    for decoder in decoders:
        if not any(decoder in names for names in known.values()):
            listed = "; ".join(f"{name} has {', '.join(names)}" for name, names in known.items())
            raise ParameterError(f"none of the models has a decoder {decoder!r}; {listed}")


def _check_data(train: Corpus, test: Corpus, dev: Corpus | None) -> None:
    for name, corpus in (("training", train), ("test", test), ("development", dev)):
        if corpus is None:
            continue
        if not corpus.labelled:
            raise CorpusError(f"the {name} data have no labels")
        if (corpus.scheme is None) != (train.scheme is None):
            raise CorpusError(
                f"the training labels are in scheme {train.scheme or 'none'}, the {name} labels in "
                f"{corpus.scheme or 'none'}; name one scheme that fits both (--scheme)"
            )
    if not test.n_tokens:
        raise CorpusError("the test data are empty, so there is nothing to compare")


def _short(result: ComparisonRow) -> str:
    metric = "token accuracy" if result.evaluation.entities is None else "F1"
    seconds = result.run_result.training_seconds
    return f"{metric} {result.evaluation.f1:.2f}, trained in {seconds:.1f} s"


def _sizes(corpus: Corpus) -> dict[str, int]:
    return {"documents": corpus.n_documents, "sentences": len(corpus), "tokens": corpus.n_tokens}
