"""The benchmarks compare the same computations, and write only where they are asked to."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from itertools import pairwise

import numpy as np

from benchmarks import hidden_units, longrange, ours, peer, perceptron
from benchmarks.__main__ import GROUPS, LATEST, main
from benchmarks.features import TEMPLATES, sentence_features
from benchmarks.pipelines import agreement
from benchmarks.report import Report
from skipchain import Corpus, Templates, load
from skipchain.datasets.harbour import harbour
from skipchain.datasets.synthetic import toy2
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels import rbm
from skipchain.kernels.random import seeded
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.expert_tables import expert_tables
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.units import LabelFilters
from skipchain.parallel import Workers


def test_templates_and_python_give_the_same_features():
    story = harbour()[:60]
    tags = [[word[-2:].upper() for word in sentence.words] for sentence in story]
    corpus = Corpus.of([sentence.words for sentence in story], pos=tags)
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    names, flat = vocabulary.names(), rows.expanded()
    ours = [{names[k] for k in flat.indices[a:b]} for a, b in pairwise(flat.indptr.tolist())]
    theirs = [
        set(token)
        for sentence, pos in zip(story, tags, strict=True)
        for token in sentence_features(sentence.words, pos)
    ]
    assert ours == theirs


def test_groups_are_modules_that_measure():
    for name in GROUPS:
        assert callable(import_module(f"benchmarks.{name}").measure)


def test_bars_are_on_the_ratio_or_on_our_value():
    report = Report()
    report.faster("a", 1.0, 3.5, 3.0)
    report.within("b", 3.0, 1.0, 2.0)
    report.add("c", 94.1, 94.0)
    assert [(f.ratio, f.bar, f.holds) for f in report.figures] == [
        (3.5, "≥ 3 ×", True),
        (3.0, "≤ 2 ×", False),
        (None, "≥ 94", True),
    ]


def test_hidden_units_in_plain_arrays_are_the_same():
    problem = toy2(0, train=1, test=6)
    task = hidden_units.SamplingTask(problem.test_x, problem.test_y, "2:0..1; 1:-1,2")
    plain = hidden_units.NumpyUnits(task.node, task.offsets, task.filters)
    filters, labels = task.filters, task.labels
    exact = LabelFilters.zeros(filters.groups, 3, 0)
    nothing, chains = np.zeros((0, filters.n_units)), len(task.offsets) - 1
    rbm.contrastive_divergence(
        task.node, filters.inputs, task.offsets, (0, chains), filters.layout, filters.tables,
        expert_tables([]), labels, 0, seeded(0, 1, chains), np.zeros_like(labels),
        *2 * [filters.upper_units(len(labels))], exact.label_to_unit,
        exact.bias, np.empty_like(task.node), nothing, np.zeros(0), np.zeros(0),
    )  # fmt: skip
    gradient = plain.statistics(labels) - plain.statistics(np.zeros_like(labels))
    np.testing.assert_allclose(gradient, exact.vector * filters.learnable, atol=1e-9)
    rng = np.random.default_rng(0)
    many = GibbsSettings(burn_in=50, samples=4000)
    theirs = plain.marginals(many, rng)
    with Workers(1) as workers:
        ours = gibbs.marginals(task.node, filters.inputs, task.offsets, filters, many, workers)
    np.testing.assert_allclose(theirs, ours, atol=0.05)
    groups = "2:0..1; 1:-1,2"
    other = hidden_units.SamplingTask(problem.test_x, problem.test_y, groups, states=(2,))
    assert other.contrastive_divergence(workers).shape == (filters.size + other.experts[0].size,)
    assert plain.contrastive_divergence(labels, 2, rng).shape == (filters.size,)


def test_figures_and_pictures_go_where_they_are_asked_to(tmp_path, monkeypatch):
    before = LATEST.read_bytes() if LATEST.exists() else None
    monkeypatch.setattr(longrange, "SIZES", (100, 200, 400))
    monkeypatch.setattr(
        longrange, "measure", lambda report, setting: longrange.compare_sizes(report, setting)
    )
    out, pictures = tmp_path / "figures.json", tmp_path / "pictures"
    arguments = ["benchmarks", "longrange", "--output", str(out), "--pictures", str(pictures)]
    monkeypatch.setattr("sys.argv", arguments)
    main()
    (figure,) = json.loads(out.read_text())
    assert figure["name"].startswith("ns an edge")
    assert (pictures / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert (LATEST.read_bytes() if LATEST.exists() else None) == before


def test_both_perceptrons_learn_the_same_words(tmp_path):
    lines = [f"{word} X O {label}" for word, label in (("Ada", "I-PER"), ("slept", "O"))]
    text = "-DOCSTART- -X- O O\n\n" + "\n".join([*lines, ""]) * 30
    source = tmp_path / "train.gz"
    source.write_bytes(gzip.compress(text.encode()))
    peer.train(source, tmp_path / "peer.model", algorithm="ap", max_iterations=3)
    perceptron.train(source, tmp_path / "ours.skip")
    tokens = peer.tag(peer.load(tmp_path / "peer.model"), source, tmp_path / "peer.out")
    assert ours.tag(load(tmp_path / "ours.skip"), source, tmp_path / "ours.out") == tokens == 60
    assert agreement(tmp_path / "peer.out", tmp_path / "ours.out") == 100.0
