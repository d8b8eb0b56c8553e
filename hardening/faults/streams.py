"""Streams that are closed or full, limits of a process, and a user who presses Ctrl-C again."""

from __future__ import annotations

import os
import signal
import time
from random import Random

from hardening.faults.kills import judge_interrupted, run_again
from hardening.faults.references import References
from hardening.faults.trial import (
    ENDS,
    Case,
    Fault,
    draw_place,
    finish,
    named,
    run,
    run_line,
    start,
)

BROKEN_PIPE = (0, 1, 2)  # 1 without a word: whoever read the output knows that it is cut off
MEGABYTE = 2**20
ADDRESS_SPACES = (160, 1500)  # from too little to begin with to hardly enough
DEATHS = {signal.SIGABRT, signal.SIGSEGV}
TO_STDOUT = (
    "tag in/names.skip in/story.txt --threads 1 -q -o -",
    "convert in/train.conll - --to jsonl -q",
    "brown in/first.txt --clusters 20 --min-count 2 -q -o -",
    "inspect in/names.skip",
    "eval in/names.skip in/test.conll -q",
)
FROM_STDIN = (
    "tag in/names.skip - -q -o out/story.html --overwrite",
    "convert - out/train.jsonl.gz --from conll --overwrite",
    "train - --from conll -q -o out/names.skip --overwrite",
)


def stdout_full(references: References, random: Random, name: str) -> Case:
    """Stdout is a device that is full."""
    line = random.choice(TO_STDOUT)
    with open("/dev/full", "wb") as full:
        findings = run_line(references, random, name, line, codes=(2,), stdout=full)
    return f"{line} > /dev/full", findings


def broken_pipe(references: References, random: Random, name: str) -> Case:
    """Nobody reads what the command prints."""
    line = random.choice(TO_STDOUT)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        findings = run_line(references, random, name, line, codes=BROKEN_PIPE, stdout=writing)
    finally:
        os.close(writing)
    return f"{line} | head -c0", findings


def closed_descriptors(references: References, random: Random, name: str) -> Case:
    """Stdin or stdout are not open: what has nowhere to go must not seem to be written."""
    closed = random.choice(((0,), (1,), (0, 1)))
    line = random.choice(FROM_STDIN if closed == (0,) else TO_STDOUT)
    codes = (2,) if "-" in line.split() else ENDS  # of a report, nothing but the sight is lost
    findings = run_line(references, random, name, line, codes=codes, closed=closed)
    return f"{line}, closed: {closed}", findings


def no_stderr(references: References, random: Random, name: str) -> Case:
    """There is nowhere to say anything."""
    place = draw_place(references, random, name)
    return f"{named(place)} without stderr", run(place, closed=(2,))


def few_descriptors(references: References, random: Random, name: str) -> Case:
    """Few files can be open at a time."""
    place = draw_place(references, random, name)
    limit = random.randint(6, 24)
    return f"{named(place)} with {limit} files", run(place, limits={"RLIMIT_NOFILE": limit})


def little_memory(references: References, random: Random, name: str) -> Case:
    """There is little memory, of which LLVM, OpenBLAS and DuckDB may die: nothing is lost by it."""
    place = draw_place(references, random, name)
    limit = random.randint(*ADDRESS_SPACES)
    child = start(place, place.reference.command.arguments, limits={"RLIMIT_AS": limit * MEGABYTE})
    findings = finish(child, ENDS, sent=DEATHS)
    what = f"{named(place)} with {limit} MB"
    if child.code in [-number for number in DEATHS]:
        return what, [*place.judge(killed=True), *run_again(place)]
    return what, [*findings, *place.judge(code=child.code)]


def impatience(references: References, random: Random, name: str) -> Case:
    """Ctrl-C is pressed again and again."""
    place = draw_place(references, random, name)
    moment = random.uniform(0, place.reference.seconds)
    times, gap = random.randint(2, 5), random.uniform(0.001, 0.1)
    child = start(place, place.reference.command.arguments)

    def press() -> None:
        for _ in range(times):
            child.send(signal.SIGINT, group=True)
            time.sleep(gap)

    findings = finish(child, (0, 128 + signal.SIGINT), moment, press, {signal.SIGINT})
    what = f"{named(place)}, {times} × SIGINT every {gap:.3f} s from {moment:.3f} s"
    return what, [*findings, *judge_interrupted(place, child.code)]


FAULTS: tuple[Fault, ...] = (
    stdout_full, broken_pipe, closed_descriptors, no_stderr, few_descriptors, little_memory,
    impatience,
)  # fmt: skip
