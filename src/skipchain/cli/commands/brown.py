"""``skipchain brown``: cluster the words of raw text."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import (
    Charset,
    Columns,
    Format,
    Json,
    MaxBytes,
    Overwrite,
    Quiet,
    parse_size,
    print_json,
    read_corpora,
    say,
)

if TYPE_CHECKING:
    from skipchain.corpus import Corpus


def brown(
    files: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="Texts, or files of any other format ('-': stdin)."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATHS", help="The file of clusters to write.")
    ],
    clusters: Annotated[int, typer.Option("--clusters", "-c", min=1, help="How many.")] = 500,
    min_count: Annotated[int, typer.Option(min=1, help="Leave out rarer words.")] = 5,
    exchange: Annotated[
        int,
        typer.Option(
            metavar="ROUNDS", min=0, help="Rounds in which words move to better clusters."
        ),
    ] = 0,
    tokenised: Annotated[
        bool,
        typer.Option(
            "--tokenised",
            help="The texts are cut into words with spaces between them, a sentence a line.",
        ),
    ] = False,
    format: Format = None,
    columns: Columns = None,
    charset: Charset = None,
    max_bytes: MaxBytes = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the words of texts by their neighbours (Brown clusters); labels are not needed.

    Each line of the output is a path in a binary tree as bits, a word and its count. Words whose
    paths begin alike are used alike.
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.waiting import each_file, waiting
    from skipchain.corpus.corpus import plural
    from skipchain.errors import SkipchainError
    from skipchain.io.files import STDIO, check_target
    from skipchain.resources.bigrams import Bigrams
    from skipchain.resources.brown import induce, mutual_information

    if output != STDIO:
        check_target(output, overwrite)
    if json and output == STDIO:
        raise SkipchainError("--json and the clusters cannot both go to stdout; give -o a file")
    if tokenised and (format is not None or columns is not None):
        raise SkipchainError("--tokenised texts have neither --from nor --columns")
    began = time.perf_counter()
    with waiting("counting", quiet=quiet) as activity:
        bigrams = Bigrams.count(
            _parts(each_file(files, activity), format, columns, charset, max_bytes, tokenised),
            min_count,
        )
    if not quiet:
        say(
            f"{plural(bigrams.tokens, 'token')}; {plural(len(bigrams.words), 'word')} to cluster, "
            f"{plural(len(bigrams.pair_counts), 'pair')} of neighbours"
        )
    with compile_notice(quiet=quiet), waiting("clustering", quiet=quiet) as activity:
        clustering = induce(
            bigrams, clusters, min_count, exchange=exchange, progress=activity.progress
        )
        mutual = mutual_information(bigrams, clustering)
    clustering.write(output, overwrite=overwrite)
    seconds = time.perf_counter() - began
    if json:
        print_json(
            {
                "output": output,
                "tokens": bigrams.tokens,
                "words": len(clustering),
                "clusters": len(clustering.paths),
                "information": mutual,
                "seconds": round(seconds, 3),
            }
        )
    elif not quiet:
        say(
            f"wrote {output}: {plural(len(clustering), 'word')} in "
            f"{plural(len(clustering.paths), 'cluster')}; mutual information {mutual:.4f} nats; "
            f"{seconds:.1f} s"
        )


def _parts(
    files: Iterable[str],
    format: str | None,
    columns: str | None,
    charset: str | None,
    max_bytes: str | None,
    tokenised: bool,
) -> Iterator[Corpus | Sequence[str]]:
    """The files one after the other, as corpora or as sentences."""
    from skipchain.corpus.schemes import NO_SCHEME
    from skipchain.io.files import read_content

    for path in files:
        if not tokenised:
            yield read_corpora(
                [path],
                format=format,
                columns=columns,
                scheme=NO_SCHEME,
                charset=charset,
                max_bytes=max_bytes,
            )
            continue
        text = read_content(path, parse_size(max_bytes), charset=charset, named=True)
        yield from map(str.split, text.split("\n"))
