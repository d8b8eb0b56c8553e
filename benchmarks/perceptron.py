"""The averaged perceptron, ten epochs over CoNLL-2003, against python-crfsuite's.

Learning starts from features in memory and ends with averaged weights, in processor time, which is
how CRFsuite's log counts. File to saved model includes reading, feature extraction and writing.
"""

from __future__ import annotations

import time

from benchmarks import peer
from benchmarks.features import TEMPLATES
from benchmarks.setting import path
from skipchain import Perceptron, read
from skipchain.chains.dataset import Dataset
from skipchain.chains.margins import MarginUpdates
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.epochs import run_epochs
from skipchain.modelfile import save

EPOCHS = 10


def measure(report, setting):
    source = path("conll2003", "train")
    began = time.perf_counter()
    trainer = peer.train(source, setting.folder / "ap.model", algorithm="ap", max_iterations=EPOCHS)
    theirs = time.perf_counter() - began
    their_learning = sum(step["time"] for step in trainer.logparser.iterations)
    report.faster("averaged perceptron, learning (s)", learning(source), their_learning, 4.0)
    began = time.perf_counter()
    train(source, setting.folder / "perceptron.skip")
    spent = time.perf_counter() - began
    report.faster("averaged perceptron, file to saved model (s)", spent, theirs, 3.0)


def learning(source):
    """Seconds from features in memory to averaged weights."""
    corpus = read(source)
    _, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    data = Dataset(rows, corpus.sentences, corpus.labels.codes)
    for epochs in (1, EPOCHS):  # the first run may compile
        began = time.process_time()
        learner = MarginUpdates(data, len(corpus.labels.values), boundaries=False)
        run_epochs(lambda _, learner=learner: learner.epoch(), learner.vector, epochs)
    return time.process_time() - began


def train(source, target):
    """File to model file."""
    perceptron = Perceptron(
        TEMPLATES, encoding=None, boundaries=False, constraints="none", epochs=EPOCHS
    )
    save(perceptron.fit(read(source)).fitted, target)
