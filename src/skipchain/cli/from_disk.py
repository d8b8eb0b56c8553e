"""``skipchain train --scratch``: files that are read in blocks, into files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skipchain.cli.options import (
    about_labels,
    column_names,
    common_columns,
    joined,
    labels_wanted,
    parse_size,
    require_labels,
    say,
    shown,
)
from skipchain.cli.separators import format_separated, separator_named
from skipchain.cli.waiting import Activity, each_file, waiting
from skipchain.errors import ReadError, SkipchainError

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.scratch.folder import Need, Scratch

BLOCK = 1 << 16  # tokens


@contextmanager
def scratch_of(folder: str | None, *, auto: bool, cluster: str | None) -> Iterator[Scratch | None]:
    """The folder that --scratch names, if any, made ready."""
    if folder is None:
        yield None
        return
    if auto:
        raise SkipchainError(
            "--auto tries many models in memory, and --scratch is for more data than it holds; "
            "leave one out"
        )
    if cluster is not None:
        raise SkipchainError(
            "the workers of a cluster hold their features in memory, and --scratch is a folder of "
            "this machine; leave out --scratch or --cluster"
        )
    from skipchain.scratch.folder import Scratch

    with Scratch(folder) as scratch:
        yield scratch


def read_to_disk(paths: list[str], scratch: Scratch, *, quiet: bool, **how: Any) -> Corpus:
    """All files as one corpus whose columns lie in files; ``how`` is as for `read_corpora`."""
    from skipchain.scratch.gathering import gather

    with waiting("reading", plain=not quiet) as activity:
        corpora = [
            _read(path, scratch, activity, quiet=quiet, **how)
            for path in each_file(paths, activity)
        ]
    if len(corpora) == 1:
        return corpora[0]
    corpora = common_columns(corpora, paths, quiet=quiet)
    if len({corpus.scheme for corpus in corpora}) > 1:
        corpora = [joined(corpora, paths, quiet=quiet)]
    return gather((block for corpus in corpora for block in _blocks(corpus)), scratch)


def _read(
    path: str,
    scratch: Scratch,
    activity: Activity,
    *,
    format: str | None,
    columns: str | None,
    separator: str | None,
    scheme: str | None,
    label: str | None,
    charset: str | None,
    repair: bool | None,
    max_bytes: str | None,
    quiet: bool,
) -> Corpus:
    """One file, read block by block."""
    from skipchain.io.columns.reading import Reading
    from skipchain.io.scanning.scan import Scanned, scan_open
    from skipchain.io.schemes import resolve_scheme
    from skipchain.scratch.gathering import gather

    found = Scanned()
    options: dict[str, Any] = {
        "columns": column_names(columns),
        "scheme": scheme,
        "label": label,
        "charset": charset,
        "repair": repair,
        "max_bytes": parse_size(max_bytes),
    }
    if separator is not None:
        options["separator"] = separator_named(separator)
        format = format_separated(path, format, options["separator"])
    before = _state(path)
    with labels_wanted():
        blocks = scan_open(path, format, found, block=BLOCK, **options)
        corpus = gather(_counted(blocks, path, activity), scratch)
    if _state(path) != before:
        raise ReadError("the file changed while it was read; train again", path=shown(path))
    require_labels(corpus, path, found.format)
    if found.open:
        corpus = resolve_scheme(corpus, scheme, shown(path), repair=repair)
    if not quiet:
        reading = Reading.of(corpus, found.format, found.charset)
        told = about_labels(corpus, scheme_given=scheme is not None)
        say(f"{shown(path)}: {reading}{told}")
    return corpus


def _counted(blocks: Iterator[Corpus], path: str, activity: Activity) -> Iterator[Corpus]:
    """The blocks, with the labels that they must have."""
    tokens = 0
    for block in blocks:
        require_labels(block, path, "conll")
        tokens += block.n_tokens
        activity.update(f"reading {shown(path)}: {tokens:,} tokens")
        yield block


def _blocks(corpus: Corpus) -> Iterator[Corpus]:
    from skipchain.parallel import blocks

    for first, last in blocks(corpus.sentences, BLOCK):
        yield corpus[first:last]


def _state(path: str) -> tuple[int, int] | None:
    """What tells a file from what it was before; None for what is none."""
    from skipchain.io.files import STDIO

    if path == STDIO or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def tell_need(need: Need, corpus: Corpus, scratch: Scratch, *, quiet: bool) -> None:
    """Say what a training from disk will take; more disk than there is, is an error."""
    from skipchain.scratch.folder import gigabytes

    scratch.require(need.disk, "this training")
    if not quiet:
        say(
            f"{corpus.n_tokens:,} tokens from disk: about {gigabytes(need.disk)} in "
            f"{scratch.folder} ({gigabytes(scratch.free)} are free), about "
            f"{gigabytes(need.memory)} of memory"
        )
