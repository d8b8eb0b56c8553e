"""The way CRFsuite's users work: features in Python, handed over token by token."""

from __future__ import annotations

import gzip

import pycrfsuite

from benchmarks.features import sentence_features

L2 = 0.1
TOLERANCE = 1e-5
PARAMETERS = {
    "lbfgs": {"c1": 0.0, "c2": L2, "period": 10, "delta": TOLERANCE},
    "ap": {"epsilon": 0.0},
}


def read(path):
    """Sentences as lists of cells, from a gzipped column file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentence = []
        for line in file:
            cells = line.split()
            if cells and cells[0] != "-DOCSTART-":
                sentence.append(cells)
            elif sentence:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def columns(sentence):
    words, tags, _, labels = zip(*sentence, strict=True)
    return words, tags, labels


def train(source, target, *, algorithm="lbfgs", max_iterations=None):
    """File to model file, in the steps of python-crfsuite's tutorial.

    Returns the trainer, whose log has the times of iterations.
    """
    sentences = [columns(sentence) for sentence in read(source)]
    features = [sentence_features(words, tags) for words, tags, _ in sentences]
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    for tokens, (_, _, labels) in zip(features, sentences, strict=True):
        trainer.append(tokens, labels)
    trainer.set_params({"feature.possible_transitions": True, **PARAMETERS[algorithm]})
    if max_iterations is not None:
        trainer.set_params({"max_iterations": max_iterations})
    trainer.train(str(target))
    return trainer


def load(model):
    """A tagger."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def tag(tagger, source, target):
    """File to tagged file; returns the number of tokens."""
    tokens = 0
    with open(target, "w", encoding="utf-8") as out:
        for sentence in read(source):
            words, tags, _ = columns(sentence)
            for cells, label in zip(
                sentence, tagger.tag(sentence_features(words, tags)), strict=True
            ):
                out.write(" ".join((*cells[:-1], label)) + "\n")
            out.write("\n")
            tokens += len(words)
    return tokens
