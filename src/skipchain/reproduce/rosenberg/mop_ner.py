"""Mixtures of parents on names: Figure 2 of Rosenberg, Klein and Taskar, and extensions.

The systems of the paper have the same features, the same encoding and the same penalty, and are
trained by L-BFGS until it converges; mixtures are its own: one ordering from the first token to the
last, equal mixing weights, features of skip edges that go with the labels of both ends, each label
by its marginal. The test set of the paper is CoNLL-2003's testa. Below them stand mixtures that
differ in one thing, and systems of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain import CRF, MEMM, Corpus, MoPMEMM, SkipChainCRF
from skipchain.chains.from_marginals import POSTERIOR
from skipchain.features.presets import PRESETS, one_a_line
from skipchain.features.templates import Templates
from skipchain.metrics import Evaluation, evaluate, significance
from skipchain.models.graph.model import GraphModel
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture
from skipchain.reproduce.plots import points
from skipchain.reproduce.run import Run, Timer
from skipchain.reproduce.system import DecodedModel, consistency_row
from skipchain.reproduce.table import P_VALUE, Row, Table, judge, measured_by_system, of_metric

NAME = "mop-ner"
FEATURES = one_a_line(
    """
    word[-2..2]  lower[-1..1]
    prefix(1)  prefix(2)  prefix(3)  prefix(4)  suffix(1)  suffix(2)  suffix(3)  suffix(4)
    shape[-2..2]  shortshape[-2..2]  pos[-2..2]  pos[-1] & pos  pos & pos[1]
    shortshape[-1] & shortshape  shortshape & shortshape[1]
    shortshape[-1] & shortshape & shortshape[1]
    lower[-1] & shortshape  shortshape & lower[1]
    bag(lower, -4..-1)  bag(lower, 1..4)
    """
)
CHAIN_PAIRS = FEATURES + Templates.parse(FEATURES).dependent().text + "\n"
LABEL_PAIRS, TYPE_PAIRS = "edge: *\nedge: label & *", "edge: *\nedge: type & *"
ENCODING, L2 = "iob1", 0.02
EDGES = "previous, same_word(recent=5)"
OUR_FEATURES = "ner"
SETS = ("testa", "testb")
TENNIS, PLAYER, PERSON, PLACE = 14, "Washington", "PER", "LOC"  # the 15th document

VITERBI, POSTERIOR_MEMM = "MEMM, Viterbi", "MEMM, posterior"
SEPARATE, JOINT = "mixture, separate", "mixture, joint"
LINEAR, SKIP = "CRF, linear chain", "CRF, skip chain"
OUR_CRF, OUR_MEMM = "ours: CRF", "ours: MEMM, averaged"
OUR_MIXTURE, OUR_GATE = "ours: mixture, averaged", "ours: mixture, averaged, gate"
OUR_SKIP = "ours: CRF, skip chain, piecewise"
PUBLISHED: Mapping[str, tuple[float, float | None, float | None]] = {
    VITERBI: (89.8, 9.0, 11.4),
    POSTERIOR_MEMM: (89.9, 9.2, 10.9),
    SEPARATE: (90.5, 8.7, 10.3),
    JOINT: (90.9, 8.5, 9.8),
    LINEAR: (90.6, 8.5, 10.3),
    SKIP: (91.2, None, None),
}
"""F1, and the shares of predicted names that are wrong and of gold names that are missed (%)."""
IMPROVEMENTS: Mapping[str, tuple[float, float]] = {
    VITERBI: (2.2, -4.6),
    SEPARATE: (5.4, 5.5),
    JOINT: (7.6, 10.1),
    LINEAR: (7.6, 5.5),
}
"""By how many percent both shares are smaller than those of the MEMM with posterior decoding."""
WITHOUT_PAIRS, BY_TYPE = "child's label only", "pairs of types"
IN_CHAINS = "label pairs in chains"
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    WITHOUT_PAIRS: {"edge": ""},
    BY_TYPE: {"edge": TYPE_PAIRS},
    "iob2": {"encoding": "iob2"},
    f"iob2, {BY_TYPE}": {"encoding": "iob2", "edge": TYPE_PAIRS},
    "features of ours": {"features": OUR_FEATURES},
    IN_CHAINS: {"features": CHAIN_PAIRS},
}
"""What is changed in the paper's mixtures, one thing at a time."""
BASELINES = {
    SEPARATE: POSTERIOR_MEMM,
    JOINT: SEPARATE,
    SKIP: LINEAR,
    OUR_MIXTURE: OUR_MEMM,
    OUR_GATE: OUR_MIXTURE,
    OUR_SKIP: OUR_CRF,
} | {f"{JOINT}, {change}": f"{SEPARATE}, {change}" for change in DIFFERENCES}
BASELINES |= {f"{SEPARATE}, {IN_CHAINS}": f"{POSTERIOR_MEMM}, {IN_CHAINS}"}
"""The system that each is expected to beat, by the paper or by reason."""
OURS = (OUR_MIXTURE, OUR_GATE, OUR_SKIP)
"""Systems whose difference from the linear-chain CRFs is tested for significance."""

Corpora = Mapping[str, Corpus]
Labelled = Mapping[str, Corpora]
Scores = Mapping[str, Mapping[str, Evaluation]]


def measure(run: Run) -> Table:
    """Train every system once, and score it on both test sets."""
    train, *both = run.read("conll2003", train=160, testa=50, testb=50)
    tests = dict(zip(SETS, both, strict=True))
    clock = Timer()
    systems = _published_systems(run, train, clock) | _our_systems(run, train, clock)
    labelled: dict[str, dict[str, Corpus]] = {}
    run.plan(len(systems))
    for name, system in systems.items():
        run.say(f"{NAME}: labels by {name}")
        with clock(name):
            labelled[name] = {part: system.label(test, run.threads) for part, test in tests.items()}
    scores = {
        name: {part: evaluate(tests[part], by_part[part], intervals=True) for part in SETS}
        for name, by_part in labelled.items()
    }
    rows = _f1_rows(tests, labelled, scores, clock)
    tennis, note, picture = _tennis(systems, tests["testa"], run)
    consistent = (VITERBI, JOINT, LINEAR, SKIP, OUR_CRF, *OURS)
    metric = "consistency, testb"
    same = [consistency_row(NAME, name, metric, scores[name]["testb"]) for name in consistent]
    return Table(
        NAME,
        "Mixture-of-parents MEMM: names",
        "Rosenberg, Klein and Taskar (2007), Figure 2 and section 5.1.1",
        (*rows, *_error_rows(scores), *same, *tennis),
        notes=(
            "The first six systems are the paper's, as far as it says: words, affixes, shapes, "
            "parts of speech and bags of words (the paper's own features, Sutton and McCallum's, "
            f"use lists of names that are not available); encoding {ENCODING}, that of the data; "
            f"l2 = {L2}; L-BFGS; edges {EDGES!r}. Mixtures: one ordering, from the first token to "
            "the last, equal mixing weights, 'edge: *' and 'edge: label & *' (all features of both "
            "ends, with the child's label and with the labels of both; the paper's are those of "
            "the local edges at both ends), each label by its marginal. "
            f"{train.n_documents} training documents.",
            "Below them, mixtures with one thing changed: features of skip edges that go with the "
            "child's label alone, or with pairs of types in place of pairs of labels; iob2; our "
            f"features ({OUR_FEATURES!r}); and MEMM, mixtures and CRF whose chains have all "
            "features with two labels, too ('label[-1] & …'); in the others only skip edges have.",
            f"ours: features {OUR_FEATURES!r}, encoding bioes, stochastic steps with dropout for "
            "chains. averaged: the mean of the marginals forward and backward, decoded under the "
            "scheme's transitions. gate: learned mixing weights, from folds of the training data "
            "that were labelled by models trained on the others. piecewise: chains and pairs are "
            "trained separately, pairs given the chain's marginals of their ends.",
            f"low and high: 95 % bootstrap interval over documents. {P_VALUE}.",
            "The penalty of the paper's systems was chosen on the last third of the training data "
            "by a model of the others; the features, the encoding, the form of the edges and the "
            "inputs of the gate on such thirds and on testa, and nothing on testb.",
            note,
        ),
        verdict=_conclusion(rows),
        pictures=(points(of_metric(rows, "F1 testa"), "F1 on testa"), picture),
    )


class _Trainer:
    """Fits systems by name, and keeps the time."""

    def __init__(self, run: Run, train: Corpus, clock: Timer) -> None:
        self._run, self._train, self._clock = run, train, clock

    def __call__(self, name: str, estimator: Any) -> Any:
        self._run.say(f"{NAME}: training {name}")
        with self._clock(name):
            return estimator.fit(self._train).model_


def _published_systems(run: Run, train: Corpus, clock: Timer) -> dict[str, DecodedModel]:
    """The systems of Figure 2, and its mixtures with one thing changed."""
    fit = _Trainer(run, train, clock)
    settings: dict[str, Any] = {"encoding": ENCODING, "solver": "lbfgs", "l2": L2, "passes": 0}
    settings["threads"] = run.threads
    if run.quick:
        settings["max_iterations"] = 25
    memm = fit(VITERBI, MEMM(FEATURES, **settings))

    def mixture(
        objective: str, features: str = FEATURES, edge: str = LABEL_PAIRS, encoding: str = ENCODING
    ) -> MoPMEMM:
        text = f"{PRESETS.get(features, features)}\n{edge}"
        how = {**settings, "encoding": encoding, "objective": objective}
        return MoPMEMM(text, edges=EDGES, orderings="forward", **how)

    def both(changes: Mapping[str, str], note: str = "") -> dict[str, DecodedModel]:
        objectives = {SEPARATE + note: "conditional", JOINT + note: "marginal"}
        return {
            name: DecodedModel(fit(name, mixture(objective, **changes)), POSTERIOR)
            for name, objective in objectives.items()
        }

    systems = {VITERBI: DecodedModel(memm), POSTERIOR_MEMM: DecodedModel(memm, POSTERIOR)}
    systems |= both({})
    systems[LINEAR] = DecodedModel(fit(LINEAR, CRF(FEATURES, **settings)))
    skip = SkipChainCRF(FEATURES, edges=EDGES, objective="joint", **settings)
    systems[SKIP] = DecodedModel(fit(SKIP, skip))
    for note, changes in DIFFERENCES.items():
        systems |= both(changes, f", {note}")
    for name, estimator, decoder in (
        (f"{POSTERIOR_MEMM}, {IN_CHAINS}", MEMM, POSTERIOR),
        (f"{LINEAR}, {IN_CHAINS}", CRF, None),
    ):
        systems[name] = DecodedModel(fit(name, estimator(CHAIN_PAIRS, **settings)), decoder)
    return systems


def _our_systems(run: Run, train: Corpus, clock: Timer) -> dict[str, DecodedModel]:
    """Chains and mixtures at their best."""
    fit = _Trainer(run, train, clock)
    settings: dict[str, Any] = {"threads": run.threads}
    if run.quick:
        settings["epochs"] = 10
    folds = 2 if run.quick else 3
    crf = fit(OUR_CRF, CRF(OUR_FEATURES, **settings))
    skip = fit(OUR_SKIP, SkipChainCRF(OUR_FEATURES, objective="piecewise", **settings))
    gated = fit(OUR_GATE, MoPMEMM(OUR_FEATURES, mixing="learned", folds=folds, **settings))
    uniform = replace(gated, gate=None)
    return {
        OUR_CRF: DecodedModel(crf),
        OUR_MEMM: DecodedModel(without_skip_edges(uniform)),
        OUR_MIXTURE: DecodedModel(uniform),
        OUR_GATE: DecodedModel(gated),
        OUR_SKIP: DecodedModel(skip),
    }


def without_skip_edges(model: GraphModel) -> GraphModel:
    """The chains of a model alone."""
    chains = tuple(rule for rule in model.rules if rule.is_chain)
    types = {edge_type for rule in chains for edge_type in rule.edge_types}
    edge_models = {name: edges for name, edges in model.edge_models.items() if name in types}
    return replace(model, rules=chains, edge_models=edge_models)


def _f1_rows(tests: Corpora, labelled: Labelled, scores: Scores, clock: Timer) -> list[Row]:
    rows = []
    for part in SETS:
        f1 = {name: by_part[part].f1 for name, by_part in scores.items()}
        for name, by_part in scores.items():
            published = PUBLISHED[name][0] if part == "testa" and name in PUBLISHED else None
            low, high = by_part[part].interval or (None, None)
            verdicts = []
            if name in BASELINES:
                gain = f1[name] - f1[BASELINES[name]]
                verdicts.append(judge(gain >= 0.0, f"{gain:+.2f} on {BASELINES[name]}"))
            for crf in (LINEAR, OUR_CRF) if name in OURS else ():
                test = significance(tests[part], labelled[name][part], labelled[crf][part])
                verdicts.append(f"{test.difference:+.2f} on {crf}, p {test.p_value:.4f}")
            row = Row(NAME, name, f"F1 {part}", published, f1[name], low=low, high=high)
            rows.append(replace(row, seconds=clock.seconds(name), verdict="; ".join(verdicts)))
    return rows


def _error_rows(scores: Scores) -> list[Row]:
    rows = []
    for name, (_, wrong, missed) in PUBLISHED.items():
        score = scores[name]["testa"].micro
        rows.append(Row(NAME, name, "% wrong, testa", wrong, 100.0 - score.precision))
        rows.append(Row(NAME, name, "% missed, testa", missed, 100.0 - score.recall))
    base = scores[POSTERIOR_MEMM]["testa"].micro
    for name in PUBLISHED:
        score, published = scores[name]["testa"].micro, IMPROVEMENTS.get(name, (None, None))
        for what, own, other, figure in (
            ("wrong", score.precision, base.precision, published[0]),
            ("missed", score.recall, base.recall, published[1]),
        ):
            fewer = 100.0 * (1.0 - (100.0 - own) / max(100.0 - other, 1e-9))
            rows.append(Row(NAME, name, f"% improvement, {what}, testa", figure, fewer))
    return rows


def _tennis(
    systems: Mapping[str, DecodedModel], testa: Corpus, run: Run
) -> tuple[list[Row], str, Picture]:
    """The document about a tennis player called Washington, occurrence by occurrence."""
    document = testa.document(TENNIS)
    places = [k for k, word in enumerate(document.words.tolist()) if word == PLAYER]
    published = {POSTERIOR_MEMM: 2.0, SEPARATE: 6.0}
    metric = f"{PLAYER} right, of {len(places)}"
    rows, texts = [], []
    probabilities: dict[str, dict[str, list[float]]] = {}
    for name in (POSTERIOR_MEMM, SEPARATE, JOINT, OUR_GATE):
        model = systems[name].model
        with Workers(run.threads) as workers:
            marginals = model.marginals(model.scores(document, workers), workers)[places]
        types = np.array([label.partition("-")[2] for label in model.labels])
        sums = {kind: marginals[:, types == kind].sum(axis=1) for kind in (PERSON, PLACE)}
        probabilities[name] = {kind: p.tolist() for kind, p in sums.items()}
        correct = int((types[marginals.argmax(axis=1)] == PERSON).sum())
        rows.append(Row(NAME, name, metric, published.get(name), correct))
        texts.append(f"{name}: {', '.join(f'{p:.2f}' for p in probabilities[name][PERSON])}")
    note = (
        f"{PLAYER} in document {TENNIS + 1} of testa ({len(places)} times, tokens "
        f"{', '.join(map(str, places))}; the paper counts 7): p(person) by {'; '.join(texts)}."
    )

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(probabilities), sharey=True)
        for panel, (name, p) in zip(panels, probabilities.items(), strict=True):
            at = np.arange(len(places))
            panel.bar(at - 0.2, p[PERSON], 0.4, label="person", color="tab:blue")
            panel.bar(at + 0.2, p[PLACE], 0.4, label="place", color="0.75")
            panel.set_xticks(at, [str(place) for place in places], rotation=90)
            panel.set_title(name.replace(", averaged", ",\naveraged"), fontsize="small")
            panel.set_xlabel(f"token {PLAYER}")
        panels[0].set_ylabel("probability")
        panels[0].set_ylim(0.0, 1.2)
        panels[0].legend(loc="upper center", ncols=2)

    caption = f"Every {PLAYER} of one document: MEMM and mixtures."
    return rows, note, Picture("tennis", caption, draw, (11.0, 4.0))


def _conclusion(rows: list[Row]) -> str:
    """The order of Figure 2 and its gains, and what our best system gains on the CRFs."""
    f1 = {part: measured_by_system(rows, f"F1 {part}") for part in SETS}
    best = max(OURS, key=f1["testa"].__getitem__)

    def gain(name: str, baseline: str) -> str:
        return " and ".join(
            f"{f1[part][name] - f1[part][baseline]:+.2f} on {part}" for part in SETS
        )

    ordered = f1["testa"][POSTERIOR_MEMM] < f1["testa"][SEPARATE] <= f1["testa"][JOINT]
    return (
        f"The published order (MEMM, separate, joint) {judge(ordered)} on testa: separate training "
        f"gains {gain(SEPARATE, POSTERIOR_MEMM)}, joint training {gain(JOINT, SEPARATE)} more. The "
        f"best of ours on testa, {best.removeprefix('ours: ')}, gains on the table's CRF "
        f"{gain(best, LINEAR)}, and on our CRF {gain(best, OUR_CRF)}."
    )
