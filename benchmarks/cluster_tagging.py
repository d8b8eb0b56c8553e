"""Files tagged by two workers of a Ray cluster beside two threads, and with workers killed."""

from __future__ import annotations

import os
import random
import signal
import time
from threading import Timer

from benchmarks.setting import in_turn, path
from benchmarks.tagging import write_much
from skipchain import CRF, read
from skipchain.cluster import Cluster, ClusterLabeller
from skipchain.tagger import Tagger

WORKERS = 2
MODELS = {"ner-words": 5_000_000, "ner-full": 1_000_000}  # features, and tokens of the file
KILLS = 10


def measure(report, setting):
    train = read(path("conll2003", "train"))
    began = time.perf_counter()
    with Cluster("auto", workers=WORKERS) as cluster:
        report.console.print(f"  the cluster was there after {time.perf_counter() - began:.1f} s")
        for features, least in MODELS.items():
            tagger = Tagger(CRF(features, epochs=1).fit(train).model_, WORKERS)
            source = setting.folder / f"{features}.conll"
            tokens = write_much(source, least)
            began = time.perf_counter()
            with ClusterLabeller(cluster, tagger) as labeller:
                compare(report, setting, (features, tokens), tagger, labeller, source, began)
                if features == "ner-full":
                    held = kill(cluster, labeller, tagger, source)
                    report.add(f"the same bytes with a worker killed, of {KILLS}", held, KILLS)
            source.unlink()


def compare(report, setting, what, tagger, labeller, source, began):
    """Tokens a second by threads and by workers, once both have begun; the bytes are the same."""
    features, tokens = what
    here, there = source.with_suffix(".here"), source.with_suffix(".there")
    tagger.tag_file(source, there, to="conll", overwrite=True, labeller=labeller)
    report.console.print(f"  {features}: the first file after {time.perf_counter() - began:.1f} s")
    tagger.tag_file(source, here, to="conll", overwrite=True)
    assert here.read_bytes() == there.read_bytes()
    runs = (
        lambda: tagger.tag_file(source, here, to="conll", overwrite=True),
        lambda: tagger.tag_file(source, there, to="conll", overwrite=True, labeller=labeller),
    )
    threads, workers = (tokens / spent for spent in in_turn(runs, setting.repeat))
    report.console.print(
        f"  {features}, {tokens:,} tokens: {threads:,.0f} tokens/s by {WORKERS} threads, "
        f"{workers:,.0f} by {WORKERS} workers, {workers / threads:.2f} ×"
    )
    began = time.process_time()
    runs[1]()
    most = tokens / (time.process_time() - began)
    report.console.print(f"  this process cuts and writes, for any number of them: {most:,.0f}")


def kill(cluster, labeller, tagger, source):
    """How often the result is the same where a random worker is killed at a random moment."""
    here, there = source.with_suffix(".here"), source.with_suffix(".there")
    chosen, held = random.Random(0), 0
    began = time.perf_counter()
    tagger.tag_file(source, there, to="conll", overwrite=True, labeller=labeller)
    long = time.perf_counter() - began
    for _ in range(KILLS):
        workers = labeller.process_ids()
        victim, killed = chosen.choice(workers), []

        def end(victim=victim, killed=killed):
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        timer = Timer(chosen.uniform(0.0, 0.9 * long), end)
        timer.start()
        tagger.tag_file(source, there, to="conll", overwrite=True, labeller=labeller)
        timer.join()
        same = here.read_bytes() == there.read_bytes()
        held += same and bool(killed) and victim not in labeller.process_ids()
    return held
