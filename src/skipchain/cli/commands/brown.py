"""``skipchain brown``: cluster the words of raw text."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.counting import (
    ClusterAddress,
    ClusterWorkers,
    Memory,
    Scratch,
    Tokenised,
    check_tokenised,
    on_cluster,
)
from skipchain.cli.options import (
    Charset,
    Columns,
    Format,
    Json,
    MaxBytes,
    Overwrite,
    Quiet,
    column_names,
    parse_size,
    print_json,
    say,
)

if TYPE_CHECKING:
    from skipchain.resources.bigrams import Bigrams


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
    tokenised: Tokenised = False,
    memory: Memory = "1GB",
    scratch: Scratch = None,
    cluster: ClusterAddress = None,
    workers: ClusterWorkers = None,
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
    paths begin alike are used alike. The texts may be larger than memory, with DuckDB.
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.waiting import each_file, waiting
    from skipchain.corpus.corpus import plural
    from skipchain.errors import SkipchainError
    from skipchain.io.files import STDIO, check_target
    from skipchain.resources.brown import induce, mutual_information

    if output != STDIO:
        check_target(output, overwrite)
    if json and output == STDIO:
        raise SkipchainError("--json and the clusters cannot both go to stdout; give -o a file")
    check_tokenised(tokenised, format, columns)
    counting = on_cluster(cluster, workers)
    how: dict[str, Any] = {
        "format": format,
        "columns": column_names(columns),
        "charset": charset,
        "max_bytes": parse_size(max_bytes),
        "tokenised": tokenised,
    }
    space: dict[str, Any] = {"memory": memory, "scratch": scratch}
    began = time.perf_counter()
    with waiting("counting", quiet=quiet) as activity:
        if counting:
            from skipchain.cluster.counts import count_bigrams

            bigrams = count_bigrams(files, min_count, **counting, **how, **space)
        else:
            bigrams = _counted(each_file(files, activity), min_count, how, space)
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


def _counted(
    files: Iterable[str], min_count: int, how: dict[str, Any], space: dict[str, Any]
) -> Bigrams:
    """The words and pairs of the files, read one after the other in blocks."""
    from skipchain.resources.bigrams import Bigrams
    from skipchain.resources.texts import TextSource

    sources = (TextSource(path, **how, labels=False) for path in files)
    blocks = (corpus for source in sources for corpus in source.corpora())
    return Bigrams.count(blocks, min_count, **space)
