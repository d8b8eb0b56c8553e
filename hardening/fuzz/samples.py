"""Sample models of every form and kind: small but real, trained anew when an attack begins."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from skipchain import CRF, MEMM, Corpus, MaxEnt, Templates
from skipchain.annotators.document import DocumentContext
from skipchain.annotators.lexicon import Lexicon
from skipchain.annotators.words import ClusterColumn, VectorColumn
from skipchain.modelfile import save
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.document.estimator import Factored
from skipchain.models.registry import make_estimator
from skipchain.models.stacking import StackedPredictions
from skipchain.resources.clusters import Clusters
from skipchain.resources.vectors import Vectors

ENDING = ".skip"
SAMPLED = {"epochs": 2, "burn_in": 3, "samples": 4}
RICH = (
    'word[-1..1]\nngrams(2, 3)\nshape[-1] & shape\nbag(lower, -2..-1)\nmatch("^[A-Z]")\n'
    'find("[a-z]+")\nsuffix(lower, 2)\npos\nlabel[-1] & shortshape\nlabel[-1] & pos'
)
NUMERIC = "word\nvalue(size)\nvalue(size, raw)[-1]\nvector(place)[0..1]\nlabel[-1] & value(size)"
KNOWLEDGE = (
    "word\nitems(lexicon)\nprefix(brown, 2)\nvector(embedding)\nzone\nitems(occurrence)\n"
    "items(context?)"
)
FACTORS = "last_word(PER); consistency; forbidden(PER, LOC); agreement(LOC, lower)"
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "crf": ("crf", RICH, {"encoding": "bioes"}),
    "crf, numbers": ("crf", NUMERIC, {}),
    "crf, order 2": ("crf", "word\nsuffix(2)\nlabel[-1] & shape", {"order": 2}),
    "crf, dictionary": ("crf", "word\nlower[1]", {"dictionary": 2}),
    "crf, order 2, dictionary": ("crf", "word", {"order": 2, "dictionary": 2}),
    "crf, no scheme": ("crf", "word\nshape", {"encoding": None}),
    "crf, training constraints": ("crf", "word", {"constraints": "training"}),
    "memm": ("memm", "word\nshape[-1..1]\nlabel[-1] & word", {}),
    "memm, order 2": ("memm", "word\nshape", {"order": 2}),
    "memm, order 3": ("memm", "word\nshape", {"order": 3}),
    "memm, order 5": ("memm", "word", {"order": 5}),
    "memm, history": ("memm", "word\nshape\nhistory(lower)", {}),
    "memm, order 2, history": ("memm", "word\nhistory(suffix(2), 50)", {"order": 2}),
    "maxent, history": ("maxent", "word\nhistory(lower, 20)", {}),
    "maxent": ("maxent", "word[-1..1]\nshape", {}),
    "perceptron": ("perceptron", "word\nshape[-1..1]", {}),
    "perceptron, order 2": ("perceptron", "word\nshape", {"order": 2}),
    "hmm": ("hmm", "word", {}),
    "hmm, features": ("hmm", "word\nshape", {"emissions": "features"}),
    "mop-memm": ("mop-memm", "word\nshape", {"edges": "previous, same_word"}),
    "mop-memm, gate": ("mop-memm", "word", {"mixing": "learned", "folds": 2}),
    "mop-memm, many rules": (
        "mop-memm",
        "word[-1..1]",
        {"edges": "previous, same(suffix(2), max_documents=2, recent=3), siblings(most=4), alone"},
    ),
    "mop-memm, orderings": (
        "mop-memm",
        "word",
        {"edges": "same_word, alone", "orderings": "forward, backward, random(2)", "seed": 3},
    ),
    "mop-memm, edge templates": (
        "mop-memm",
        "word[-1..0]\nlabel[-1] & shape\nedge: word\nedge: label & *\nedge: label & same(word[1])",
        {},
    ),
    "mop-memm, pairs of types": (
        "mop-memm",
        "word\nshape\nedge: shape\nedge: type & word\nedge: same(word[-1])",
        {"mixing": "learned", "folds": 2},
    ),
    "skip-chain-crf": ("skip-chain-crf", "word\nshape", {}),
    "skip-chain-crf, agreement": (
        "skip-chain-crf",
        "word",
        {"edges": "same(lower)", "agreement": True, "objective": "joint"},
    ),
    "iohmm": ("iohmm", "word\nshape", {"states": 3, "restarts": 1, "em": 2}),
    "hrf": ("hrf", "word", {"states": 3, "restarts": 1, "em": 2}),
    "rbm-crf": ("rbm-crf", "word\nshape", {"groups": "2:0..1; 2:0..2", **SAMPLED}),
    "rbm-crf, conditioned": ("rbm-crf", "word", {"groups": "2:-1..0|x; 1:0,2", **SAMPLED}),
    "rbm-crf, base": ("rbm-crf", "word", {"groups": "2:0..1", "observation": "memm", **SAMPLED}),
    "rbm-crf, experts": ("rbm-crf", "word", {"groups": "2:0..1", "experts": "hrf:2", **SAMPLED}),
    "rbm-crf, base and experts": (
        "rbm-crf",
        "word",
        {"groups": "1:0..1|x", "observation": "crf", "experts": "iohmm:2", **SAMPLED},
    ),
}
"""Kind, templates and settings of the samples that a table can describe."""


def train_samples(folder: Path) -> None:
    """Train all samples and write their model files; errors of training are errors of ours."""
    corpus = training_corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # windows that are too large for so small a corpus
        for name, make in _recipes(corpus).items():
            save(make(), folder / f"{name}{ENDING}")


def training_corpus(size: int = 30, seed: int = 0) -> Corpus:
    """Sentences whose labels follow from their words, with parts of speech, numbers, documents.

    >>> training_corpus(6)
    Corpus(2 documents, 7 sentences, 31 tokens, 2 links,
           columns word, pos, size, place, label (iob2))
    """
    rng = np.random.default_rng(seed)
    words, labels = [["Rome"]], [["B-LOC"]]
    for _ in range(size):
        name = rng.choice(["Ada", "Bo", "Cy", "Dee"])
        place = rng.choice(["York", "Rome", "Oslo", "Bö"])
        if rng.random() < 0.5:
            words.append([name, "Lee", "went", "to", place, "."])
            labels.append(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
        else:
            words.append(["In", place, "slept", name])
            labels.append(["O", "B-LOC", "O", "B-PER"])
    documents = [5] * (size // 5 - 1) or [size // 2]
    documents.append(size + 1 - sum(documents))
    further = further_columns(words)
    links = [(1, 3), (2, 4)]  # within the first document
    return Corpus.of(words, labels, scheme="iob2", documents=documents, links=links, **further)


def further_columns(words: list[list[str]]) -> dict[str, list[list[str]]]:
    """The columns that templates of samples read beside the words."""
    return {
        "pos": [["NNP" if w[:1].isupper() else "X" for w in own] for own in words],
        "size": [[str(len(w)) if w != "." else "_" for w in own] for own in words],
        "place": [[f"{k / 10} {-k}" for k, _ in enumerate(own)] for own in words],
    }


def _recipes(corpus: Corpus) -> dict[str, Callable[[], BaseEstimator]]:
    """How each sample is fitted."""

    def listed(name: str) -> Callable[[], BaseEstimator]:
        kind, templates, settings = MODELS[name]
        estimator = make_estimator(kind, templates, threads=1, **settings)
        given = corpus.with_labels(corpus.labels) if name == "crf, no scheme" else corpus
        return lambda: estimator.fit(given)

    def factored(base: BaseEstimator, **settings: Any) -> Callable[[], BaseEstimator]:
        settings = {"folds": 2, "samples": 5, "threads": 1, **settings}
        return lambda: Factored(base, **settings).fit(corpus)

    def annotated(annotators: list[Any], text: str) -> Callable[[], BaseEstimator]:
        templates = Templates.parse(text, annotators=annotators)
        return lambda: CRF(templates, epochs=3, threads=1).fit(corpus)

    knowledge = _knowledge(corpus)
    stacked = [*knowledge, StackedPredictions(CRF(KNOWLEDGE, epochs=2, threads=1), 2)]
    stacked_hmm = [StackedPredictions(make_estimator("hmm", "word"), 2)]
    labels = [own.labels for own in corpus]
    named = [[{"w": word, "n": 0.5 * k} for k, word in enumerate(s.words)] for s in corpus]
    numbered = [np.array([[len(w), w.isupper(), 1] for w in s.words], float) for s in corpus]
    return {
        **{name: listed(name) for name in MODELS},
        "factored": factored(CRF(RICH, epochs=3), factors=FACTORS, chains=2),
        "factored, consistency": factored(MEMM("word", epochs=3)),
        "factored, order 2": factored(CRF("word", epochs=2, order=2), penalties="counted"),
        "annotators": annotated(knowledge, KNOWLEDGE),
        "stacking": annotated(
            stacked, f"{KNOWLEDGE}\nfirst_label[-1..1]\nfirst_word\nfirst_entity"
        ),
        "stacking, hmm": annotated(stacked_hmm, "word\nfirst_label"),
        "named": lambda: CRF(threads=1, l2=0.1).fit(named, labels),
        "named, maxent": lambda: MaxEnt(threads=1).fit(named, labels),
        "numbered": lambda: CRF(threads=1, l2=0.1).fit(numbered, labels),
        "numbered, iohmm": lambda: make_estimator(
            "iohmm", None, threads=1, states=2, restarts=1, em=2
        ).fit(numbered, labels),
    }


def _knowledge(corpus: Corpus) -> list[Any]:
    """Annotators of every kind but stacking."""
    names = sorted({word for word in corpus.words.values if word[:1].isupper()})
    clusters = Clusters.of({name: format(k % 8, "03b") for k, name in enumerate(names)})
    return [
        Lexicon.of({"names": [*names, "Ada Lee"], "cities": ["York", "New York"]}),
        ClusterColumn(clusters),
        VectorColumn(Vectors.of({name: [len(name), -1.0] for name in names})),
        DocumentContext(),
    ]
