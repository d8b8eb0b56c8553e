"""The benchmarks compare the same computations, and write only where they are asked to."""

from __future__ import annotations

import gzip
import json
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import disk, hidden_units, longrange, peer, perceptron, repeated, streams
from benchmarks.__main__ import GROUPS, LATEST, main
from benchmarks.features import TEMPLATES, sentence_features
from benchmarks.pipelines import agreement
from benchmarks.report import Report
from benchmarks.setting import Setting
from skipchain import CRF, Corpus, Templates, load, read
from skipchain.datasets.harbour import harbour
from skipchain.datasets.synthetic import toy2
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels import rbm
from skipchain.kernels.random import seeded
from skipchain.modelfile import save
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
    load(tmp_path / "ours.skip").tag_file(source, tmp_path / "ours.out")
    assert tokens == 60
    assert agreement(tmp_path / "peer.out", tmp_path / "ours.out") == 100.0


@pytest.mark.parametrize("folder", ["benchmarks", "hardening"])
def test_no_benchmark_writes_into_the_project(folder):
    """What they measure goes to temporary folders, named files, or one that git ignores."""
    root = Path(__file__).parent.parent
    ignored = (root / ".gitignore").read_text().split()
    for file in sorted((root / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"""["'](\.\./)?(docs|src|images)\b""", text), file
        for name in re.findall(r"""Path\(__file__\)\.with_name\("([^"]+)"\)""", text):
            kept = (file.parent / name).relative_to(root).as_posix()
            assert name.endswith(".py") or kept in ignored, f"{file}: {kept}"


def test_pictures_are_drawn_only_into_a_folder_that_is_named(tmp_path):
    assert Setting(tmp_path).pictures is None
    assert LATEST.name == "latest.json"


@pytest.mark.slow
def test_training_from_disk_is_measured(tmp_path, monkeypatch):
    story = tmp_path / "story.conll"
    harbour()[:40].write(story)
    monkeypatch.setattr(disk, "path", lambda *_: story)
    monkeypatch.setattr(disk, "TOKENS", 1500)
    monkeypatch.setattr(disk, "MANY", 2000)
    report = Report()
    disk.measure(report, Setting(tmp_path))
    names = [figure.name for figure in report.figures]
    assert len(names) == 8
    assert [f.holds for f in report.figures if "same loss" in f.name] == [True, True]


def test_new_names_are_new_and_the_rest_is_not():
    source = Corpus.of([["Ada", "Lovelace", "saw", "Bath"]], [["B-PER", "I-PER", "O", "B-LOC"]])
    made = [line.split() for line in repeated.lines(source, 10) if line.strip()]
    assert [word for word, _ in made][:4] == ["Ada", "Lovelace", "saw", "Bath"]
    again = [word for word, _ in made][4:8]
    assert again[2] == "saw"
    assert not {"Ada", "Lovelace", "Bath"} & set(again)
    assert [word[0].isupper() for word in again] == [True, True, False, True]
    assert len(made) == 10


def test_text_from_a_pipe_is_labelled_in_quick_settings(tmp_path, monkeypatch):
    def prepare(setting):
        story = harbour()[:60]
        save(CRF("word", epochs=1).fit(story).model_, setting.folder / "m.skip")
        streams.write_round(story, setting.folder / "round")
        return setting.folder / "m.skip", setting.folder / "round"

    monkeypatch.setattr(streams, "prepare", prepare)
    monkeypatch.setattr(streams, "SIZES", (2000, 4000))
    monkeypatch.setattr(streams, "FULL", 6000)
    monkeypatch.setattr(streams, "RUNS", 1)
    monkeypatch.setattr(streams, "WARM", 1000)
    report = Report()
    streams.measure(report, Setting(tmp_path, full=True))
    names = [figure.name for figure in report.figures]
    assert [name for name in names if "MB" in name] == [
        *(f"tag, peak at {size} tokens (MB)" for size in ("2,000", "4,000", "6,000")),
        *(f"pipe of scan, peak at {size} tokens (MB)" for size in ("2,000", "4,000")),
    ]
    assert "tag, 6,000 tokens beside 2,000 (tokens/s)" in names
    assert all(figure.ours > 0 for figure in report.figures)


def test_rounds_of_text_have_new_words_and_as_many_tokens_as_are_asked_for(tmp_path):
    story = harbour()[:60]
    streams.write_round(story, tmp_path / "round")
    with (tmp_path / "much.conll").open("wb") as file:
        streams.write_rounds(tmp_path / "round", 3 * story.n_tokens - 5, file)
    corpus = read(tmp_path / "much.conll")
    assert corpus.n_tokens == 3 * story.n_tokens
    assert len(corpus) == 3 * len(story)
    again = [word.removesuffix("2") for word in corpus.words[2 * story.n_tokens :].tolist()]
    assert sum(a != b for a, b in zip(again, story.words.tolist(), strict=True)) < 20
    assert len(set(corpus.words.tolist())) > len(set(story.words.tolist())) + story.n_tokens // 60
