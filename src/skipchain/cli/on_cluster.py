"""``tag --cluster``: what labels the blocks of files on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.cluster.tagging import ClusterLabeller
    from skipchain.tagger import Tagger

WORKERS = 2  # where nobody says how many


def check_cluster(address: str | None, workers: int | None, *, blocks: bool) -> None:
    """Refuse what is not done on a cluster, before any work; ``blocks``: files are read in them."""
    if address is None:
        if workers is not None:
            raise SkipchainError("--workers are those of a cluster; give --cluster auto, too")
        return
    from skipchain.cluster.connection import check_address

    check_address(address)
    if not blocks:
        raise SkipchainError(
            "--cluster is for files in blocks; leave it out with --text, --force, --scheme, "
            "--repair and --separator"
        )


@contextmanager
def cluster_labeller(
    address: str | None, workers: int | None, threads: int | None, tagger: Tagger, *, quiet: bool
) -> Iterator[ClusterLabeller | None]:
    """What labels blocks on the cluster within the block; None where there is to be none."""
    if address is None:
        yield None
        return
    from skipchain.cli.waiting import waiting
    from skipchain.cluster.connection import Cluster
    from skipchain.cluster.tagging import ClusterLabeller

    with ExitStack() as stack:
        with waiting("connecting to the cluster", quiet=quiet):
            cluster = Cluster(address, workers=workers or WORKERS, threads=threads or 1)
            labeller = ClusterLabeller(stack.enter_context(cluster), tagger)
            stack.enter_context(labeller)
        yield labeller
