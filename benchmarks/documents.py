"""What factors across documents cost: tagging from file to file, and sweeps of long documents."""

from __future__ import annotations

import resource
from functools import partial

import numpy as np

from benchmarks.setting import command, in_turn, path, seconds
from skipchain import CRF, Corpus, save
from skipchain.datasets.registry import data_set
from skipchain.models.document.annealing import Annealing, anneal_chain
from skipchain.models.document.factors import Consistency
from skipchain.models.document.model import FactoredModel
from skipchain.models.document.token_gibbs import anneal_token_chain
from skipchain.parallel import Workers

COLUMNS = "word,pos,chunk,label"
LENGTHS = (1_000, 10_000, 100_000)
SWEEPS, MOVE_SWEEPS = 20, 200


def measure(report, setting):
    train, test = (data_set("conll2003").read(part) for part in ("train", "testb"))
    chain = CRF("ner", epochs=10).fit(train).model_
    model = FactoredModel.from_chain(chain, [Consistency.fit(train)])
    compare_tagging(report, setting, model)
    compare_moves(report, setting, model, test)
    compare_lengths(report, model, test)


def compare_moves(report, setting, model, test):
    """A sweep over single tokens against one over segments, of chains of both orders."""
    for order in (1, 2):
        if order == 2:
            train = data_set("conll2003").read("train")
            chain = CRF("ner", order=2, epochs=3).fit(train).model_
            model = FactoredModel.from_chain(chain, model.factors)
        with Workers(1) as workers:
            scores = model.scores(test.without_labels(), workers)
            segments = model.candidate_graph(scores, workers)
            tokens = model.token_graph(scores, workers)
            runs = [
                partial(move, graph, Annealing(sweeps), workers)
                for sweeps in (1, 1 + MOVE_SWEEPS)
                for move, graph in ((anneal_chain, segments), (anneal_token_chain, tokens))
            ]
            for run in runs:
                run()
            # what is done once does not count
            *once, by_segments, by_tokens = in_turn(runs, setting.repeat)
            by_segments, by_tokens = by_segments - once[0], by_tokens - once[1]
        report.within(
            f"{MOVE_SWEEPS} sweeps of testb, tokens against segments, order {order} (s)",
            by_tokens, by_segments, 2.0,
        )  # fmt: skip


def compare_tagging(report, setting, model):
    """A file of news, tagged by Viterbi and with 200 samples, each in a new process."""
    file = setting.folder / "documents.skip"
    save(model, file, overwrite=True)

    def tag(decoder):
        out = setting.folder / f"{decoder}.conll"
        command(
            "tag", file, path("conll2003", "testb"), "--columns", COLUMNS, "--decoder", decoder,
            "-o", out, "--overwrite",
        )  # fmt: skip

    viterbi, gibbs = in_turn((partial(tag, "viterbi"), partial(tag, "gibbs")), setting.repeat)
    report.within("testb tagged with 200 samples against Viterbi (s)", gibbs, viterbi, 4.0)


def compare_lengths(report, model, test):
    """The time of a sweep per token, in documents made of many."""
    spent = {}
    for length in LENGTHS:
        corpus = one_document(test, length)
        with Workers(1) as workers:
            graph = model.candidate_graph(model.scores(corpus, workers), workers)
            sweeps = partial(anneal_chain, graph, Annealing(SWEEPS), workers)
            sweeps()  # the first call fills caches
            spent[length] = seconds(sweeps, 3) / SWEEPS
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report.console.print(
            f"{length:,} tokens: {1e3 * spent[length]:.2f} ms a sweep, {peak:.0f} MB so far"
        )
    few, many = LENGTHS[1], LENGTHS[-1]
    report.within(
        f"ns a sweep and token, {many:,} tokens against {few:,}", 1e9 * spent[many] / many,
        1e9 * spent[few] / few, 1.5,
    )  # fmt: skip


def one_document(test, length):
    """The sentences of a corpus, repeated, as one document of about ``length`` tokens."""
    sentences = np.arange(len(test))
    repeated = np.concatenate([sentences] * (length // test.n_tokens + 1))
    cut = int(np.searchsorted(np.cumsum(np.diff(test.sentences)[repeated]), length)) + 1
    words = [test[int(k)].words for k in repeated[:cut]]
    pos = [test[int(k)].column("pos") for k in repeated[:cut]]
    return Corpus.of(words, documents=[len(words)], pos=pos)
