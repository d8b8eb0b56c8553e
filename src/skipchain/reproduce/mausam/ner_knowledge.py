"""What knowledge and whole documents add to a tagger of names: Ratinov and Roth's components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.annotators.document import DocumentContext
from skipchain.annotators.phrase_lists import tokenized_lexicon
from skipchain.annotators.truecase import Truecase
from skipchain.annotators.words import ClusterColumn
from skipchain.arrays import Ints
from skipchain.corpus import Corpus
from skipchain.datasets.registry import data_folder, data_set
from skipchain.features import presets as sets
from skipchain.features.annotator import annotate, fit_annotators
from skipchain.io import read
from skipchain.metrics import entity_scores
from skipchain.metrics.bootstrap import f1_interval, significance_of_counts
from skipchain.metrics.evaluate import unit_counts
from skipchain.models.base.model import AnyModel
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.memm import MEMM
from skipchain.models.document.estimator import Factored
from skipchain.models.document.model import GIBBS, FactoredModel
from skipchain.models.graph.mop import MoPMEMM
from skipchain.models.stacking import StackedPredictions
from skipchain.nametagger.lookup import DictionaryTagger
from skipchain.parallel import Workers
from skipchain.reproduce.mausam.phrases import all_lists, illinois_lists, news_clusters
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer, mean_and_range
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import FAILS, HOLDS, Row, Table

NAME = "ner-knowledge"
DEV, TEST, CORRECTED = "testa", "testb", "testb, corrected"
SEEDS = (0, 1, 2, 3, 4)
FOLDS = 5

DICTIONARY = "dictionary only"
LOCAL = "local features"
CONTEXT, HISTORY, STAGES, NONLOCAL = (
    "local + document and context",
    "local + prediction history (MEMM, greedy)",
    "local + two stages",
    "local + all non-local",
)
GREEDY = "local (MEMM, greedy)"
LISTS, KNOWLEDGE = "local + lexicons", "local + lexicons and clusters"
ONE, ALL = "all features, one stage", "all features, two stages"
MIXTURE, BOTH = "all features, one stage, MoP-MEMM", "all features, two stages, MoP-MEMM"
CONSISTENT = "all features, one stage, consistency"
WITH_DEV = "all features, one stage, consistency, testa in training"

PUBLISHED: Mapping[str, tuple[float | None, float | None]] = {
    # (testb, testa)
    DICTIONARY: (71.91, None),
    LOCAL: (83.65, 89.25),
    CONTEXT: (85.40, 89.99),
    HISTORY: (85.57, 90.97),
    STAGES: (85.01, 89.97),
    NONLOCAL: (86.53, 90.69),
    LISTS: (87.22, None),
    KNOWLEDGE: (88.55, 92.49),
    ALL: (90.57, 93.50),
    WITH_DEV: (90.80, None),
}
BARS = {DICTIONARY: (71.9, None), **dict.fromkeys((ALL, CONSISTENT, MIXTURE, BOTH), (91.0, 95.0))}
GAIN = 2.5  # points that non-local features should add to local ones on testb

LOCAL_SET = sets.NER + "chunk?[-1..1]\npos?[-2..2]\nchunk? & pos?\n"


@dataclass(frozen=True, slots=True)
class FeatureSetting:
    """A row: the templates, whether a first model comes before, and with how many seeds."""

    text: str
    stages: bool = False
    seeds: int = 1


SETTINGS = {
    LOCAL: FeatureSetting(LOCAL_SET, seeds=5),
    CONTEXT: FeatureSetting(LOCAL_SET + sets.DOCUMENT),
    STAGES: FeatureSetting(LOCAL_SET + sets.STACKING, stages=True),
    NONLOCAL: FeatureSetting(LOCAL_SET + sets.DOCUMENT + sets.STACKING, stages=True, seeds=2),
    LISTS: FeatureSetting(LOCAL_SET + sets.LEXICON),
    KNOWLEDGE: FeatureSetting(LOCAL_SET + sets.LEXICON + sets.CLUSTERS),
    ONE: FeatureSetting(sets.PRESETS["ner-full"], seeds=5),
    ALL: FeatureSetting(sets.PRESETS["ner-full"], stages=True, seeds=5),
}

Parts = dict[str, Corpus]


def measure(run: Run) -> Table:
    """All rows: each configuration labels testb once a seed."""
    return _Measurement(run).table()


class _Measurement:
    """Corpora with the columns of knowledge, the rows so far, and the log of runs on testb."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rows: list[Row] = []
        self.log: list[str] = []
        self.clock = Timer()
        self.f1: dict[tuple[str, str], list[float]] = {}
        self.labelled: dict[tuple[str, str], list[Corpus]] = {}
        self.staged: list[Parts] = []
        self.systems: dict[str, list[DecodedModel]] = {}
        self.settings: dict[str, Any] = {"threads": run.threads}
        if run.quick:
            self.settings["epochs"] = 3
        self.folds = 2 if run.quick else FOLDS

    def table(self) -> Table:
        """The rows in the order of the published tables."""
        parts = self._read()
        self._look_up(parts)
        self._greedy(parts)
        for name, setting in SETTINGS.items():
            self._row(name, setting, parts)
        self._mixture(parts)
        self._consistent(parts)
        return Table(
            NAME,
            "Knowledge and whole documents in a tagger of names",
            "Ratinov and Roth (2009), as in Mausam's slides",
            tuple(self.rows),
            self._notes(parts),
            SEEDS[:1] if self.run.quick else SEEDS,
            self._conclusion(),
            (points([row for row in self.rows if row.metric == f"F1 {TEST}"], "F1 on testb"),),
            (
                "## Runs on testb\n\n"
                + "\n".join(f"{k}. {own}" for k, own in enumerate(self.log, 1)),
            ),
        )

    # Data --------------------------------------------------------------------------------------

    def _read(self) -> Parts:
        """Train, testa and testb, with the columns of lexicons, clusters and documents."""
        data = data_set("conll2003")
        parts = {name: data.read(name) for name in ("train", DEV, TEST)}
        corrected = read(
            data_folder() / "conll2003/conllpp_test.txt.gz", columns=data.files[TEST].columns
        )
        if self.run.quick:
            sizes = {"train": 60, DEV: 15, TEST: 15}
            parts = {
                name: own.take_documents(np.arange(sizes[name])) for name, own in parts.items()
            }
        self.corrected = corrected
        self.run.say(f"{NAME}: reading phrase lists and clusters")
        lists = illinois_lists() if self.run.quick else all_lists()
        if self.run.quick:
            lists = {name: own[:3000] for name, own in lists.items()}
        self.phrases = tokenized_lexicon(lists)
        clusters = news_clusters()
        counts = zip(clusters.words.tolist(), clusters.counts.tolist(), strict=True)
        truecase = Truecase.of(dict(counts))
        annotators = (self.phrases, ClusterColumn(clusters), DocumentContext(truecase=truecase))
        with self.clock("columns"):
            self.annotators, parts["train"] = fit_annotators(annotators, parts["train"])
            with Workers(self.run.threads) as workers:
                for name in (DEV, TEST):
                    parts[name] = annotate(self.annotators, parts[name], workers)
        return parts

    # Rows --------------------------------------------------------------------------------------

    def _score(
        self, name: str, part: str, corpus: Corpus, label: Callable[[Corpus], Corpus]
    ) -> None:
        """Label a part once, and keep the F1."""
        found = label(corpus)
        self.f1.setdefault((name, part), []).append(
            entity_scores(corpus.spans(), found.spans()).micro.f1
        )
        self.labelled.setdefault((name, part), []).append(found)
        if part == TEST:
            self.log.append(f"{name}: {self.f1[name, part][-1]:.2f}")
            if not self.run.quick:
                gold = self.corrected.spans()
                self.f1.setdefault((name, CORRECTED), []).append(
                    entity_scores(gold, found.spans()).micro.f1
                )

    def _add(self, name: str, verdict: str = "") -> None:
        """Rows of one configuration, all parts."""
        published = PUBLISHED.get(name, (None, None))
        for part, known in ((TEST, published[0]), (DEV, published[1]), (CORRECTED, None)):
            values = self.f1.get((name, part))
            if not values:
                continue
            mean, low, high = mean_and_range(values)
            told = verdict if part == DEV else ""
            if part != CORRECTED:
                bar = BARS.get(name, (None, None))[part == DEV]
                if bar is not None:
                    told = f"{HOLDS if mean >= bar else FAILS}: {bar:g} wanted. {told}".strip()
            if len(values) == 1 and part != CORRECTED and not self.run.quick:
                low, high = f1_interval(self._counts(name, part))
            self.rows.append(
                Row(
                    NAME,
                    name,
                    f"F1 {part}",
                    known,
                    mean,
                    low,
                    high,
                    self.clock.seconds(name) if part == TEST else 0.0,
                    told,
                )
            )

    def _look_up(self, parts: Parts) -> None:
        """Names by looking them up."""
        self.run.say(f"{NAME}: {DICTIONARY}")
        with self.clock(DICTIONARY):
            lookup = DictionaryTagger.fit(parts["train"], self.phrases)
            self._gold = {part: parts[part] for part in (DEV, TEST)}
            for part in (DEV, TEST):
                self._score(DICTIONARY, part, parts[part], lookup.label)
        self._add(DICTIONARY)

    def _greedy(self, parts: Parts) -> None:
        """A MEMM from left to right, without and with what it said before of a word."""
        for name, text in ((GREEDY, LOCAL_SET), (HISTORY, LOCAL_SET + "history(lower)\n")):
            self.run.say(f"{NAME}: {name}")
            with self.clock(name):
                model = MEMM(text, **self.settings).fit(parts["train"]).model_
                for part in (DEV, TEST):
                    self._score(
                        name, part, parts[part], self._labeller(DecodedModel(model, "greedy"))
                    )
            self._add(name)

    def _labeller(self, system: DecodedModel) -> Callable[[Corpus], Corpus]:
        return lambda corpus: system.label(corpus, self.run.threads)

    def _row(self, name: str, setting: FeatureSetting, parts: Parts) -> None:
        """A CRF, in one stage or two."""
        seeds = SEEDS[: 1 if self.run.quick else setting.seeds]
        self.systems[name] = []
        for seed in seeds:
            self.run.say(f"{NAME}: {name}, seed {seed}")
            with self.clock(name):
                own = self._staged(setting, parts, seed)
                if name == ALL:
                    self.staged.append(own)
                model = CRF(setting.text, seed=seed, **self.settings).fit(own["train"]).model_
                system = DecodedModel(model)
                self.systems[name].append(system)
                for part in (DEV, TEST):
                    self._score(name, part, own[part], self._labeller(system))
        self._add(name)

    def _staged(self, setting: FeatureSetting, parts: Parts, seed: int) -> Parts:
        """The corpora with what a first model says, where there is one."""
        if not setting.stages:
            return parts
        first = CRF(setting.text, seed=seed, **self.settings)
        annotators, train = fit_annotators(
            (StackedPredictions(first, self.folds, seed),), parts["train"]
        )
        with Workers(self.run.threads) as workers:
            tests = {part: annotate(annotators, parts[part], workers) for part in (DEV, TEST)}
        return {"train": train, **tests}

    def _mixture(self, parts: Parts) -> None:
        """The same features in a model of linked labels, in one stage and in two."""
        seeds = SEEDS[: len(self.systems[ONE])]
        for name, plain, given in ((MIXTURE, ONE, [parts] * len(seeds)), (BOTH, ALL, self.staged)):
            for seed, own in zip(seeds, given, strict=True):
                self.run.say(f"{NAME}: {name}, seed {seed}")
                with self.clock(name):
                    mixture = MoPMEMM(SETTINGS[plain].text, seed=seed, **self.settings)
                    label = self._labeller(DecodedModel(mixture.fit(own["train"]).model_))
                    for part in (DEV, TEST):
                        self._score(name, part, own[part], label)
            self._add(name, self._compare_on_dev(plain, name))

    def _consistent(self, parts: Parts) -> None:
        """Names keep their type: penalties are learnt once, and stand beside the CRF of each seed.

        And beside one that has learnt from testa, too.
        """
        self.run.say(f"{NAME}: {CONSISTENT}, penalties")
        crf = CRF(SETTINGS[ONE].text, **self.settings)
        with self.clock(CONSISTENT):
            own = Factored(crf, folds=self.folds, threads=self.run.threads)
            learnt = own.fit(parts["train"]).model_
            for system in self.systems[ONE]:
                for part in (DEV, TEST):
                    self._score(
                        CONSISTENT, part, parts[part], self._with_penalties(system.model, learnt)
                    )
        self._add(CONSISTENT, self._compare_on_dev(ONE, CONSISTENT))
        self.run.say(f"{NAME}: {WITH_DEV}")
        with self.clock(WITH_DEV):
            both = crf.fit(Corpus.concatenate([parts["train"], parts[DEV]])).model_
            self._score(WITH_DEV, TEST, parts[TEST], self._with_penalties(both, learnt))
        self._add(WITH_DEV)

    def _with_penalties(self, base: AnyModel, learnt: FactoredModel) -> Callable[[Corpus], Corpus]:
        """The penalties that were learnt, beside another CRF with the same features."""
        model = FactoredModel.from_chain(
            base, learnt.factors, learnt.candidate_limits, learnt.annealing
        )
        return self._labeller(DecodedModel(model, GIBBS))

    def _counts(self, name: str, part: str) -> Ints:
        """Gold, predicted and right names of each document, over all seeds. [D, 3]"""
        own = [unit_counts(self._gold[part], found) for found in self.labelled[name, part]]
        total: Ints = np.sum(own, axis=0)
        return total

    def _compare_on_dev(self, one: str, other: str) -> str:
        """How much better the second is on testa, and whether by chance."""
        gain = float(np.mean(self.f1[other, DEV])) - float(np.mean(self.f1[one, DEV]))
        found = significance_of_counts(self._counts(other, DEV), self._counts(one, DEV))
        good = gain > 0 and found.p_value < 0.05
        return f"{HOLDS if good else FAILS}: {gain:+.2f} on testa, p {found.p_value:.4f}"

    # What is said of it ------------------------------------------------------------------------

    def _notes(self, parts: Parts) -> tuple[str, ...]:
        return (
            f"Trained on {parts['train'].n_documents} documents. CRFs (bioes, stochastic steps "
            "with dropout) unless told; features as in the set 'ner-full', all from train and "
            "public lists. Nothing was chosen by testb; what was chosen was chosen on testa.",
            f"Lexicons: {self.phrases.description}; the list of persons of the published system is "
            "not "
            "among them. Clusters: BLLIP's 1,000, not those of Reuters text.",
            "low and high: of several seeds, or of 95 % of resamples of documents. p: how often "
            "chance alone makes a difference as large, by randomisation over documents, all seeds "
            "of a document together.",
            "two stages: the first model's predictions in training come from models that have not "
            f"seen the document ({self.folds} parts); both stages have the seed.",
            "consistency: Factored, 200 sweeps of Gibbs sampling. Penalties are learnt once, on "
            "parts of train, and stand beside the CRFs of all seeds.",
            "dictionary only: longest phrases of the lists and of training names; what a list "
            "stands for is counted in train.",
            "testb, corrected: the same labels scored against the test set of CrossWeigh.",
        )

    def _conclusion(self) -> str:
        def mean(name: str) -> float:
            return float(np.mean(self.f1[name, TEST]))

        gain = mean(NONLOCAL) - mean(LOCAL)
        return (
            f"Non-local features add {gain:+.2f} on testb ({GAIN:g} wanted: "
            f"{HOLDS if gain >= GAIN else FAILS}; published +2.88), knowledge "
            f"{mean(KNOWLEDGE) - mean(LOCAL):+.2f} (published +4.90); all features reach "
            f"{mean(ALL):.2f} in two stages (published 90.57), {mean(ONE):.2f} in one, and "
            f"{mean(CONSISTENT):.2f} in one with consistency; a mixture of parents with the same "
            f"features {mean(MIXTURE):.2f} and {mean(BOTH):.2f}."
        )
