"""Small jobs that compile what larger ones will need, so that nobody waits for it later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from skipchain.checks import check_choice
from skipchain.corpus import Corpus
from skipchain.datasets.harbour import harbour
from skipchain.errors import SkipchainError
from skipchain.kernels.kernel import compile_from_now_on
from skipchain.models.registry import model_kinds
from skipchain.tagger import Tagger, load

WHAT = ("tag", "train", "all")
SENTENCES = 24
FEATURES = {"hmm": "word", "iohmm": "word\nshape", "hrf": "word\nshape", "rbm-crf": "word\nshape"}
"""Of kinds that have few features; others have the standard ones."""
STANDARD = "ner"

Job = Callable[[], None]


def warming_jobs(what: str, threads: int | None = None) -> dict[str, Job]:
    """The jobs, by what they are about; each compiles what is not compiled yet.

    ``tag`` is what tagging needs, ``train`` the default training, too, and ``all`` every kind of
    model.

    >>> list(warming_jobs("train"))
    ['tagging', 'training crf']
    """
    check_choice("what", what, WHAT)
    few = harbour()[:SENTENCES]
    jobs: dict[str, Job] = {"tagging": lambda: _tag(load(threads=threads), few)}
    if what != "tag":
        kinds = list(model_kinds()) if what == "all" else ["crf"]
        jobs |= {f"training {kind}": _training(kind, few, threads) for kind in kinds}
    return {name: _compiled(job) for name, job in jobs.items()}


def _compiled(job: Job) -> Job:
    """The job, for which kernels are compiled however little it is."""

    def run() -> None:
        compile_from_now_on()
        job()

    return run


def _training(kind: str, few: Corpus, threads: int | None) -> Job:
    """Train a model of a kind for a moment, and tag with it."""

    def run() -> None:
        estimator: Any = model_kinds()[kind].load()
        estimator = estimator(FEATURES.get(kind, STANDARD), threads=threads)
        _tag(Tagger(estimator.for_warmup().fit(few).fitted, threads), few)

    return run


def _tag(tagger: Tagger, few: Corpus) -> None:
    """Tag with all that a model can say, and with its chain alone where it has factors."""
    tagger.predict(few.without_labels())
    for asked in ({"confidences": True}, {"probabilities": True}, {"nbest": 2}):
        with suppress(SkipchainError):  # which says that a model has none
            tagger.predict(few.without_labels(), **asked)
    chain = tagger.without_factors()
    if chain is not None:
        _tag(chain, few)
