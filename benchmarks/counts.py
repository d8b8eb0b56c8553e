"""Counts of text that is larger than memory: time and peak memory as it grows, and on a cluster.

The text is sampled as for Brown clusters, and written block by block; every count is made by a new
process, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain

from benchmarks.brown import sampled_batches

SIZES = (1_000_000, 10_000_000)  # tokens
FULL = 100_000_000  # if all is asked for
MEMORY = "500MB"
ORDERS = 3
MIN_COUNT = 5
WORKERS = 2
CODE = """
import json, sys, time
from contextlib import nullcontext
from pathlib import Path
from skipchain.memory import peak_memory
{imports}
path, folder = Path(sys.argv[1]), Path(sys.argv[1] + ".out")
with {around}:
    began = time.perf_counter()
    count = {count}
    spent = time.perf_counter() - began
print(json.dumps([spent, peak_memory() / 1e6, count]))
"""
SPACE = f'tokenised=True, memory="{MEMORY}"'
SUMS = "{order: [own.rows, own.total] for order, own in store.manifest.orders.items()}"
BLOCKS = "TextSource(path, tokenised=True).corpora()"
IDLE = "import skipchain.resources.ngrams, skipchain.resources.bigrams"
NGRAMS = "from skipchain.resources.ngrams import NgramStore"
CLUSTER = """
from benchmarks.setting import local_ray
from skipchain.cluster.counts import count_bigrams, count_ngrams
"""
PAIRS = (
    "from skipchain.resources.bigrams import Bigrams\n"
    "from skipchain.resources.texts import TextSource"
)
KINDS = {
    "n-grams": (NGRAMS, f"NgramStore.count([path], folder, orders={ORDERS}, {SPACE})"),
    "pairs": (PAIRS, f'Bigrams.count({BLOCKS}, {MIN_COUNT}, memory="{MEMORY}")'),
}
ON_CLUSTER = {
    "n-grams": (CLUSTER, f"count_ngrams([path], folder, workers={{}}, orders={ORDERS}, {SPACE})"),
    "pairs": (CLUSTER, f"count_bigrams([path], {MIN_COUNT}, workers={{}}, {SPACE})"),
}
RESULT = {
    "n-grams": "{str(k): [v.rows, v.total] for k, v in (%s).manifest.orders.items()}",
    "pairs": "[(b := %s).tokens, len(b.words), len(b.left_words), int(b.pair_counts.sum())]",
}


def measure(report, setting):
    idle = run(IDLE, "None", "none")[1]
    report.console.print(f"a process that has only imported the package: {idle:.0f} MB")
    for size in (*SIZES, FULL) if setting.full else SIZES:
        path = setting.folder / f"{size}.txt"
        write_sampled(path, size)
        megabytes = path.stat().st_size / 1e6
        for kind, (imports, call) in KINDS.items():
            spent, peak, one = run(imports, RESULT[kind] % call, path)
            report.console.print(
                f"{kind} of {size:,} words ({megabytes:.0f} MB): {spent:.1f} s, "
                f"{size / spent:,.0f} words/s, peak {peak:.0f} MB; {one}"
            )
            for workers in range(1, WORKERS + 1) if setting.full and size == SIZES[-1] else ():
                more, shared = ON_CLUSTER[kind]
                counted = RESULT[kind] % shared.format(workers)
                spent, peak, many = run(more, counted, path, f"local_ray({workers})")
                same = "the same counts" if many == one else f"OTHER COUNTS: {many}"
                report.console.print(
                    f"  on a cluster of {workers}: {spent:.1f} s, the driver's peak "
                    f"{peak:.0f} MB; {same}"
                )
        path.unlink()


def write_sampled(path, size):
    """Write so many words, twenty a line."""
    with open(path, "w", encoding="utf-8") as file:
        for sentence in chain.from_iterable(sampled_batches(size)):
            file.write(" ".join(sentence) + "\n")


def run(imports, count, path, around="nullcontext()"):
    """Seconds, peak MB and what was counted, in a new process."""
    subprocess.run(["rm", "-rf", f"{path}.out"], check=True)
    code = CODE.format(imports=imports, around=around, count=count)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])
