"""What one machine takes, and what many would: constants, runs, a simulation of a thousand.

Constants are measured on CoNLL-2003 with the features that all groups use, on one thread. A model
of times (`benchmarks.scaling`) is compared with one process and with one and two workers on this
machine, and then asked about networks of machines, which nobody here has.
"""

from __future__ import annotations

import os
import time
from functools import partial

import numpy as np

from benchmarks.features import TEMPLATES
from benchmarks.peer import L2
from benchmarks.scaling import (
    A_WEIGHT,
    LOCAL,
    NETWORK,
    Constants,
    break_even,
    exchange_seconds,
    lbfgs_seconds,
    sgd_seconds,
    simulate,
    tag_seconds,
)
from benchmarks.setting import local_ray, path, seconds
from skipchain import CRF, read
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood
from skipchain.chains.online import StochasticLikelihood
from skipchain.chains.scorer import LinearScorer
from skipchain.cluster.connection import Cluster
from skipchain.corpus import Corpus
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.lbfgs import minimize
from skipchain.learn.solvers import SGD
from skipchain.modelfile import save
from skipchain.parallel import Workers
from skipchain.report.pictures import Picture, matplotlib_available, png
from skipchain.tagger import load

COPIES = int(
    os.environ.get("SCALE_COPIES", "5")
)  # of CoNLL-2003, about a million tokens: the data of the runs that the model is held to
VECTOR = 1_000_000  # weights of a vector by which vectors are measured
WORKERS = (1, 10, 100, 1000)
TOKENS = (10**6, 10**8, 10**10, 10**12)
HOURS = 3600.0


class Part:
    """A worker that has a part of the data, and what it takes to learn from it on one thread."""

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary) -> None:
        rows = vocabulary.encode(corpus)
        self.data = Dataset(rows, corpus.sentences, corpus.labels.codes)
        self.labels = len(corpus.labels.values)
        self.workers = Workers(1)
        self.scorer = LinearScorer(
            self.data, self.labels, observed=False, boundaries=False, workers=self.workers,
            single_precision=True,
        )  # fmt: skip
        self.objective = ConditionalLikelihood(self.data, self.scorer, self.workers, l2=L2)

    def size(self):
        return self.scorer.size

    def evaluate(self, vector):
        """Loss and gradient, and the seconds that they took."""
        began = time.perf_counter()
        loss, gradient = self.objective(vector)
        return loss, gradient, time.perf_counter() - began

    def echo(self, vector):
        """The same numbers, in memory of their own."""
        return vector + 0.0


class Labeller:
    """A worker that labels files on one thread."""

    def __init__(self, model: str) -> None:
        self.tagger = load(model, threads=1)

    def tag(self, source, target):
        self.tagger.tag_file(source, target, overwrite=True)


def measure(report, setting):
    corpus = read(path("conll2003", "train"))
    own = constants(report, setting, corpus)
    own = compare_with_runs(report, setting, corpus, own)
    ask(report, own)
    if setting.pictures is not None and matplotlib_available():
        picture = scale_picture(own)
        (setting.pictures / f"{picture.name}.png").write_bytes(png(picture))


def constants(report, setting, corpus):
    """What one core takes."""
    growth = [weights_of(corpus[: round(len(corpus) * share)]) for share in (0.125, 0.25, 0.5, 1)]
    slope, first = np.polyfit(*np.log(np.array(growth)).T, 1)
    began = time.perf_counter()
    corpus = read(path("conll2003", "train"))
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    encode = time.perf_counter() - began
    tokens = corpus.n_tokens
    for copies in (1, COPIES):  # the more data, the fewer of them are in the processor's cache
        part = Part(Corpus.concatenate([corpus] * copies), vocabulary)
        vector = np.random.default_rng(0).normal(0.0, 0.1, part.size())
        part.evaluate(vector)
        evaluate = seconds(partial(part.evaluate, vector), 5) / copies
        learner = StochasticLikelihood(part.data, part.labels)
        learner.epoch(0.01)
        step = seconds(partial(learner.epoch, 0.01), 3) / copies
        report.console.print(
            f"one core, {tokens * copies:,} tokens: loss and gradient {tokens / evaluate:,.4g}, "
            f"stochastic steps {tokens / step:,.4g} tokens/s"
        )
    tag, text = tagging(setting, corpus)
    one, other = np.ones(VECTOR), np.ones(VECTOR)
    add = seconds(lambda: np.add(one, other, out=one), setting.repeat) / VECTOR
    found = Constants(
        tag=tag, encode=encode / tokens, evaluate=evaluate / tokens, step=step / tokens,
        vector=vector_seconds(), add=add, copy=0.0, call=0.0, text=text, spread=0.0,
        index=held(part.objective) / tokens / COPIES,
        weights=float(np.exp(first)), growth=float(slope),
    )  # fmt: skip
    for name, value, unit in (
        ("tagging", 1 / found.tag, "tokens/s"),
        ("reading, vocabulary and index", 1 / found.encode, "tokens/s"),
        ("loss and gradient", 1 / found.evaluate, "tokens/s"),
        ("stochastic steps", 1 / found.step, "tokens/s"),
        ("L-BFGS beside evaluations", found.vector * 1e9, "ns a weight and iteration"),
        ("adding vectors", found.add * 1e9, "ns a weight"),
        ("index", found.index, "bytes a token"),
        ("text", found.text, "bytes a token"),
        ("active features", rows.n_active / tokens, "a token"),
        ("entries of the index", len(rows.tokens.indices) / tokens, "a token, words shared"),
        ("labels", part.labels, ""),
        ("weights", part.size(), f"of {tokens:,} tokens"),
        ("weights grow by tokens to the power of", found.growth, ""),
    ):
        report.console.print(f"one core: {name}: {value:,.4g} {unit}")
    return found


def weights_of(corpus):
    """Tokens, and the weights that their features have."""
    _, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    return corpus.n_tokens, rows.n_features * len(corpus.labels.values)


def held(owner, seen=None):
    """The bytes of all arrays that an object holds."""
    seen = set() if seen is None else seen
    if id(owner) in seen:
        return 0
    seen.add(id(owner))
    if isinstance(owner, np.ndarray):
        return owner.nbytes if owner.base is None else held(owner.base, seen)
    if isinstance(owner, (list, tuple)):
        return sum(held(own, seen) for own in owner)
    if isinstance(owner, dict):
        return held(list(owner.values()), seen)
    if not type(owner).__module__.startswith("skipchain"):
        return 0
    names = [name for kind in type(owner).__mro__ for name in getattr(kind, "__slots__", ())]
    own = [getattr(owner, name, None) for name in names]
    return held([*own, *vars(owner).values()] if hasattr(owner, "__dict__") else own, seen)


def tagging(setting, corpus):
    """Seconds a token from file to file on one thread, and bytes a token of the file."""
    model, text, out = (setting.folder / name for name in ("scale.skip", "scale.txt", "scale.out"))
    crf = CRF(TEMPLATES, solver=SGD(epochs=1), threads=1).fit(corpus)
    save(crf.model_, model, overwrite=True)
    corpus.write(text, "conll", overwrite=True)
    text.write_bytes(text.read_bytes() * COPIES)
    tokens = corpus.n_tokens * COPIES
    run = partial(load(model, threads=1).tag_file, text, out, overwrite=True)
    run()
    return seconds(run, 3) / tokens, text.stat().st_size / tokens


def vector_seconds():
    """Seconds a weight and iteration of L-BFGS where the function itself costs little."""
    scale = np.linspace(1.0, 1000.0, VECTOR)
    spent = []

    def function(x):
        began = time.perf_counter()
        gradient = scale * x
        value = 0.5 * float(x @ gradient)
        spent.append(time.perf_counter() - began)
        return value, gradient

    began = time.perf_counter()
    found = minimize(function, np.ones(VECTOR), max_iterations=20, tolerance=0.0)
    return (time.perf_counter() - began - sum(spent)) / found.iterations / VECTOR


def compare_with_runs(report, setting, corpus, own):
    """Constants of a cluster of one machine, and the model beside runs of one and two workers."""
    data = Corpus.concatenate([corpus] * COPIES)
    vocabulary, _ = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    whole = Part(data, vocabulary)
    size, tokens = whole.size(), data.n_tokens
    vector = np.random.default_rng(0).normal(0.0, 0.1, size)
    whole.evaluate(vector)
    alone = seconds(partial(whole.evaluate, vector), 5)
    del whole
    half = len(data) // 2
    runs = {}
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with local_ray(2), Cluster(workers=2) as cluster:
        ray = cluster.ray
        words = ray.put(vocabulary)
        for parts in ([data], [data[:half], data[half:]]):
            team = [cluster.start(Part, ray.put(own_part), words) for own_part in parts]
            rounds = [one_round(ray, team, "evaluate", vector) for _ in range(8)][2:]
            runs[len(team)] = rounds
            if len(parts) == 2:
                small = [one_round(ray, team, "echo", np.ones(1))[0] for _ in range(20)]
                large = [one_round(ray, team, "echo", np.ones(VECTOR))[0] for _ in range(10)]
            for member in team:
                ray.kill(member)
        rates = [labelling(setting, cluster, workers, tokens) for workers in (1, 2)]
    call = float(np.median(small))
    echo = (float(np.median(large)) - call) / (A_WEIGHT * VECTOR)  # put once, two answers
    times = np.array([spent for _, spents in runs[2] for spent in spents])
    spread = float(times.std() / times.mean())
    own = Constants(**{**vars(own), "call": call, "copy": echo / 3, "spread": spread})
    report.console.print(
        f"two workers on this machine: a round of nothing {call * 1e3:.2f} ms; {VECTOR:,} weights "
        f"out and two answers back {np.median(large) * 1e3:.1f} ms; the time of a worker varies by "
        f"{spread:.1%}"
    )
    report.console.print(
        f"loss and gradient of {tokens:,} tokens, {size:,} weights: one process {alone:.3f} s "
        f"(model {own.evaluate * tokens:.3f} s)"
    )
    report.console.print(
        f"tagging: one worker {rates[0]:,.0f} tokens/s (model {1 / own.tag:,.0f}), two workers, a "
        f"file each, {rates[1]:,.0f} (model {2 / own.tag:,.0f})"
    )
    for workers, rounds in runs.items():
        taken = float(np.median([spent for spent, _ in rounds]))
        computed = float(np.median([max(spents) for _, spents in rounds]))
        exchange = exchange_seconds(size, workers, own, LOCAL)
        told = own.evaluate * tokens / workers + exchange
        report.console.print(
            f"  {workers} worker{'s' * (workers > 1)}: {taken:.3f} s a round (model {told:.3f} s), "
            f"of which the slowest computes {computed:.3f} s, and {taken - computed:.3f} s is "
            f"exchange (model {exchange:.3f} s); {alone / taken:.2f} times one process"
        )
    return own


def labelling(setting, cluster, workers, tokens):
    """Tokens a second of some workers that label a file each."""
    text = str(setting.folder / "scale.txt")
    team = [cluster.start(Labeller, str(setting.folder / "scale.skip")) for _ in range(workers)]

    def run():
        targets = [f"{text}.{number}" for number in range(workers)]
        pairs = zip(team, targets, strict=True)
        cluster.ray.get([member.tag.remote(text, target) for member, target in pairs])

    run()
    spent = seconds(run, 3)
    for member in team:
        cluster.ray.kill(member)
    return workers * tokens / spent


def one_round(ray, team, method, vector):
    """Seconds of a round, and those that each worker computed."""
    began = time.perf_counter()
    sent = ray.put(vector)
    answers = ray.get([getattr(member, method).remote(sent) for member in team])
    if method == "echo":
        sum(answers[1:], answers[0])
        return time.perf_counter() - began, []
    total = answers[0][1]
    for _, gradient, _ in answers[1:]:
        total = total + gradient
    return time.perf_counter() - began, [spent for _, _, spent in answers]


def ask(report, own):
    """Tables of what the model says of machines that nobody here has."""
    say = report.console.print
    for weights in (1e5, 1e6, 1e7, 1e8):
        both = [break_even(weights, own, NETWORK, cost) for cost in (lbfgs_seconds, sgd_seconds)]
        say(f"{weights:,.0f} weights: two machines pay from {both[0]:,.0f} tokens by L-BFGS, "
            f"{both[1]:,.0f} by SGD")  # fmt: skip
    for tokens in TOKENS:
        weights = own.weights_of(tokens, NETWORK.most_weights)
        say(f"{tokens:,} tokens, {weights:,.0f} weights, index {own.index * tokens / 1e9:,.1f} GB")
        for workers in WORKERS:
            say("  " + told(tokens, workers, weights, own))


def told(tokens, workers, weights, own):
    """What a number of workers would take, in a line."""
    count = 0 if workers == 1 else workers
    exchange = exchange_seconds(weights, count, own, NETWORK)
    rounds = round(own.iterations * own.evaluations)
    beside = exchange + own.vector * weights / own.evaluations
    lbfgs = simulate(tokens, workers, rounds, own.evaluate, beside, own, NETWORK)
    sgd = simulate(tokens, workers, own.epochs, own.step, exchange, own, NETWORK)
    tag = tag_seconds(tokens, workers, own, NETWORK)
    return (
        f"{workers:5,} workers: L-BFGS {lbfgs.seconds / HOURS:,.3g} h ("
        f"{lbfgs.exchange / HOURS:,.2g} h beside computing, {lbfgs.waiting / HOURS:,.2g} h for the "
        f"slowest, {lbfgs.lost} lost), "
        f"SGD {sgd.seconds / HOURS:,.3g} h ({sgd.lost} lost), tagging {tag / HOURS:,.2g} h, "
        f"index {own.index * tokens / workers / 1e9:,.2g} GB each"
    )


def scale_picture(own):
    """How much faster a round is with more workers, and where two machines begin to pay."""

    def draw(figure):
        left, right = figure.subplots(1, 2)
        counts = np.unique(np.geomspace(1, 1000, 60).astype(int))
        for tokens in TOKENS:
            weights = own.weights_of(tokens, NETWORK.most_weights)
            alone = lbfgs_seconds(tokens, 0, weights, own, NETWORK)
            times = [lbfgs_seconds(tokens, int(k), weights, own, NETWORK) for k in counts]
            left.loglog(counts, alone / np.array(times), label=f"$10^{{{np.log10(tokens):.0f}}}$")
        left.loglog(counts, counts, ":", color="0.5", label="linear")
        left.set_xlabel("workers of one thread")
        left.set_ylabel("times as fast as one process (L-BFGS)")
        left.legend(title="tokens")
        left.grid(alpha=0.3)
        weights = np.geomspace(1e4, 1e9, 40)
        for name, cost in (("L-BFGS", lbfgs_seconds), ("SGD", sgd_seconds)):
            right.loglog(weights, [break_even(w, own, NETWORK, cost) for w in weights], label=name)
        right.set_xlabel("weights")
        right.set_ylabel("tokens from which two machines pay")
        right.legend()
        right.grid(alpha=0.3)

    return Picture("scale", "Computed from constants of one machine.", draw, size=(8.0, 3.6))
