"""What training and tagging cost on many machines: a model of times, and a simulation of steps.

All constants of a machine are measured (`benchmarks.scale`); those of a network, of disks and of
machines that fail are assumed, and stand in `Assumptions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np

FAN_IN = 8  # results that one worker adds up, as in skipchain.cluster
A_WEIGHT = 8  # bytes


@dataclass(frozen=True)
class Constants:
    """What one core of one machine takes, in seconds and bytes."""

    tag: float
    """seconds a token, from file to file"""
    encode: float
    """seconds a token, to read it and build its index"""
    evaluate: float
    """seconds a token, of a loss and its gradient"""
    step: float
    """seconds a token, of an epoch of stochastic steps"""
    vector: float
    """seconds a weight and iteration, of L-BFGS beside the evaluations"""
    add: float
    """seconds a weight, of adding one gradient to another"""
    copy: float
    """seconds a byte, into the store that processes share and out of it again"""
    call: float
    """seconds of asking all workers something, and of their answers"""
    index: float
    """bytes a token"""
    text: float
    """bytes a token, in a file of columns"""
    weights: float
    growth: float
    """N tokens have ``weights`` · N ^ ``growth`` weights"""
    spread: float
    """standard deviation of the time of a worker's step, in parts of the time"""
    evaluations: float = 1.15
    """evaluations an iteration of L-BFGS"""
    iterations: int = 117
    """iterations of L-BFGS"""
    epochs: int = 30

    def weights_of(self, tokens, most):
        """How many weights so many tokens have, where rare features are left out above ``most``."""
        return min(self.weights * tokens**self.growth, most)


@dataclass(frozen=True)
class Assumptions:
    """What was not measured here."""

    bandwidth: float = 1.25e9
    """bytes a second that a machine sends and receives (10 Gbit/s)"""
    latency: float = 2e-4
    """seconds a message between machines"""
    disk: float = 5e8
    """bytes a second that a machine reads from its disk"""
    most_weights: float = 1e8
    """what ``min_count`` is set for: 0.8 GB a vector"""
    failures: float = 1 / (30 * 86_400)
    """a second and worker: one in a month"""
    restart: float = 30.0
    """seconds until a lost worker is missed and replaced"""


NETWORK = Assumptions()
LOCAL = Assumptions(bandwidth=float("inf"), latency=0.0)
"""Several workers on the machine where the constants were measured."""


def send_seconds(weights, workers, own, there):
    """A vector from the driver to all: put once, then from each machine that has it to another."""
    size = A_WEIGHT * weights
    hops = ceil(log2(workers + 1)) if workers else 0
    return own.copy * size + hops * (size / there.bandwidth + there.latency)


def gather_seconds(weights, workers, own, there):
    """The sum of a vector of each: by eights on the way, then by the driver."""
    size, spent, left = A_WEIGHT * weights, 0.0, workers
    while left > 0:
        together = min(left, FAN_IN)
        each = size / there.bandwidth + own.copy * size + own.add * weights
        spent += together * each + there.latency
        left = 0 if left <= FAN_IN else ceil(left / FAN_IN)
    return spent


def exchange_seconds(weights, workers, own, there):
    """All that a step costs beside what the workers compute; nothing where one process has all."""
    if workers == 0:
        return 0.0
    sent = send_seconds(weights, workers, own, there)
    return own.call + sent + gather_seconds(weights, workers, own, there)


def lbfgs_seconds(tokens, workers, weights, own, there):
    """An iteration of L-BFGS; no ``workers``: one process of one thread."""
    compute = own.evaluate * tokens / max(1, workers)
    exchange = exchange_seconds(weights, workers, own, there)
    return own.evaluations * (compute + exchange) + own.vector * weights


def sgd_seconds(tokens, workers, weights, own, there):
    """An epoch over shards, whose weights are then averaged."""
    compute = own.step * tokens / max(1, workers)
    return compute + exchange_seconds(weights, workers, own, there)


def tag_seconds(tokens, workers, own, there, cores=1):
    """Tagging of files that each worker reads and writes by itself."""
    disk = own.text * 2 * tokens / (there.disk * max(1, workers) / cores)
    return max(own.tag * tokens / max(1, workers), disk)


def break_even(weights, own, there, cost=lbfgs_seconds):
    """The tokens from which on two workers take less time than one process; bisected."""
    low, high = 1.0, 1e15
    for _ in range(200):
        middle = (low * high) ** 0.5
        two, one = (cost(middle, workers, weights, own, there) for workers in (2, 0))
        low, high = (middle, high) if two > one else (low, middle)
    return high


@dataclass(frozen=True)
class Simulated:
    """The seconds of a whole training, and how it came by them."""

    seconds: float
    compute: float
    waiting: float
    exchange: float
    lost: int


def simulate(tokens, workers, rounds, compute, beside, own, there, seed=0):
    """A training of so many rounds: each waits for the slowest worker, some workers are lost.

    ``compute`` is the time of a token, ``beside`` what a round costs besides. The times of workers
    vary by the measured spread around their mean (a gamma distribution); a lost worker is replaced,
    reads its shard again, and the round is repeated.
    """
    rng = np.random.default_rng(seed)
    mean = compute * tokens / workers
    shape = 1 / max(own.spread, 1e-6) ** 2
    total, waiting, lost = 0.0, 0.0, 0
    reload = own.encode * tokens / workers + there.restart
    for _ in range(rounds):
        while True:
            times = rng.gamma(shape, mean / shape, workers)
            slowest = float(times.max())
            total += slowest + beside
            failed = rng.random() < 1 - np.exp(-there.failures * workers * (slowest + beside))
            if not failed:
                break
            lost += 1
            total += reload
        waiting += slowest - mean
    return Simulated(total, mean * rounds, waiting, beside * rounds, lost)
