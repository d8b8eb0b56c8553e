"""What knowledge and document context add to a tagger of names: Ratinov and Roth's components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skipchain import CRF, MEMM, Corpus, Factored, MoPMEMM
from skipchain.annotators.document import DocumentContext
from skipchain.annotators.phrase_lists import tokenized_lexicon
from skipchain.annotators.truecase import Truecase
from skipchain.annotators.words import ClusterColumn
from skipchain.arrays import Ints
from skipchain.datasets.registry import data_folder, data_set
from skipchain.features import presets
from skipchain.features.annotator import Annotator, annotate, fit_annotators
from skipchain.io import read
from skipchain.metrics import entity_scores
from skipchain.metrics.bootstrap import f1_interval, significance_of_counts
from skipchain.metrics.evaluation import unit_counts
from skipchain.models.base.model import AnyModel
from skipchain.models.document.model import GIBBS, FactoredModel
from skipchain.models.stacking import StackedPredictions
from skipchain.nametagger.lookup import DictionaryTagger
from skipchain.parallel import Workers
from skipchain.reproduce.mausam.phrases import all_lists, illinois_lists, news_clusters
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel
from skipchain.reproduce.table import P_VALUE, Row, Table, judge, of_metric

NAME = "ner-knowledge"
DEV, TEST, CORRECTED = "testa", "testb", "testb, corrected"
SEEDS = (0, 1, 2, 3, 4)
FOLDS = 5

DICTIONARY = "dictionary only"
LOCAL = "local features"
CONTEXT, HISTORY = "local + document and context", "local + prediction history (MEMM, greedy)"
STACKED, NONLOCAL = "local + stacking", "local + all non-local"
GREEDY = "local (MEMM, greedy)"
LISTS, KNOWLEDGE = "local + lexicons", "local + lexicons and clusters"
FULL, FULL_STACKED = "all features", "all features + stacking"
MIXTURE, MIXTURE_STACKED = "all features, MoP-MEMM", "all features + stacking, MoP-MEMM"
CONSISTENT = "all features, consistency"
WITH_DEV = "all features, consistency, testa in training"

PUBLISHED: Mapping[str, tuple[float | None, float | None]] = {
    # (testb, testa)
    DICTIONARY: (71.91, None),
    LOCAL: (83.65, 89.25),
    CONTEXT: (85.40, 89.99),
    HISTORY: (85.57, 90.97),
    STACKED: (85.01, 89.97),
    NONLOCAL: (86.53, 90.69),
    LISTS: (87.22, None),
    KNOWLEDGE: (88.55, 92.49),
    FULL_STACKED: (90.57, 93.50),
    WITH_DEV: (90.80, None),
}
TARGETS: Mapping[str, tuple[float | None, float | None]] = {
    DICTIONARY: (71.9, None),
    **dict.fromkeys((FULL_STACKED, CONSISTENT, MIXTURE, MIXTURE_STACKED), (91.0, 95.0)),
}
GAIN = 2.5  # points that non-local features should add to local ones on testb

BASE_SET = presets.NER + "chunk?[-1..1]\npos?[-2..2]\nchunk? & pos?\n"


@dataclass(frozen=True, slots=True)
class FeatureSetting:
    """A row: the templates, whether predictions are stacked, and the number of seeds."""

    templates: str
    stacked: bool = False
    seeds: int = 1


SETTINGS = {
    LOCAL: FeatureSetting(BASE_SET, seeds=5),
    CONTEXT: FeatureSetting(BASE_SET + presets.DOCUMENT),
    STACKED: FeatureSetting(BASE_SET + presets.STACKING, stacked=True),
    NONLOCAL: FeatureSetting(BASE_SET + presets.DOCUMENT + presets.STACKING, stacked=True, seeds=2),
    LISTS: FeatureSetting(BASE_SET + presets.LEXICON),
    KNOWLEDGE: FeatureSetting(BASE_SET + presets.LEXICON + presets.CLUSTERS),
    FULL: FeatureSetting(presets.PRESETS["ner-full"], seeds=5),
    FULL_STACKED: FeatureSetting(presets.PRESETS["ner-full"], stacked=True, seeds=5),
}

Parts = dict[str, Corpus]
Labeller = Callable[[Corpus], Corpus]


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
        self.stacked: list[Parts] = []
        self.systems: dict[str, list[DecodedModel]] = {}
        self.settings: dict[str, Any] = {"threads": run.threads}
        if run.quick:
            self.settings["epochs"] = 3
        self.folds = 2 if run.quick else FOLDS

    def table(self) -> Table:
        """The rows in the order of the published tables."""
        self.parts = self._read()
        self._measure_dictionary()
        self._measure_greedy()
        for name, setting in SETTINGS.items():
            self._measure_crf(name, setting)
        self._measure_mixtures()
        self._measure_consistency()
        log = "\n".join(f"{k}. {line}" for k, line in enumerate(self.log, 1))
        return Table(
            NAME,
            "Knowledge and document context in a tagger of names",
            "Ratinov and Roth (2009), as in Mausam's slides",
            self.rows,
            notes=self._notes(),
            seeds=SEEDS[:1] if self.run.quick else SEEDS,
            verdict=self._conclusion(),
            pictures=(points(of_metric(self.rows, f"F1 {TEST}"), "F1 on testb"),),
            sections=(f"## Runs on testb\n\n{log}",),
        )

    # Data --------------------------------------------------------------------------------------

    def _read(self) -> Parts:
        """Train, testa and testb, with the columns of lexicons, clusters and documents."""
        columns = data_set("conll2003").files[TEST].columns
        self.corrected = read(data_folder() / "conll2003/conllpp_test.txt.gz", columns=columns)
        train, *tests = self.run.read("conll2003", train=60, testa=15, testb=15)
        self.run.say(f"{NAME}: reading phrase lists and clusters")
        lists = illinois_lists() if self.run.quick else all_lists()
        if self.run.quick:
            lists = {name: phrases[:3000] for name, phrases in lists.items()}
        self.phrases = tokenized_lexicon(lists)
        clusters = news_clusters()
        counts = zip(clusters.words.tolist(), clusters.counts.tolist(), strict=True)
        context = DocumentContext(truecase=Truecase.of(dict(counts)))
        with self.clock("columns"):
            annotators = (self.phrases, ClusterColumn(clusters), context)
            return self._annotate(annotators, {"train": train, DEV: tests[0], TEST: tests[1]})

    def _annotate(self, annotators: Sequence[Annotator], parts: Parts) -> Parts:
        """The corpora with the columns of annotators that are fitted to the training part."""
        fitted, train = fit_annotators(annotators, parts["train"])
        with Workers(self.run.threads) as workers:
            tests = {part: annotate(fitted, parts[part], workers) for part in (DEV, TEST)}
        return {"train": train, **tests}

    # Rows --------------------------------------------------------------------------------------

    def _score(self, name: str, label: Labeller, parts: Parts, only: str | None = None) -> None:
        """Label testa and testb once (or ``only`` one of them), and keep the labels and the F1."""
        for part in (DEV, TEST) if only is None else (only,):
            labelled = label(parts[part])
            self.labelled.setdefault((name, part), []).append(labelled)
            self._keep_f1(name, part, parts[part], labelled)
            if part == TEST:
                self.log.append(f"{name}: {self.f1[name, part][-1]:.2f}")
                if not self.run.quick:
                    self._keep_f1(name, CORRECTED, self.corrected, labelled)

    def _keep_f1(self, name: str, part: str, gold: Corpus, labelled: Corpus) -> None:
        score = entity_scores(gold.spans(), labelled.spans()).micro
        self.f1.setdefault((name, part), []).append(score.f1)

    def _add_rows(self, name: str, verdict: str = "") -> None:
        """The rows of one configuration, all parts; ``verdict`` is that of testa."""
        published, targets = PUBLISHED.get(name, (None, None)), TARGETS.get(name, (None, None))
        for k, part in enumerate((TEST, DEV, CORRECTED)):
            values = self.f1.get((name, part))
            if not values:
                continue
            row = Row.of_runs(NAME, name, f"F1 {part}", (*published, None)[k], values)
            text, target = verdict if part == DEV else "", (*targets, None)[k]
            if target is not None:
                text = f"{judge(row.measured >= target, f'{target:g} wanted')}. {text}".strip()
            if len(values) == 1 and part != CORRECTED and not self.run.quick:
                low, high = f1_interval(self._counts(name, part))
                row = replace(row, low=low, high=high)
            seconds = self.clock.seconds(name) if part == TEST else 0.0
            self.rows.append(replace(row, seconds=seconds, verdict=text))

    def _measure_dictionary(self) -> None:
        """Names by dictionary lookup."""
        self.run.say(f"{NAME}: {DICTIONARY}")
        with self.clock(DICTIONARY):
            tagger = DictionaryTagger.fit(self.parts["train"], self.phrases)
            self._score(DICTIONARY, tagger.label, self.parts)
        self._add_rows(DICTIONARY)

    def _measure_greedy(self) -> None:
        """A MEMM from left to right, without and with its previous predictions for a word."""
        for name, text in ((GREEDY, BASE_SET), (HISTORY, BASE_SET + "history(lower)\n")):
            self.run.say(f"{NAME}: {name}")
            with self.clock(name):
                model = MEMM(text, **self.settings).fit(self.parts["train"]).model_
                self._score(name, self._labeller(DecodedModel(model, "greedy")), self.parts)
            self._add_rows(name)

    def _labeller(self, system: DecodedModel) -> Labeller:
        return lambda corpus: system.label(corpus, self.run.threads)

    def _measure_crf(self, name: str, setting: FeatureSetting) -> None:
        """A CRF, with or without the stacked predictions of another."""
        self.systems[name] = []
        for seed in SEEDS[: 1 if self.run.quick else setting.seeds]:
            self.run.say(f"{NAME}: {name}, seed {seed}")
            with self.clock(name):
                crf, parts = partial(CRF, setting.templates, seed=seed, **self.settings), self.parts
                if setting.stacked:
                    parts = self._annotate([StackedPredictions(crf(), self.folds, seed)], parts)
                if name == FULL_STACKED:
                    self.stacked.append(parts)
                system = DecodedModel(crf().fit(parts["train"]).model_)
                self.systems[name].append(system)
                self._score(name, self._labeller(system), parts)
        self._add_rows(name)

    def _measure_mixtures(self) -> None:
        """The same features in a mixture of parents, without and with stacking."""
        seeds = SEEDS[: len(self.systems[FULL])]
        plain = [self.parts] * len(seeds)
        pairs = ((MIXTURE, FULL, plain), (MIXTURE_STACKED, FULL_STACKED, self.stacked))
        for name, base, corpora in pairs:
            for seed, parts in zip(seeds, corpora, strict=True):
                self.run.say(f"{NAME}: {name}, seed {seed}")
                with self.clock(name):
                    mixture = MoPMEMM(SETTINGS[base].templates, seed=seed, **self.settings)
                    system = DecodedModel(mixture.fit(parts["train"]).model_)
                    self._score(name, self._labeller(system), parts)
            self._add_rows(name, self._compare_on_dev(base, name))

    def _measure_consistency(self) -> None:
        """Names keep their type: penalties are learnt once, and added to the CRF of each seed.

        They are also added to a CRF that was trained on testa, too.
        """
        self.run.say(f"{NAME}: {CONSISTENT}, penalties")
        crf, train = CRF(SETTINGS[FULL].templates, **self.settings), self.parts["train"]
        with self.clock(CONSISTENT):
            factored = Factored(crf, folds=self.folds, threads=self.run.threads).fit(train).model_
            for system in self.systems[FULL]:
                label = self._with_penalties(system.model, factored)
                self._score(CONSISTENT, label, self.parts)
        self._add_rows(CONSISTENT, self._compare_on_dev(FULL, CONSISTENT))
        self.run.say(f"{NAME}: {WITH_DEV}")
        with self.clock(WITH_DEV):
            base = crf.fit(Corpus.concatenate([train, self.parts[DEV]])).model_
            self._score(WITH_DEV, self._with_penalties(base, factored), self.parts, TEST)
        self._add_rows(WITH_DEV)

    def _with_penalties(self, base: AnyModel, learnt: FactoredModel) -> Labeller:
        """The penalties that were learnt, with another CRF of the same features."""
        limits, annealing = learnt.candidate_limits, learnt.annealing
        model = FactoredModel.from_chain(base, learnt.factors, limits, annealing)
        return self._labeller(DecodedModel(model, GIBBS))

    def _counts(self, name: str, part: str) -> Ints:
        """Gold, predicted and correct names of each document, over all seeds. [D, 3]"""
        gold = self.parts[part]
        runs = [unit_counts(gold, labelled) for labelled in self.labelled[name, part]]
        total: Ints = np.sum(runs, axis=0)
        return total

    def _compare_on_dev(self, base: str, name: str) -> str:
        """How much better a system is than another on testa, and whether by chance."""
        gain = float(np.mean(self.f1[name, DEV])) - float(np.mean(self.f1[base, DEV]))
        p = significance_of_counts(self._counts(name, DEV), self._counts(base, DEV)).p_value
        return judge(gain > 0 and p < 0.05, f"{gain:+.2f} on testa, p {p:.4f}")

    # Texts -------------------------------------------------------------------------------------

    def _notes(self) -> tuple[str, ...]:
        return (
            f"Trained on {self.parts['train'].n_documents} documents. By default CRFs (bioes, SGD "
            "with dropout); features as in the set 'ner-full', all from train and public lists. "
            "All choices were made on testa, none on testb.",
            f"Lexicons: {self.phrases.description}; the list of persons of the published system is "
            "not among them. Clusters: BLLIP's 1,000, not those of Reuters text.",
            "low and high: of several seeds, or of 95 % of resamples of documents. "
            f"{P_VALUE}, all seeds of a document together.",
            "stacking: predictions for the training documents come from models that have not seen "
            f"the document ({self.folds} folds); both CRFs have the same seed.",
            "consistency: Factored, 200 sweeps of Gibbs sampling. Penalties are learnt once, on "
            "folds of train, and added to the CRFs of all seeds.",
            "dictionary only: longest phrases of the lists and of training names; the type of a "
            "list is its most frequent one in train.",
            "testb, corrected: the same labels scored against the test set of CrossWeigh.",
        )

    def _conclusion(self) -> str:
        def mean(name: str) -> float:
            return float(np.mean(self.f1[name, TEST]))

        gain = mean(NONLOCAL) - mean(LOCAL)
        return (
            f"Non-local features add {gain:+.2f} on testb ({GAIN:g} wanted: "
            f"{judge(gain >= GAIN)}; published +2.88), knowledge "
            f"{mean(KNOWLEDGE) - mean(LOCAL):+.2f} (published +4.90); all features reach "
            f"{mean(FULL_STACKED):.2f} with stacking (published 90.57), {mean(FULL):.2f} without, "
            f"and {mean(CONSISTENT):.2f} with consistency; a mixture of parents with the same "
            f"features {mean(MIXTURE):.2f}, and {mean(MIXTURE_STACKED):.2f} with stacking."
        )
