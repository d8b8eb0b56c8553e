"""Training and tagging on a Ray cluster; the engine comes with the extra ``skipchain[ray]``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skipchain.cluster.batch_tagger import BatchTagger
    from skipchain.cluster.connection import Cluster, ClusterError
    from skipchain.cluster.sources import Files
    from skipchain.cluster.tagging import ClusterLabeller

__all__ = ["BatchTagger", "Cluster", "ClusterError", "ClusterLabeller", "Files"]

# Names are imported when they are first used: training needs no tagger.
_WHERE = {
    "BatchTagger": "skipchain.cluster.batch_tagger",
    "Cluster": "skipchain.cluster.connection",
    "ClusterError": "skipchain.cluster.connection",
    "ClusterLabeller": "skipchain.cluster.tagging",
    "Files": "skipchain.cluster.sources",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'skipchain.cluster' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
