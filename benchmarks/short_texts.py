"""Short texts: one by one and as a stream, by a plain model and by the one in the package."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.setting import path
from skipchain import CRF, load, read
from skipchain.tagger import Tagger

TEXTS = 1000
WORDS = 20
PLAIN, PACKAGED = (0.5, 2.0), (2.0, 5.0)  # ms at most: median, 99th percentile


def measure(report, setting):
    train = read(path("conll2003", "train"))
    words = " ".join(read(path("conll2003", "testb")).words[: TEXTS * WORDS]).split(" ")
    texts = [" ".join(words[k : k + WORDS]) for k in range(0, len(words), WORDS)]
    plain = Tagger(CRF("ner-words", epochs=1).fit(train).model_)
    for name, tagger, bars in (("plain", plain, PLAIN), ("package", load(), PACKAGED)):
        spent = one_by_one(tagger, texts)
        for share, bar in zip((50, 99), bars, strict=True):
            figure = 1000.0 * np.percentile(spent, share)
            name_of = "median" if share == 50 else f"{share}th percentile"
            report.add(f"one {WORDS}-word text, {name} (ms), {name_of}", figure, bar, at_most=True)
        began = time.perf_counter()
        found = sum(1 for _ in tagger.pipe(texts))
        rate = found / (time.perf_counter() - began)
        report.console.print(
            f"  {name}: {1 / np.mean(spent):,.0f} texts a second one by one, {rate:,.0f} by pipe"
        )


def one_by_one(tagger, texts):
    """Seconds of each text with its spans and confidences, once the model is warm."""
    for text in texts[:100]:
        tagger.tag(text)
    spent = []
    for text in texts:
        began = time.perf_counter()
        tagger.tag(text)
        spent.append(time.perf_counter() - began)
    return spent
