"""``skipchain train --cluster``: what is read and learnt elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skipchain.cli import options
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skipchain.cluster import Cluster, Files
    from skipchain.corpus import Corpus

WORKERS = 2
READING = ("format", "columns", "label", "scheme", "charset", "repair", "max_bytes")


@dataclass(frozen=True)
class RemoteTraining:
    """A training whose data the workers of a cluster read."""

    cluster: Cluster

    @classmethod
    def of(
        cls, address: str | None, workers: int | None, threads: int | None, *, auto: bool
    ) -> RemoteTraining | None:
        """The training that options ask for; None where it is one of this process."""
        if address is None:
            if workers is not None:
                raise SkipchainError(
                    "--workers is how many processes of a cluster learn; give --cluster, too, or "
                    "--threads for this process"
                )
            return None
        if auto:
            raise SkipchainError("--auto tries settings on this machine; leave out --cluster")
        from skipchain.cluster import Cluster

        return cls(Cluster(address, workers=workers or WORKERS, threads=threads or 1))

    def files(self, paths: list[str], how: Mapping[str, Any]) -> Files:
        """The files that workers read, and how."""
        from skipchain.cluster import Files

        given = {name: how[name] for name in READING if how[name] is not None}
        if "columns" in given:
            given["columns"] = options.column_names(how["columns"])
        if "max_bytes" in given:
            given["max_bytes"] = options.parse_size(how["max_bytes"])
        return Files.of(paths, **given)

    def held_out(self, paths: list[str] | None, how: Mapping[str, Any]) -> Corpus | None:
        """The held-out data, which this process reads."""
        return options.read_corpora(paths, **how) if paths else None

    def told(self, estimator: Any) -> dict[str, Any]:
        """What the answer as JSON says of the training, and what columns the model reads."""
        model = estimator.model_
        facts = {name: model.summary[name] for name in ("workers", "replaced")}
        return {"columns": sorted(model.features.templates.columns), **facts}
