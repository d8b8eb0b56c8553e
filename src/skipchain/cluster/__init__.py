"""Training and tagging on a Ray cluster; the engine comes with the extra ``skipchain[ray]``."""

from skipchain.cluster.connection import Cluster, ClusterError
from skipchain.cluster.sources import Files

__all__ = ["Cluster", "ClusterError", "Files"]
