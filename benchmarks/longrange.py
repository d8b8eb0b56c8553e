"""What long-range labels cost: marginals, joint training, and how time grows with the edges."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.features import TEMPLATES
from benchmarks.setting import in_turn, seconds
from skipchain import MEMM, Corpus, MoPMEMM
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.corpus import Column
from skipchain.corpus.schemes import convert
from skipchain.datasets.registry import data_set
from skipchain.edges import EdgeSet, Ordering, parse_rules
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.mixture_likelihood import MixtureLikelihood
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.pairs import LabelPairs
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture, matplotlib_available, png

EDGES = "previous, same_word"
SIZES = (10**4, 10**5, 10**6, 10**7)


def measure(report, setting):
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb")
    compare_marginals(report, setting, train, test)
    compare_objectives(report, setting, train)
    compare_pairs(report, setting, train)
    compare_sizes(report, setting)


def compare_marginals(report, setting, train, test):
    """Posterior decoding of a MEMM against the marginals of a mixture, from the same features."""
    few = {"encoding": "bioes", "epochs": 2}
    chain = MEMM(TEMPLATES, **few).fit(train).model_
    mixture = MoPMEMM(TEMPLATES, edges=EDGES, orderings="forward", **few).fit(train).model_
    with Workers() as workers:
        sequences, graph = chain.dataset(test, workers), mixture.dataset(test, workers)

        def posterior():
            return chain.decode(chain.score_dataset(sequences, workers), workers, "posterior")

        def exact():
            return mixture.decode(mixture.score_dataset(graph, workers), workers, "posterior")

        def whole(model):
            return model.decode(model.scores(test, workers), workers, "posterior")

        memm, mop = in_turn((posterior, exact), 3 * setting.repeat)
        report.within("marginals of testb from features, mixture against MEMM (s)", mop, memm, 1.5)
        memm, mop = in_turn((partial(whole, chain), partial(whole, mixture)), setting.repeat)
        report.within("words of testb to labels, mixture against MEMM (s)", mop, memm, 1.5)


def compare_objectives(report, setting, train):
    """Value and gradient: a mixture's marginal likelihood against a MEMM's conditional one."""
    _, rows = Vocabulary.fit(train, Templates.parse(TEMPLATES))
    labels = convert(train.labels, train.sentences, train.scheme, "bioes")
    size, codes = len(labels.values), labels.codes
    edge_set = EdgeSet.of(train, [rule.fit(train) for rule in parse_rules(EDGES)])
    graph = GraphDataset(rows, edge_set)
    child, parent = graph.edges_of_type("same_word")[0].endpoints(first_is_parent=True)
    edge_features = {"previous": None, "same_word": EdgeFeatures.fit(rows, child, parent)}
    graph = GraphDataset.of(rows, edge_set, edge_features)
    data = Dataset(rows, train.sentences, codes)
    with Workers() as workers:
        scorer = LinearScorer(
            data, size, observed=True, boundaries=True, workers=workers, single_precision=True
        )
        chain = ConditionalLikelihood(data, scorer, workers, local=True)
        joint = MixtureLikelihood(
            graph, codes, size, graph.dags([Ordering()]), workers, single_precision=True
        )
        rng = np.random.default_rng(0)
        passes = (
            partial(chain, rng.normal(0.0, 0.1, scorer.size)),
            partial(joint, rng.normal(0.0, 0.1, joint.size)),
        )
        memm, mop = in_turn(passes, setting.repeat)
    report.within("joint likelihood and gradient against a MEMM's (s)", mop, memm, 3.0)


def compare_pairs(report, setting, train):
    """Joint training, a pass: features of edges with two labels or types, and with the child's."""
    _, rows = Vocabulary.fit(train, Templates.parse(TEMPLATES))
    edge_set = EdgeSet.of(train, [rule.fit(train) for rule in parse_rules(EDGES)])
    ends = GraphDataset(rows, edge_set).endpoints("same_word")
    all_features = EdgeFeatures.fit(rows, *ends)
    no_features = EdgeFeatures(all_features.child[:0], all_features.parent[:0])
    plain = GraphDataset.of(rows, edge_set, {"previous": None, "same_word": all_features})
    single = {"previous": None, "same_word": no_features}
    paired = GraphDataset.of(rows, edge_set, single, {"same_word": all_features})
    for scheme, pairing in (("iob1", "label"), ("bioes", "type")):
        labels = convert(train.labels, train.sentences, train.scheme, scheme)
        pairs = LabelPairs.of(labels.values, pairing)
        with Workers() as workers:
            passes = []
            for data in (plain, paired):
                objective = MixtureLikelihood(
                    data, labels.codes, len(labels.values), data.dags([Ordering()]), workers,
                    single_precision=True, label_pairs=pairs,
                )  # fmt: skip
                vector = np.random.default_rng(0).normal(0.0, 0.1, objective.size)
                passes.append(partial(objective, vector))
            without, with_pairs = in_turn(passes, setting.repeat)
        what = f"joint likelihood and gradient with '{pairing} & *' on edges, {scheme} (s)"
        report.within(what, with_pairs, without, 1.5)


def compare_sizes(report, setting):
    """Marginals of synthetic documents with four edges a token, from 10⁴ to 10⁷ edges."""
    spent = {}
    for size in SIZES:
        model, corpus = synthetic(size // 4)
        with Workers() as workers:
            graph = model.dataset(corpus, workers)
            edges = graph.dags(model.orderings)[0].n_edges
            spent[edges] = seconds(partial(sweep, model, graph, workers), 3)
        report.console.print(f"{edges:,} edges: {spent[edges]:.4f} s")
    (few, short), (many, long) = list(spent.items())[1], list(spent.items())[-1]
    report.within("ns an edge, 10⁷ edges against 10⁵", 1e9 * long / many, 1e9 * short / few, 1.5)
    if setting.pictures is not None and matplotlib_available():
        picture = growth_picture(spent)
        (setting.pictures / f"{picture.name}.png").write_bytes(png(picture))


def sweep(model, graph, workers):
    """The marginals of all tokens."""
    return model.marginals(model.score_dataset(graph, workers), workers)


def synthetic(tokens, labels=9, size=2000):
    """A model with random weights, and documents in which words recur."""
    rng = np.random.default_rng(0)
    words = tuple(f"Word{k}" for k in range(100))
    codes = rng.integers(0, len(words), tokens).astype(np.int32)
    sentences = np.append(np.arange(0, tokens, 20), tokens)
    documents = np.append(np.arange(0, len(sentences) - 1, size // 20), len(sentences) - 1)
    corpus = Corpus({"word": Column(codes, words)}, sentences, documents)
    features, _ = Vocabulary.fit(corpus, Templates.parse("word"))
    rules = parse_rules("previous, same_word(recent=3)")

    def weights(features):
        zeros = Weights.zeros(features, 0, labels)
        return Weights.views(rng.normal(size=len(zeros.vector)), features, 0, labels)

    every = np.arange(features.n_features, dtype=np.int32)
    edge_models = {
        "previous": EdgeModel(weights(len(every))),
        "same_word": EdgeModel(weights(2 * len(every)), EdgeFeatures(every, every)),
    }
    names = tuple(map(str, range(labels)))
    return GraphModel("mop-memm", names, features, rules, edge_models), corpus


def growth_picture(spent):
    """Seconds over edges, on logarithmic axes; ``spent`` has the seconds by number of edges."""

    def draw(figure):
        panel = figure.subplots()
        edges, measured = np.array(list(spent)), np.array(list(spent.values()))
        panel.loglog(edges, measured, "o-", label="measured")
        panel.loglog(edges, measured[-1] * edges / edges[-1], ":", color="0.5", label="linear")
        panel.set_xlabel("edges")
        panel.set_ylabel("seconds for exact marginals")
        panel.grid(alpha=0.3)
        panel.legend()

    return Picture("growth", "Exact marginals take time in proportion to the edges.", draw)
