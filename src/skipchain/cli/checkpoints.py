"""Checkpoints of ``skipchain train``: where they are kept, and how a training goes on from one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skipchain.cli.options import say
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.modelfile.checkpoint import Checkpoint

BESIDE = ("--checkpoint", "--checkpoint-every", "--resume", "--threads")
FLAGS = ("--overwrite", "--json", "--quiet", "-q")
"""What may stand beside --resume where the checkpoint is to give the rest of the command."""
OF_ONE_RUN = {"--checkpoint": True, "--resume": True, "--overwrite": False}
"""Options that a checkpoint does not keep, and whether they have a value."""


def completed(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command; with hardly more than --resume, those of the checkpoint first.

    What the command had as --overwrite has to be given again: a file from elsewhere replaces
    nothing.

    >>> completed(["train.conll", "-o", "m.skip"])
    ['train.conll', '-o', 'm.skip']
    """
    given = list(arguments)
    paths, rest = [], iter(given)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in BESIDE:
            value = value if equals else next(rest, "")
            paths += [value] if name == "--resume" else []
        elif word not in FLAGS:
            return given
    if not paths:
        return given
    from skipchain.modelfile.checkpoint import read_checkpoint

    kept = kept_arguments(read_checkpoint(paths[-1])[1])
    if not {"--quiet", "-q"} & {*given, *kept}:
        say(f"going on with: {shlex.join(['skipchain', 'train', *kept, *given])}")
    return [*kept, *given]


def kept_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments that a checkpoint keeps.

    >>> kept_arguments(["a.conll", "--checkpoint=c", "-o", "m", "--resume", "c", "--overwrite"])
    ['a.conll', '-o', 'm']
    """
    kept, rest = [], iter(arguments)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in OF_ONE_RUN:
            kept.append(word)
        elif OF_ONE_RUN[name] and not equals:
            next(rest, None)
    return kept


def check_checkpoint(
    checkpoint: str | None, resume: str | None, every: str | None, output: str, *, auto: bool
) -> None:
    """Refuse options that do not go together."""
    from skipchain.modelfile.checkpoint import parse_every

    path = checkpoint if resume is None else resume
    if every is not None:
        if path is None:
            raise SkipchainError("--checkpoint-every says how often; give --checkpoint FILE, too")
        parse_every(every)
    if path is None:
        return
    if None not in (checkpoint, resume) and checkpoint != resume:
        raise SkipchainError(
            f"--resume {resume} goes on writing to that file; leave --checkpoint {checkpoint} out"
        )
    if auto:
        raise SkipchainError("--auto trains many models, and a checkpoint is of one; leave one out")
    if os.path.realpath(path) == os.path.realpath(output):
        raise SkipchainError(f"{path} cannot be the model and its checkpoint; name another file")


@contextmanager
def checkpoint_of(
    checkpoint: str | None, resume: str | None, every: str | None, *, overwrite: bool, quiet: bool
) -> Iterator[Checkpoint | None]:
    """The checkpoint that options name, if any; it is not left behind by what did not begin."""
    path = checkpoint if resume is None else resume
    if path is None:
        yield None
        return
    from skipchain.modelfile.checkpoint import EVERY, Checkpoint

    missing = resume is not None and not os.path.exists(path)
    kept = Checkpoint(
        path,
        every=every or EVERY,
        resume=resume is not None,
        overwrite=overwrite,
        arguments=kept_arguments(completed(sys.argv[2:])) if missing or resume is None else (),
    )
    kept.prepare()
    if missing and not quiet:
        say(f"{path}: there is no such file yet; the training begins at the beginning")
    try:
        yield kept
    except SkipchainError:
        kept.discard()
        raise


def end_checkpoint(kept: Checkpoint, output: str, reason: str, *, quiet: bool) -> None:
    """Remove the checkpoint of a model that is written; keep that of an interrupted training."""
    from skipchain.learn.step import INTERRUPTED

    if reason != INTERRUPTED:
        kept.remove()
    elif not quiet:
        again = shlex.join(["skipchain", "train", "--resume", str(kept.path), "--overwrite"])
        say(f"{output} has what was learnt so far; to go on: {again}")
