"""The data of ``skipchain train``: read here, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skipchain.cli import options
from skipchain.cli.columns import RICHER, RICHER_RECIPE, check_left_out, tell_needs
from skipchain.cli.from_disk import read_to_disk, tell_need
from skipchain.cli.separators import format_separated, separator_named
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.cluster import Cluster, Files
    from skipchain.corpus import Corpus
    from skipchain.models.base.estimator import BaseEstimator
    from skipchain.scratch.folder import Scratch

WORKERS = 2
READING = ("format", "columns", "separator", "label", "scheme", "charset", "repair", "max_bytes")


@dataclass(frozen=True)
class DataHere:
    """A corpus to learn from, in memory or in files of a ``room``, and the held-out one."""

    corpus: Corpus
    held_out: Corpus | None
    room: Scratch | None = None

    @classmethod
    def read(
        cls,
        files: list[str],
        dev: list[str] | None,
        left_out: Sequence[str],
        how: Mapping[str, Any],
        room: Scratch | None,
    ) -> DataHere:
        """Both from their files."""
        if room is None:
            corpus = options.read_corpora(files, **how)
        else:
            own = {name: value for name, value in how.items() if name != "labelled"}
            corpus = read_to_disk(files, room, **own)
        check_left_out(left_out, corpus)
        held_out = None
        if dev:
            held_out = options.as_in(options.read_corpora(dev, **how), corpus.scheme)
        return cls(corpus, held_out, room)

    @property
    def fitting(self) -> dict[str, Any]:
        """What `fit` takes for the data."""
        return {"dev": self.held_out, "scratch": self.room}

    def prepared(self, estimator: BaseEstimator, display: Any) -> tuple[BaseEstimator, Any]:
        """The estimator with what is fitted before it, and what it is to learn from."""
        if self.room is not None:
            return estimator, self.corpus
        return estimator.fit_annotators(self.corpus, display)

    def tell_needs(
        self, estimator: BaseEstimator, settings: Mapping[str, Any], *, quiet: bool
    ) -> None:
        """Say what the training will take of a disk, and what the model will need to tag."""
        if self.room is not None:
            need = estimator.expected_need(self.corpus)
            tell_need(need, self.corpus, self.room, quiet=quiet)
        if quiet:
            return
        richer = RICHER if settings["recipe"] is None else RICHER_RECIPE
        asked = settings["features"] is not None
        tell_needs(estimator.reads(self.corpus), self.corpus, None if asked else richer)

    def answer(self, estimator: BaseEstimator) -> dict[str, Any]:
        """What the answer as JSON says of the data."""
        reads = estimator.reads(self.corpus)
        return {"columns": [name for name in self.corpus.columns if name in reads]}

    def advise(self, settings: Mapping[str, Any]) -> None:
        """Say what is worth trying, if anything is."""
        if self.room is not None:  # which it would not fit
            return
        from skipchain.selection.advice import advice

        if (told := advice(self.corpus, settings)) is not None:
            options.say(told)


@dataclass(frozen=True)
class DataElsewhere:
    """Files that the workers of a cluster read, and a held-out corpus that is read here."""

    cluster: Cluster
    files: Files
    held_out: Corpus | None

    @classmethod
    def read(
        cls,
        cluster: Cluster,
        files: list[str],
        dev: list[str] | None,
        left_out: Sequence[str],
        how: Mapping[str, Any],
    ) -> DataElsewhere:
        """The files by name, and the held-out data."""
        from skipchain.cluster import Files

        given = {name: how[name] for name in READING if how[name] is not None}
        if "columns" in given:
            given["columns"] = options.column_names(how["columns"])
        if "max_bytes" in given:
            given["max_bytes"] = options.parse_size(how["max_bytes"])
        if "separator" in given:
            given["separator"] = separator_named(how["separator"])
            given["format"] = format_separated(files[0], how["format"], given["separator"])
        named = replace(Files.of(files, **given), left_out=tuple(left_out))
        return cls(cluster, named, options.read_corpora(dev, **how) if dev else None)

    @property
    def fitting(self) -> dict[str, Any]:
        """What `fit` takes for the data."""
        return {"dev": self.held_out, "cluster": self.cluster}

    def prepared(self, estimator: BaseEstimator, display: Any) -> tuple[BaseEstimator, Any]:
        """The estimator, and what it is to learn from."""
        return estimator, self.files

    def tell_needs(
        self, estimator: BaseEstimator, settings: Mapping[str, Any], *, quiet: bool
    ) -> None:
        """Nothing is known of the data yet."""

    def answer(self, estimator: Any) -> dict[str, Any]:
        """What the answer as JSON says of the data."""
        model = estimator.model_
        facts = {name: model.summary[name] for name in ("workers", "replaced")}
        return {"columns": sorted(model.features.templates.columns), **facts}

    def advise(self, settings: Mapping[str, Any]) -> None:
        """What is worth trying is said of data that are read here."""


def read_data(
    cluster: Cluster | None,
    files: list[str],
    dev: list[str] | None,
    left_out: Sequence[str],
    how: Mapping[str, Any],
    room: Scratch | None,
) -> DataHere | DataElsewhere:
    """The data of files, read here (into the ``room``) unless a cluster is to do so."""
    if cluster is None:
        return DataHere.read(files, dev, left_out, how, room)
    return DataElsewhere.read(cluster, files, dev, left_out, how)


def cluster_of(
    address: str | None, workers: int | None, threads: int | None, *, auto: bool
) -> Cluster | None:
    """The cluster that options name; None where the training is one of this process."""
    if address is None:
        if workers is not None:
            raise SkipchainError(
                "--workers is how many processes of a cluster learn; give --cluster auto, too, or "
                "--threads for this process"
            )
        return None
    if auto:
        raise SkipchainError("--auto tries settings on this machine; leave out --cluster")
    from skipchain.cluster import Cluster

    return Cluster(address, workers=workers or WORKERS, threads=threads or 1)
