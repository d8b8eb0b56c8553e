"""Text that comes from a pipe and goes nowhere: memory and speed by how much of it there is.

The text is testb again and again, as columns, and in every round some of its words are new. So what
is known of words has to be forgotten, too. Memory is that of ``skipchain tag`` and of `Tagger.pipe`
over `skipchain.scan`; speed is that of a process that has loaded its model and met some words.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from benchmarks.setting import path
from skipchain.datasets.registry import data_set

SIZES = (1_000_000, 10_000_000)  # tokens
FULL = 100_000_000  # if all is asked for
WARM = 200_000  # tokens that a process has labelled before its speed is measured
MOST, FLAT, SPEED = 400.0, 1.1, 0.95  # MB; of the smallest file's memory; of its speed
RUNS = 5  # of the smallest, which takes half a second
EVERY = 50  # tokens of which one is new in every round
NUMBER = b"\1"  # where the number of the round is put into a word

COMMAND = """
import sys
from skipchain.cli import main
sys.argv[1:] = ["tag", *sys.argv[1:], "-", "-q"]
try:
    main()
finally:
    from skipchain.memory import peak_memory
    print(peak_memory(), file=sys.stderr)
"""
TAG = """
import json, os, sys, time
from skipchain import load
tagger = load(sys.argv[1])
tagger.tag_file(sys.argv[2], os.devnull)
began = time.perf_counter()
read = tagger.tag_file("-", "-")
print(json.dumps([read.tokens, time.perf_counter() - began]), file=sys.stderr)
"""
PIPE = """
import json, sys
from skipchain import load, scan
from skipchain.memory import peak_memory
tokens = sum(found.corpus.n_tokens for found in load(sys.argv[1]).pipe(scan("-")))
print(json.dumps([tokens, peak_memory()]), file=sys.stderr)
"""


def measure(report, setting):
    model, text = prepare(setting)
    sizes = (*SIZES, FULL) if setting.full else SIZES
    peaks = [command_peak(model, text, size) for size in sizes]
    report.add("tag, peak at any size (MB)", max(peaks) / 1e6, MOST, at_most=True)
    compare_memory(report, "tag", peaks, sizes)
    few = [speed(setting, model, text, sizes[0]) for _ in range(RUNS)]
    rates = [median(few), *(speed(setting, model, text, size) for size in sizes[1:])]
    for size, rate in zip(sizes[1:], rates[1:], strict=True):
        name = f"tag, {size:,} tokens beside {sizes[0]:,} (tokens/s)"
        report.add(name, rate, SPEED, against=rates[0], ratio=rate / rates[0])
    peaks = [pipe_peak(model, text, size) for size in SIZES]
    compare_memory(report, "pipe of scan", peaks, SIZES)


def prepare(setting):
    """The files of a model and of a round of text."""
    model, text = setting.folder / "streams.skip", setting.folder / "round"
    train = [path("conll2003", "train"), "-o", model, "--features", "ner", "--overwrite", "-q"]
    subprocess.run(
        [sys.executable, "-m", "skipchain", "train", *map(str, train)], check=True
    )  # fmt: skip
    write_round(data_set("conll2003").read("testb"), text)
    return model, text


def compare_memory(report, name, peaks, sizes):
    """Peaks in bytes at some sizes, beside that of the smallest."""
    for peak, size in zip(peaks[1:], sizes[1:], strict=True):
        name_of = f"{name}, peak at {size:,} tokens beside {sizes[0]:,} (MB)"
        report.within(name_of, peak / 1e6, peaks[0] / 1e6, FLAT)


def command_peak(model, text, size):
    """Bytes at most of ``skipchain tag``."""
    return int(fed(COMMAND, text, size, model))


def pipe_peak(model, text, size):
    """Bytes at most of a pipe of the blocks of a scan."""
    tokens, peak = json.loads(fed(PIPE, text, size, model))
    check_count(tokens, size)
    return peak


def speed(setting, model, text, size):
    """Tokens a second."""
    warm = setting.folder / "warm.conll"
    with warm.open("wb") as file:
        write_rounds(text, WARM, file)
    tokens, seconds = json.loads(fed(TAG, text, size, model, warm))
    check_count(tokens, size)
    return tokens / seconds


def check_count(tokens, size):
    """All that was sent must have been labelled."""
    if tokens < size:
        raise RuntimeError(f"{size:,} tokens were sent, and {tokens:,} labelled")


def fed(code, text, size, *arguments):
    """What a program says in its last line on stderr that so many tokens are sent to."""
    rounds = [sys.executable, "-m", "benchmarks.streams", str(text), str(size)]
    program = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(rounds, stdout=subprocess.PIPE) as source:
        done = subprocess.run(
            program, stdin=source.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
        source.stdout.close()
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stderr.splitlines()[-1]


def write_round(corpus, target):
    """The lines of a corpus; some of its words end in a place for the number of the round."""
    columns = [column.tolist() for column in corpus.columns.values()]
    firsts = set(corpus.sentences[corpus.documents[:-1]].tolist())
    ends, lines = set(corpus.sentences.tolist()), []
    for token, (word, *rest) in enumerate(zip(*columns, strict=True)):
        lines += ["\n"] * (token > 0 and token in ends)
        lines += [" ".join(["-DOCSTART-", *["O"] * len(rest)]) + "\n\n"] * (token in firsts)
        shown = word + NUMBER.decode() if token % EVERY == 0 else word
        lines.append(" ".join([shown, *rest]) + "\n")
    target.write_text("".join(lines) + "\n", encoding="utf-8")


def write_rounds(text, size, file):
    """Rounds of at least so many tokens."""
    content = text.read_bytes()
    lines = content.split(b"\n")
    each = sum(1 for line in lines if line and not line.startswith(b"-DOCSTART-"))
    for number in range(-(-size // each)):
        file.write(content.replace(NUMBER, b"%d" % number))


if __name__ == "__main__":
    from pathlib import Path

    write_rounds(Path(sys.argv[1]), int(sys.argv[2]), sys.stdout.buffer)
