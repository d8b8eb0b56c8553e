"""The data of a training on a cluster: shards that agree on labels, features and parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer
from skipchain.checks import nearest
from skipchain.cluster.claims import Numbering
from skipchain.cluster.connection import ClusterError
from skipchain.cluster.features import FAMILIES, vocabulary_of
from skipchain.cluster.learning import ParameterLayout, packer, widths_of
from skipchain.cluster.mixing import MixedMargins, MixedSteps
from skipchain.cluster.objective import DistributedObjective
from skipchain.cluster.shard import AgreedTerms, ShardFacts
from skipchain.cluster.sources import Files, deal_corpus, deal_files
from skipchain.cluster.team import Team
from skipchain.corpus import Corpus
from skipchain.corpus.schemes.inference import PREFERENCE
from skipchain.corpus.schemes.scheme import TABLE
from skipchain.errors import CorpusError, ParameterError, SkipchainWarning
from skipchain.features.template import STATE
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.resuming import digest


class ShardedData:
    """Labelled data in the workers of a team; it makes losses and learners of all of them.

    What is agreed on is kept here, so that a worker that takes the place of another is brought to
    where the others are.
    """

    def __init__(self, team: Team, given: Files | Corpus) -> None:
        self.team = team
        self._given = given
        self._sources: list[Any] = []
        self._facts: list[ShardFacts] = []
        self._agreed: AgreedTerms | None = None
        self.labels: tuple[str, ...] = ()
        self._numbering: Numbering | None = None
        self._begun: tuple[ChainProblem, ParameterLayout] | None = None
        self._supports: dict[str, tuple[Numbering, Ints]] = {}
        self._observed = False
        self.active = 0.0
        self._read()

    # Reading -----------------------------------------------------------------------------------

    @property
    def sequences(self) -> int:
        """The number of chains."""
        return sum(own.sequences for own in self._facts)

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(own.tokens for own in self._facts)

    @property
    def digest(self) -> str:
        """What tells these data from others, and their shards from other ones."""
        return digest([own.digest for own in self._facts])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that all shards have."""
        return self._facts[0].columns

    @property
    def partial(self) -> bool:
        """Whether some labels are not known."""
        return any(own.partial for own in self._facts)

    @property
    def scheme(self) -> str | None:
        """The scheme of the labels of all shards."""
        return common_scheme(self._facts)

    def _read(self) -> None:
        """Deal the data to the workers, and let them read."""
        self._facts = self.team.repeat(self._loaded, lambda: None)
        for own in dict.fromkeys(text for facts in self._facts for text in facts.warnings):
            warnings.warn(own, SkipchainWarning, stacklevel=2)
        check_shards(self._facts)
        for name in self._given.left_out if isinstance(self._given, Files) else ():
            if name not in self.columns:
                raise CorpusError(
                    f"--without {name}: the data have no such column; {nearest(name, self.columns)}"
                )

    def _loaded(self) -> list[ShardFacts]:
        team = self.team
        if not self._sources:
            if isinstance(self._given, Files):
                sizes = team.answers([team.members[0].sizes.remote(self._given)])[0]
                shares: list[Any] = list(deal_files(self._given, sizes, len(team)))
            else:
                shares = deal_corpus(self._given, len(team))
                empty = [k for k, own in enumerate(shares) if own is None]
                if empty:
                    raise CorpusError(few_documents(len(team)))
            self._sources = [team.put(own) for own in shares]
        return team.answers(team.ask_each("load", [[own] for own in self._sources]))

    # Agreeing ----------------------------------------------------------------------------------

    def agree(self, agreed: AgreedTerms) -> None:
        """Let all workers take the same templates and schemes; the labels of all are known then."""
        self._agreed = agreed
        names = self.team.repeat(self._names, self._reload)
        self.labels = tuple(sorted({name for own in names for name in own}))
        if not self.labels:
            raise CorpusError("no token has a label to learn from")

    def encode(self) -> Vocabulary:
        """Let all workers encode their data; the vocabulary of all features."""
        assert self._agreed is not None
        self.team.repeat(self._adopted, self._reload)
        named = self.team.repeat(lambda: self.team.answers(self.team.ask("named")), self._reload)
        assert self._numbering is not None
        return vocabulary_of(self._agreed.templates, self._numbering, named)

    def check_allowed(self, allowed: Constraints) -> None:
        """Refuse labels that training must not look at."""
        team, asked = self.team, ("check_allowed", allowed, self.labels)
        team.repeat(lambda: team.answers(team.ask(*asked)), self._prepare)

    def _names(self) -> list[tuple[str, ...]]:
        return self.team.answers(self.team.ask("agree", self._agreed))

    def _adopted(self) -> None:
        """Exchange counts of features, range by range, and number those that are kept."""
        assert self._agreed is not None
        team, templates = self.team, self._agreed.templates.templates
        offers = team.ask("claim", len(team), parts=len(team))
        sizes, answers = team.exchange(offers, "settle")
        families = np.array([FAMILIES.index(own.family) for own in templates])
        numbering = Numbering(np.array(team.answers(sizes)), families)
        if not numbering.per_template.sum():
            raise CorpusError(
                f"no feature occurs {self._agreed.min_count} times; use a lower min_count"
            )
        arguments = [[numbering, self.labels, *own] for own in answers]
        active = team.answers(team.ask_each("adopt", arguments))
        tokens = [own.tokens for own in self._facts]
        self.active = float(np.average(active, weights=tokens))
        self._numbering = numbering

    def _reload(self) -> None:
        """Bring workers that are new to where features can be encoded."""
        facts = self._loaded()
        for number, (own, before) in enumerate(zip(facts, self._facts, strict=True)):
            if own.digest != before.digest:
                raise ClusterError(
                    f"{own.told} has changed since the training began, and worker {number}, which "
                    "was lost, cannot go on without it; begin again"
                )
        if self._agreed is not None:
            self._names()

    def _prepare(self) -> None:
        """Bring workers that are new to where all others are in their learning."""
        self._reload()
        if self._numbering is not None:
            self._adopted()
        if self._observed:
            self._show()
        if self._begun is not None:
            self._begin()

    # Parameters --------------------------------------------------------------------------------

    def _show(self) -> None:
        """Exchange which labels features are seen with, and number these pairs."""
        assert self._numbering is not None
        team = self.team
        for family in self._families:
            width = widths_of(len(self.labels))[family]
            how = (family, len(self.labels), len(team))
            offers = team.ask("show", *how, parts=len(team))
            joined, answers = team.exchange(offers, "join")
            found = team.answers(joined)
            per_template = np.array([own for own, _ in found])
            numbering = replace(self._numbering, per_template=per_template)
            self._supports[family] = numbering, self._places(family, width, [b for _, b in found])
            team.answers(
                team.ask_each("place", [[family, width, numbering, *own] for own in answers])
            )

    def _places(self, family: str, width: int, bits: Sequence[Any]) -> Ints:
        """Which weights of a family's table are parameters, from the flags of each range."""
        assert self._numbering is not None
        numbering, number = self._numbering, FAMILIES.index(family)
        ends = np.cumsum(numbering.per_template, axis=1)
        found = [np.zeros(0, np.int64)]
        for template in np.flatnonzero(numbering.families == number):
            for k, rows in enumerate(bits):
                size = numbering.per_template[k, template]
                own = rows[ends[k, template] - size : ends[k, template]]
                flags = np.flatnonzero(np.unpackbits(own, axis=1, count=width))
                found.append(flags + numbering.first[k, template] * width)
        return np.concatenate(found)

    @property
    def _families(self) -> list[str]:
        assert self._numbering is not None
        return [f for k, f in enumerate(FAMILIES) if k == 0 or self._numbering.size(k)]

    def _layout(self, problem: ChainProblem, *, observed: bool, single: bool) -> LinearScorer:
        """What is known here of vectors; all workers take the same form of them."""
        assert self._numbering is not None
        if observed and not self._observed:
            self.team.repeat(self._show, self._prepare)
            self._observed = True
        widths = widths_of(problem.n_labels)
        counts = [self._numbering.size(k) for k in range(len(FAMILIES))]
        sizes = [count * widths[family] for count, family in zip(counts, FAMILIES, strict=True)]
        support = None
        if observed:
            places = {family: own for family, (_, own) in self._supports.items()}
            support = places[STATE], places.get(FAMILIES[1])
            sizes = [len(places[family]) if family in places else 0 for family in FAMILIES]
        form = (problem.n_labels, *sizes, problem.order, problem.boundaries)
        layout = ParameterLayout(observed, single, *form)
        data = Dataset(problem.data.rows, problem.data.offsets)
        bare = replace(problem, data=data, shards=None, initial_weights=None)
        self._begun = bare, layout
        self.team.repeat(self._begin, self._prepare)
        return packer(*counts, layout, support)

    def _begin(self) -> None:
        assert self._begun is not None
        self.team.answers(self.team.ask("begin", *self._begun))

    # Learning ----------------------------------------------------------------------------------

    def objective(self, problem: ChainProblem, *, observed: bool, single_precision: bool) -> Any:
        """The penalised loss of all shards."""
        scorer = self._layout(problem, observed=observed, single=single_precision)
        return DistributedObjective(self.team, scorer, problem.l2, self._prepare)

    def stochastic(self, problem: ChainProblem, **settings: Any) -> Any:
        """A learner by steps down the likelihood, mixed after each pass."""
        if settings.get("adaptive"):
            raise ParameterError(
                "solver='adagrad' keeps a rate for each weight, which workers of a cluster cannot "
                "mix; use solver='sgd' or solver='lbfgs'"
            )
        return self._mixed(MixedSteps, problem, settings)

    def margins(self, problem: ChainProblem, **settings: Any) -> Any:
        """A learner from mistakes, mixed after each pass."""
        if settings["update"] == "arow":
            raise ParameterError(
                "update='arow' keeps a variance for each weight, which workers of a cluster cannot "
                "mix; use update='perceptron' or update='pa'"
            )
        return self._mixed(MixedMargins, problem, settings)

    def _mixed(self, kind: type, problem: ChainProblem, settings: Mapping[str, Any]) -> Any:
        observed = bool(settings.get("observed"))
        settings = {k: v for k, v in settings.items() if k not in ("observed", "adaptive")}
        single = self._begun is not None and self._begun[1].single_precision
        scorer = self._layout(problem, observed=observed, single=single)
        initial = problem.initial_weights
        start = np.zeros(scorer.size) if initial is None else scorer.pack(initial)
        how = {**settings, "sequences": problem.n_sequences}
        return kind(self.team, scorer, start, how, self._prepare)


def common_scheme(facts: Sequence[ShardFacts]) -> str | None:
    """The scheme that the labels of all shards are in, or that they can be written in.

    One that has no label but O can be in any.
    """
    telling = [own for own in facts if not own.plain] or list(facts)
    schemes = [own.scheme for own in telling]
    if None in schemes or "bare" in schemes:
        if len(set(schemes)) == 1:
            return schemes[0]
        listed = ", ".join(f"{own.told} ({own.scheme or 'none'})" for own in telling)
        raise CorpusError(
            f"the shards' labels follow no common scheme: {listed}; name it (scheme=, --scheme)"
        )
    common = [name for name in PREFERENCE if all(name in own.schemes for own in telling)]
    return next(
        iter(common), next((own for own in schemes if own and not TABLE[own].merges), schemes[0])
    )


def check_shards(facts: Sequence[ShardFacts]) -> None:
    """Refuse shards of which one is empty, or has other columns than the others."""
    first = facts[0]
    for number, own in enumerate(facts):
        if not own.tokens:
            raise CorpusError(f"{few_documents(len(facts))}: worker {number} has nothing to read")
        if set(own.columns) != set(first.columns):
            raise CorpusError(
                f"worker {number} has read the columns {', '.join(own.columns)} ({own.told}), and "
                f"worker 0 {', '.join(first.columns)} ({first.told}); wanted the same in all: name "
                "them (--columns, columns=)"
            )


def few_documents(workers: int) -> str:
    """What is wrong where there is not something for each worker."""
    return f"the data have fewer documents than there are workers, {workers} (--workers); use fewer"
