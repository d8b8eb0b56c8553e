"""What long-range labels cost: marginals, joint training, and how time grows with the edges."""

from __future__ import annotations

from functools import partial
from pathlib import Path

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
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture, matplotlib_available, png

EDGES = "previous, same_word"
SIZES = (10**4, 10**5, 10**6, 10**7)
IMAGE = Path(__file__).parent.parent / "docs" / "images" / "growth.png"


def measure(report, setting):
    data = data_set("conll2003")
    train, test = data.read("train"), data.read("testb")
    compare_marginals(report, setting, train, test)
    compare_objectives(report, setting, train)
    compare_sizes(report, setting)


def compare_marginals(report, setting, train, test):
    """Posterior decoding of a MEMM beside the marginals of a mixture, from the same features."""
    few = {"encoding": "bioes", "epochs": 2}
    chain = MEMM(TEMPLATES, **few).fit(train).model_
    mixture = MoPMEMM(TEMPLATES, edges=EDGES, orderings="forward", **few).fit(train).model_
    with Workers() as workers:
        encoded, linked = chain.dataset(test, workers), mixture.dataset(test, workers)

        def posterior():
            return chain.decode(chain.score_dataset(encoded, workers), workers, "posterior")

        def exact():
            return mixture.decode(mixture.score_dataset(linked, workers), workers, "posterior")

        def whole(model):
            return model.decode(model.scores(test, workers), workers, "posterior")

        base, own = in_turn((posterior, exact), 3 * setting.repeat)
        report.within("marginals of testb from features, mixture beside MEMM (s)", own, base, 1.5)
        base, own = in_turn((partial(whole, chain), partial(whole, mixture)), setting.repeat)
        report.within("words of testb to labels, mixture beside MEMM (s)", own, base, 1.5)


def compare_objectives(report, setting, train):
    """One value and gradient: the mixture's marginal likelihood beside a MEMM's conditional one."""
    _, rows = Vocabulary.fit(train, Templates.parse(TEMPLATES))
    labels = convert(train.labels, train.sentences, train.scheme, "bioes")
    size, codes = len(labels.values), labels.codes
    relations = EdgeSet.of(train, [rule.fit(train) for rule in parse_rules(EDGES)])
    linked = GraphDataset(rows, relations)
    child, parent = linked.edges_of_type("same_word")[0].endpoints(first_is_parent=True)
    ends = {"previous": None, "same_word": EdgeFeatures.fit(rows, child, parent)}
    linked = GraphDataset.of(rows, relations, ends)
    data = Dataset(rows, train.sentences, codes)
    with Workers() as workers:
        scorer = LinearScorer(
            data, size, observed=True, boundaries=True, workers=workers, single_precision=True
        )
        chain = ConditionalLikelihood(data, scorer, workers, local=True)
        joint = MixtureLikelihood(
            linked, codes, size, linked.dags([Ordering()]), workers, single_precision=True
        )
        rng = np.random.default_rng(0)
        vectors = [rng.normal(0.0, 0.1, own.size) for own in (scorer, joint)]
        base, own = in_turn(
            (partial(chain, vectors[0]), partial(joint, vectors[1])), setting.repeat
        )
    report.within("joint likelihood and gradient beside a MEMM's (s)", own, base, 3.0)


def compare_sizes(report, setting):
    """Marginals of made-up documents with four edges a token, from 10⁴ to 10⁷ edges."""
    found = {}
    for size in SIZES:
        model, corpus = made_up(size // 4)
        with Workers() as workers:
            linked = model.dataset(corpus, workers)
            edges = linked.dags(model.orderings)[0].n_edges
            found[edges] = seconds(partial(model.score_dataset, linked, workers), 3)
        report.console.print(f"{edges:,} edges: {found[edges]:.4f} s")
    (few, short), (many, long) = list(found.items())[1], list(found.items())[-1]
    report.within("ns an edge, 10⁷ edges beside 10⁵", 1e9 * long / many, 1e9 * short / few, 1.5)
    if matplotlib_available():
        IMAGE.write_bytes(png(growth_picture(found)))


def made_up(tokens, labels=9, size=2000):
    """A model with random weights, and documents in which words come again and again."""
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


def growth_picture(found):
    """Seconds over edges, both as logarithms."""

    def draw(figure):
        panel = figure.subplots()
        edges, spent = np.array(list(found)), np.array(list(found.values()))
        panel.loglog(edges, spent, "o-", label="measured")
        panel.loglog(edges, spent[-1] * edges / edges[-1], ":", color="0.5", label="linear")
        panel.set_xlabel("edges")
        panel.set_ylabel("seconds for exact marginals")
        panel.grid(alpha=0.3)
        panel.legend()

    return Picture("growth", "Exact marginals take time in proportion to the edges.", draw)
