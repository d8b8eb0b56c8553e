"""What is done with a model file that may be hostile: load it, tag with it, look into it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from hardening.fuzz.samples import further_columns
from skipchain import Corpus, Tagger
from skipchain.errors import SkipchainError
from skipchain.features.direct import NamedFeatures, NumberedFeatures
from skipchain.modelfile import load_model

REFUSED, LOADED = "refused", "loaded"
TEXT = "Ada Lee went to York. In Oslo, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! slept Bö."
TOLERANCE = 1e-6  # by which probabilities may miss 1 as a sum
LOOKED = 0.2  # the share of cases that take each look into a model
WIDEST = 1000  # columns of a matrix that is made to fit a model


class WrongOutput(Exception):
    """A model gave something that is no answer: labels that it has not, probabilities above 1."""


@dataclass(frozen=True)
class Inputs:
    """What is tagged: corpora of short and long sentences, and the same words as dicts."""

    short: Corpus
    long: Corpus
    named: list[list[dict[str, Any]]]

    @classmethod
    def make(cls) -> Inputs:
        """Sentences of no, of one and of many words, known and unknown, in several documents."""
        words = [
            ["Ada", "Lee", "went", "to", "York", "."],
            [],
            ["Rome"],
            ["In", "Oslo", "slept", "Bö", "a" * 40 + "!", "x" * 30 + "1990", "\u0130", "-"],
            ["ada", "LEE", "1990", "Lee", "Lee", "York", "of", "New", "York"],
            ["Zürich", "𝔸da", "."],
        ]
        long = [*words, [*words[0], *words[4]] * 20, *words[::-1]]
        named = [[{"w": w, "n": 0.5 * k, "new": True} for k, w in enumerate(s)] for s in words]
        return cls(_corpus(words, [2, 1, 3]), _corpus(long, [3, 4, 6]), named)


def _corpus(words: list[list[str]], documents: Sequence[int]) -> Corpus:
    links = [(0, 4), (1, 5)]
    return Corpus.of(words, documents=documents, links=links, **further_columns(words))


def attack_model(rng: Random, path: Path, inputs: Inputs, *, thorough: bool = False) -> str:
    """Load a file and put the model to work; what is not a `SkipchainError` goes through.

    Every case tags and asks for marginals; the rest is drawn, unless all is wanted.
    """
    try:
        model = load_model(path)
    except SkipchainError:
        return REFUSED
    tagger = Tagger(model, threads=1)
    given = _input_for(model, inputs, inputs.long if rng.random() < 0.05 else inputs.short)
    if isinstance(given, Corpus):
        for asked in _questions(rng, model, thorough):
            with contextlib.suppress(SkipchainError):
                _check_prediction(given, tagger.predict(given, **asked))
    for decoder in model.decoders if thorough else (None,):
        with contextlib.suppress(SkipchainError):
            _check_labels(given, tagger.label(given, decoder=decoder))
    for look in _LOOKS:
        if thorough or rng.random() < LOOKED:
            with contextlib.suppress(SkipchainError):
                look(rng, tagger, given)
    return LOADED


def _input_for(model: Any, inputs: Inputs, corpus: Corpus) -> Any:
    if isinstance(model.features, NamedFeatures):
        return inputs.named
    if isinstance(model.features, NumberedFeatures):
        width = min(model.features.width, WIDEST)
        return [np.ones((len(own), width)) for own in inputs.named if own]
    return corpus


def _questions(rng: Random, model: Any, thorough: bool) -> list[dict[str, Any]]:
    """What is asked of a prediction, beside the labels."""
    optional: list[dict[str, Any]] = [
        {"nbest": 3},
        {"confidences": True},
        *({"decoder": decoder, "beam": 3} for decoder in model.decoders[1:]),
    ]
    if not thorough:
        optional = [rng.choice(optional)] if rng.random() < 0.6 else []
    return [{"probabilities": True}, *optional]


def _check_prediction(corpus: Corpus, found: Any) -> None:
    n, n_labels = corpus.n_tokens, len(found.labels)
    codes = np.asarray(found.codes)  # −1: labels that come about only by spelling them anew
    if codes.shape != (n,) or (n and not -1 <= codes.min() <= codes.max() < n_labels):
        raise WrongOutput(f"codes of labels {codes[:5]}… for {n} tokens, {n_labels} labels")
    if len(found.corpus.labels.tolist()) != n:
        raise WrongOutput(f"{len(found.corpus.labels)} labels for {n} tokens")
    if found.marginals is not None:
        _check_probabilities("marginals", found.marginals, (n, n_labels))
        sums = found.marginals.sum(axis=1)
        if n and np.abs(sums - 1).max() > TOLERANCE:
            raise WrongOutput(f"marginals sum to {sums.min()} … {sums.max()}")
    if found.confidences is not None:
        _check_probabilities("confidences", found.confidences, (len(found.spans),))
    for best, own in zip(found.nbest or [], np.diff(corpus.sentences), strict=False):
        _check_probabilities("probabilities of paths", best.probabilities, (len(best.paths),))
        if any(len(path) != own or (own and not 0 <= path.min() <= path.max() < len(best.names))
               for path in best.paths):  # fmt: skip
            raise WrongOutput("a path of n-best has another length, or labels that are none")


def _check_probabilities(what: str, found: Any, shape: tuple[int, ...]) -> None:
    found = np.asarray(found)
    if found.shape != shape:
        raise WrongOutput(f"{what} have the shape {found.shape}, wanted {shape}")
    if found.size and not (found.min() >= -TOLERANCE and found.max() <= 1 + TOLERANCE):
        raise WrongOutput(f"{what} are from {found.min()} to {found.max()}")


def _check_labels(given: Any, found: list[list[str]]) -> None:
    if [len(own) for own in found] != [len(own) for own in given]:
        raise WrongOutput("labels of sequences have other lengths than these")
    if not all(isinstance(label, str) for own in found for label in own):
        raise WrongOutput("a label is no string")


# Looks into a model ------------------------------------------------------------------------------


def _tag_text(rng: Random, tagger: Tagger, given: Any) -> None:
    found = tagger.tag(TEXT)
    if len(found.labels) != len(found.tokens):
        raise WrongOutput(f"{len(found.labels)} labels for {len(found.tokens)} tokens of a text")


def _force(rng: Random, tagger: Tagger, given: Any) -> None:
    if isinstance(given, Corpus):
        forced: list[str | None] = [None] * given.n_tokens
        forced[rng.randrange(len(forced))] = rng.choice((*tagger.model.labels, "O", "B-PER"))
        _check_prediction(given, tagger.predict(given, forced=forced))


def _summarise(rng: Random, tagger: Tagger, given: Any) -> None:
    from skipchain.cli.commands import inspect
    from skipchain.cli.options import print_json

    summary = tagger.model.summarise(top=3)
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        print_json(summary)
        inspect._print(summary, list(tagger.model.labels))


def _explain(rng: Random, tagger: Tagger, given: Any) -> None:
    explained = tagger.explain(given, rng.randrange(6))
    explained.as_dict()


def _save_again(rng: Random, tagger: Tagger, given: Any) -> None:
    """What can be loaded can be written."""
    from skipchain.modelfile.contents import contents

    contents(tagger.model.pruned())


_LOOKS = (_tag_text, _force, _summarise, _explain, _save_again)
