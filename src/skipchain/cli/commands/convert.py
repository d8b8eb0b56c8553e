"""``skipchain convert``: from one format or scheme to another."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from skipchain.cli.options import (
    FIELDS,
    Charset,
    Columns,
    Format,
    Label,
    MaxBytes,
    Overwrite,
    Quiet,
    Repair,
    Scheme,
    Separator,
    may_be_fields,
    read_corpora,
)
from skipchain.cli.waiting import waiting
from skipchain.errors import SkipchainError
from skipchain.watching import watched


def convert(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="A file to read ('-': stdin).")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[OUTPUT]", help="A file to write ('-': stdout); or -o.", show_default=False
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="The file to write, as in OUTPUT."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="The output's format; by default that of its ending, on stdout conll.",
        ),
    ] = None,
    to_scheme: Annotated[str | None, typer.Option(help="Write the labels in this scheme.")] = None,
    lossy: Annotated[
        bool,
        typer.Option("--lossy", help="Allow a scheme that merges neighbouring spans of one type."),
    ] = False,
    format: Format = None,
    columns: Columns = None,
    separator: Separator = None,
    label: Label = None,
    scheme: Scheme = None,
    charset: Charset = None,
    repair: Repair = None,
    max_bytes: MaxBytes = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Convert a labelled file to another format, another scheme, or both."""
    from skipchain.corpus.schemes import check_scheme
    from skipchain.corpus.schemes import convert as rewrite
    from skipchain.io.files import check_target

    target = _target(source, target, output)
    if target != "-":
        check_target(target, overwrite)
    corpus = read_corpora(
        [source],
        format=format,
        columns=columns,
        separator=separator,
        scheme=scheme,
        charset=charset,
        label=label,
        repair=repair,
        max_bytes=max_bytes,
        quiet=quiet,
    )
    if (repair or to_scheme) and (not corpus.labelled or corpus.scheme is None):
        raise SkipchainError(
            f"{source}: the labels follow no known scheme, so they cannot be converted; "
            "name it with --scheme"
            + FIELDS
            * (corpus.labelled and may_be_fields(corpus.labels.values))
        )
    if to_scheme and corpus.scheme is not None:
        wanted = check_scheme(to_scheme)
        labels = rewrite(corpus.labels, corpus.sentences, corpus.scheme, wanted, lossy=lossy)
        corpus = corpus.with_labels(labels, wanted)
    told = waiting("writing", quiet=quiet or target == "-")
    with told as activity, watched(activity.progress):
        corpus.write(target, to or ("conll" if target == "-" else None), overwrite=overwrite)


def _target(source: str, target: str | None, output: str | None) -> str:
    """The file to write, which is named once: as an argument or with -o."""
    if target is not None and output is not None:
        raise SkipchainError(f"{target} and -o {output}: one file is written; name one of them")
    found = output if target is None else target
    if found is None:
        raise SkipchainError(
            f"where is {source} to be written ('-': stdout)? name a file, such as: "
            f"skipchain convert {shlex.quote(source)} -o OUT.jsonl"
        )
    return found
