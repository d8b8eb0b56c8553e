"""File to tagged file: us and the peers, on names, on much text, with many labels, and by part.

Peers other than python-crfsuite are measured where they are installed (``pip install
'skipchain[peers]'``). MITIE is not: it needs a file of word features that no package has.
"""

from __future__ import annotations

import gzip
import random
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import ours, peer, peers
from benchmarks.setting import path, seconds
from skipchain import load, read
from skipchain.datasets.registry import data_set
from skipchain.io.columns.tidy import TidyColumns

MANY = 10_000_000  # tokens
PEER_TOKENS = 1_000_000  # of them that the peer tags: its speed does not depend on how many
FEW_ITERATIONS = 10  # of models whose speed is measured, not whose labels


def measure(report, setting):
    train, test = path("conll2003", "train"), path("conll2003", "testb")
    their_model, our_model = setting.folder / "peer.model", setting.folder / "ours.skip"
    if not (their_model.exists() and our_model.exists()):  # that the pipelines have left
        peer.train(train, their_model, max_iterations=FEW_ITERATIONS)
        ours.train(train, our_model, 1e-2)
    theirs, tagger = peer.load(their_model), load(our_model)
    rate = compare(report, setting, "file to tagged file", theirs, tagger, test, 25.0)
    report.add("file to tagged file (tokens/s), absolute", rate, 1_300_000)
    measure_much(report, setting, theirs, tagger)
    measure_many_labels(report, setting)
    measure_parts(report, setting, tagger)
    for name, measure_peer in peers.MEASURES.items():
        if find_spec(name) is None:
            report.console.print(f"{name} is not installed")
            continue
        speed = measure_peer(train, test, their_model, setting)
        report.add(
            f"file to tagged file, beside {name} (tokens/s)", rate, 1.0, against=speed,
            ratio=rate / speed,
        )  # fmt: skip


def compare(report, setting, name, their_tagger, our_tagger, file, bar, repeat=None):
    """Tokens a second of both; returns ours."""
    out = setting.folder / "tagged"
    tokens = peer.tag(their_tagger, file, out)
    theirs = tokens / seconds(lambda: peer.tag(their_tagger, file, out), 3)
    tag = partial(our_tagger.tag_file, file, out, overwrite=True)
    tag()  # which compiles kernels and meets the words
    rate = tokens / seconds(tag, repeat or setting.repeat)
    report.add(f"{name} (tokens/s)", rate, bar, against=theirs, ratio=rate / theirs)
    return rate


def measure_much(report, setting, their_tagger, our_tagger):
    """Ten million tokens: testb again and again, its sentences in another order each time."""
    source, out = setting.folder / "much.conll", setting.folder / "much.out"
    beginning = setting.folder / "beginning.conll.gz"
    tokens = write_much(source, MANY)
    write_much(beginning, PEER_TOKENS)
    began = time.perf_counter()
    theirs = peer.tag(their_tagger, beginning, out) / (time.perf_counter() - began)
    rate = tokens / seconds(lambda: our_tagger.tag_file(source, out, overwrite=True), 1)
    report.add(
        "the same, 10 M tokens (tokens/s)", rate, 30.0, against=theirs, ratio=rate / theirs
    )  # fmt: skip
    source.unlink()
    out.unlink()


def write_much(target, tokens):
    """At least so many tokens of testb, shuffled by sentences; returns how many."""
    test = data_set("conll2003").read("testb")
    shuffled, written = random.Random(0), 0
    sentences = [
        "".join(f"{' '.join(cells)}\n" for cells in zip(*columns, strict=True)) + "\n"
        for columns in ([s.words, s.column("pos"), s.column("chunk"), s.labels] for s in test)
    ]
    opened = gzip.open if str(target).endswith(".gz") else open
    with opened(target, "wt", encoding="utf-8") as file:
        while written < tokens:
            shuffled.shuffle(sentences)
            file.writelines(sentences)
            written += test.n_tokens
    return written


def measure_many_labels(report, setting):
    """Parts of speech by the tag set of the Penn Treebank, with the universal tags as features."""
    files = {}
    for part in ("train", "test"):
        fine, coarse = (read(path("ud-ewt", part), label=tags) for tags in ("xpos", "upos"))
        files[part] = setting.folder / f"tags-{part}.conll.gz"
        with gzip.open(files[part], "wt", encoding="utf-8") as file:
            for sentence, tags in zip(fine, coarse, strict=True):
                words = [word.replace(" ", "_") for word in sentence.words]
                rows = zip(words, tags.labels, sentence.labels, strict=True)
                file.writelines(f"{word} {tag} _ {label}\n" for word, tag, label in rows)
                file.write("\n")
    model, skip = setting.folder / "tags.model", setting.folder / "tags.skip"
    peer.train(files["train"], model, max_iterations=FEW_ITERATIONS)
    crf = ours.train(files["train"], skip, 1e-1)
    name = f"{len(crf.model_.labels)} labels, file to tagged file"
    compare(report, setting, name, peer.load(model), load(skip), files["test"], 15.0)


def measure_parts(report, setting, tagger):
    """What a token costs by part on one thread, once its words have been met."""
    chain, corpus = tagger.model.frozen, read(path("conll2003", "train"))
    plain = setting.folder / "parts.conll"
    corpus.write(plain, "conll", overwrite=True)
    data = Path(plain).read_bytes()
    layout = TidyColumns.of(data)
    block = layout.scan(data, chain.columns)
    slices = block.text, block.starts, block.ends
    values, table = chain.scorer.number_slices(*slices)
    node = np.empty((values.shape[1], chain.scorer.width), np.float32)
    codes = chain.decode(node, block.sentences)
    parts = {
        "read": lambda: layout.scan(data, chain.columns),
        "look up values": lambda: chain.scorer.number_slices(*slices),
        "score": lambda: chain.scorer.score_values(values, block.sentences, table, node),
        "decode": lambda: chain.decode(node, block.sentences),
        "write": lambda: block.with_labels(codes, tagger.model.labels),
    }
    ghz = processor_ghz()
    for name, part in parts.items():
        nanoseconds = 1e9 * seconds(part, setting.repeat) / corpus.n_tokens
        cycles = "" if ghz is None else f", {nanoseconds * ghz:,.0f} cycles"
        report.console.print(f"  {name}: {nanoseconds:.0f} ns a token{cycles}")


def processor_ghz():
    """The clock of the processor as the system tells it; None where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    found = [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]
    return max(found) / 1000 if found else None
