"""``skipchain convert``: from one format or scheme to another."""

from __future__ import annotations

from typing import Annotated

import typer

from skipchain.cli.options import (
    Columns,
    Format,
    MaxBytes,
    Overwrite,
    Quiet,
    Scheme,
    read_corpora,
    say,
)
from skipchain.errors import SkipchainError

SHOWN = 5


def convert(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="A file to read ('-': stdin).")],
    target: Annotated[str, typer.Argument(metavar="OUTPUT", help="A file to write ('-': stdout).")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", help="The output's format; by default that of its ending."
        ),
    ] = None,
    to_scheme: Annotated[str | None, typer.Option(help="Write the labels in this scheme.")] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend labels that break their scheme, and say which.")
    ] = False,
    lossy: Annotated[
        bool,
        typer.Option("--lossy", help="Allow a scheme that merges neighbouring spans of one type."),
    ] = False,
    format: Format = None,
    columns: Columns = None,
    scheme: Scheme = None,
    max_bytes: MaxBytes = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Convert a labelled file to another format, another scheme, or both."""
    from skipchain.corpus.corpus import plural
    from skipchain.corpus.schemes import check_scheme
    from skipchain.corpus.schemes import convert as rewrite
    from skipchain.corpus.schemes import repair as mend
    from skipchain.io.files import check_target

    if target != "-":
        check_target(target, overwrite)
    corpus = read_corpora(
        [source], format=format, columns=columns, scheme=scheme, max_bytes=max_bytes, quiet=quiet
    )
    if (repair or to_scheme) and (not corpus.labelled or corpus.scheme is None):
        raise SkipchainError(
            f"{source}: the labels follow no known scheme, so they cannot be converted; "
            "name it with --scheme"
        )
    if repair and corpus.scheme is not None:
        labels, mended = mend(corpus.labels, corpus.sentences, corpus.scheme)
        corpus = corpus.with_labels(labels, corpus.scheme)
        if not quiet:
            say(f"{source}: {plural(len(mended), 'label')} mended")
            for violation in mended[:SHOWN]:
                say(f"  {violation}")
            if len(mended) > SHOWN:
                say(f"  and {len(mended) - SHOWN} more")
    if to_scheme and corpus.scheme is not None:
        wanted = check_scheme(to_scheme)
        labels = rewrite(corpus.labels, corpus.sentences, corpus.scheme, wanted, lossy=lossy)
        corpus = corpus.with_labels(labels, wanted)
    corpus.write(target, to, overwrite=overwrite)
