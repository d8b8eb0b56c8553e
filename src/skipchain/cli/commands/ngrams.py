"""``skipchain ngrams``: counts of n-grams, questions to them, word lists from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from skipchain.cli.gone import Command
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
from skipchain.cli.waiting import file_size, waiting
from skipchain.report.printable import printable

if TYPE_CHECKING:
    from skipchain.resources.ngrams import NgramStore

Store = Annotated[str, typer.Argument(metavar="STORE", help="A folder with counts of n-grams.")]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="STORE", help="The folder to write the counts to.")
]
MinCount = Annotated[int, typer.Option(help="Leave out rarer n-grams.")]

app = typer.Typer(
    name="ngrams",
    help="Count n-grams of text, ask for what stands in a pattern, make word lists of it.",
    no_args_is_help=True,
)


@app.command(cls=Command, epilog="Example: skipchain ngrams count news.txt.gz -o counts")
def count(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="Plain texts, or labelled files.")
    ],
    output: Output,
    orders: Annotated[int, typer.Option(metavar="N", help="Count 1-grams to N-grams.")] = 5,
    min_count: MinCount = 1,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS", help="Learn which words have which part of speech from this, too."
        ),
    ] = None,
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
    quiet: Quiet = False,
) -> None:
    """Count the n-grams of texts; they may be larger than memory."""
    from skipchain.resources.ngrams import NgramStore

    check_tokenised(tokenised, format, columns)
    count_ngrams: Callable[..., NgramStore] = NgramStore.count
    if counting := on_cluster(cluster, workers):
        from skipchain.cluster.counts import count_ngrams
    with _progress("counting", texts, quiet) as watch:
        store = count_ngrams(
            texts,
            output,
            orders=orders,
            min_count=min_count,
            tags=tags or (),
            format=format,
            columns=column_names(columns),
            charset=charset,
            max_bytes=parse_size(max_bytes),
            tokenised=tokenised,
            overwrite=overwrite,
            memory=memory,
            scratch=scratch,
            watch=watch,
            **counting,
        )
    if not quiet:
        _tell(store, output)


@app.command(
    "import", cls=Command, epilog="Example: skipchain ngrams import vocabulary.tsv -o counts"
)
def load(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Lines of n-gram, tab, count; or CSV headed ngram,freq."
        ),
    ],
    output: Output,
    min_count: MinCount = 1,
    memory: Memory = "1GB",
    scratch: Scratch = None,
    charset: Charset = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Read published counts of n-grams (Web 1T, Google Books)."""
    from skipchain.resources.ngrams import NgramStore

    with _progress("reading", files, quiet) as watch:
        store = NgramStore.load(
            files,
            output,
            min_count=min_count,
            charset=charset,
            overwrite=overwrite,
            memory=memory,
            scratch=scratch,
            watch=watch,
        )
    if not quiet:
        _tell(store, output)


@app.command(cls=Command, epilog='Example: skipchain ngrams query counts "mayor of <Cap>"')
def query(
    store: Store,
    pattern: Annotated[
        str,
        typer.Argument(
            help="Words, (one|of|several), slots *, classes such as <Cap> or <NN>: "
            "'died in (a|an) * accident'."
        ),
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Show so many.")] = 50,
    json: Json = False,
) -> None:
    """Print the words that fill the slots of a pattern, with counts."""
    from skipchain.resources.ngrams import NgramStore

    fillers = NgramStore.open(store).query(pattern, limit)
    if json:
        print_json([asdict(filler) for filler in fillers])
        return
    for filler in fillers:
        print(f"{printable(filler.text)}\t{filler.count}")


@app.command(
    cls=Command, epilog="Example: skipchain ngrams harvest counts --members seeds.tsv -o cities.lst"
)
def harvest(
    store: Store,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="LEXICON", help="The file to write ('-': stdout)."),
    ] = "-",
    members: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Members to begin with: CLASS, tab, phrase; or a phrase a line."
        ),
    ] = None,
    patterns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Patterns to begin with: CLASS, tab, pattern; or a pattern a line."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", help="Rounds of patterns and members.")] = 5,
    per_round: Annotated[
        int, typer.Option(metavar="N", help="New members of a class in each round.")
    ] = 20,
    words: Annotated[int, typer.Option(metavar="N", help="Words of a member at most.")] = 2,
    json: Json = False,
    overwrite: Overwrite = False,
) -> None:
    """Make word lists: members give patterns, patterns give members, in rounds."""
    from skipchain.io.files import check_target
    from skipchain.resources.gazetteer import harvest as gather
    from skipchain.resources.gazetteer import read_seeds
    from skipchain.resources.ngrams import NgramStore

    if output != "-":
        check_target(output, overwrite)
    harvested = gather(
        NgramStore.open(store),
        read_seeds(members or ()),
        read_seeds(patterns or ()),
        rounds=rounds,
        per_round=per_round,
        words=words,
    )
    if json:
        print_json(
            {
                "members": [asdict(member) for member in harvested.members],
                "patterns": [asdict(context) for context in harvested.contexts],
            }
        )
    if not json or output != "-":
        harvested.write(output, overwrite=overwrite)


@contextmanager
def _progress(what: str, files: list[str], quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """Tell the file and how many tokens were counted; of a file that is read whole, afterwards."""
    sizes = list(map(file_size, files))
    counted, seen = 0, {files[0]}
    with waiting(what, quiet=quiet) as activity:
        activity.progress(0, sum(sizes), _file_name(files[0]))

        def watch(source: str, tokens: int) -> None:
            nonlocal counted
            counted += tokens
            seen.add(source)
            done, shown = len(seen), _file_name(source)
            if what == "counting":
                done, shown = len(seen) - 1, f"{shown}  {counted:,} tokens"
            activity.progress(sum(sizes[:done]), sum(sizes), shown)

        yield watch


def _file_name(path: str) -> str:
    return printable(Path(path).name)


def _tell(store: NgramStore, path: str) -> None:
    from skipchain.corpus.corpus import plural

    sizes = ", ".join(
        f"{plural(part.rows, f'{order}-gram')}" for order, part in store.manifest.orders.items()
    )
    say(f"{path}: {sizes}" + ("; parts of speech" if store.manifest.tags else ""))
