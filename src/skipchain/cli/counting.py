"""Options of the commands that count text of any size, on this machine or on a cluster."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from skipchain.errors import SkipchainError

Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="What the database may take; more goes to disk.")
]
Scratch = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Where counts lie on disk until they are summed."),
]
Tokenised = Annotated[
    bool,
    typer.Option(
        "--tokenised",
        help="The texts are cut into words with spaces between them, a sentence a line.",
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Count on a Ray cluster: auto, or ray://HOST:PORT; all its machines must see the "
        "files.",
    ),
]
ClusterWorkers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="How many count on it; by default 2."),
]


def on_cluster(cluster: str | None, workers: int | None) -> dict[str, Any]:
    """The settings of counting on a cluster; none where it is this process that counts."""
    if cluster is None:
        if workers is not None:
            raise SkipchainError("--workers are those of a cluster; name one, as --cluster auto")
        return {}
    return {"cluster": cluster} if workers is None else {"cluster": cluster, "workers": workers}


def check_tokenised(tokenised: bool, format: str | None, columns: str | None) -> None:
    """Refuse options that tokenised texts do not have."""
    if tokenised and (format is not None or columns is not None):
        raise SkipchainError("--tokenised texts have neither --from nor --columns")
