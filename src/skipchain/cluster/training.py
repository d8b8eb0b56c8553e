"""Training on a cluster: what `fit` does with ``cluster=``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem, Monitor
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.cluster.connection import Cluster
from skipchain.cluster.shard import AgreedTerms
from skipchain.cluster.sharded import ShardedData
from skipchain.cluster.sources import Files
from skipchain.cluster.team import Team
from skipchain.corpus import Corpus
from skipchain.corpus.column import Column
from skipchain.corpus.schemes import check_scheme, is_no_scheme
from skipchain.errors import ParameterError
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.features.templates import Templates
from skipchain.models.base.labelled import labelled
from skipchain.models.base.model import legal_transitions
from skipchain.models.base.progress import TrainingSize
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.models.chain.model import ChainModel

KINDS = ("crf", "memm", "maxent", "perceptron")


def train_on_cluster(
    estimator: ChainEstimator, X: Any, y: Any, cluster: Cluster | str, task: TrainingTask
) -> Fitted:
    """The model of a task whose data are read, or sent to, the workers of a cluster."""
    check_estimator(estimator)
    given = as_source(estimator, X, y)
    cluster = as_cluster(cluster)
    with cluster, Team(cluster) as team:
        return ClusterTraining(estimator, ShardedData(team, given), task).fit()


def as_cluster(cluster: Cluster | str) -> Cluster:
    """A connection, or one to an address with workers for it."""
    return cluster if isinstance(cluster, Cluster) else Cluster(cluster)


def as_source(estimator: ChainEstimator, X: Any, y: Any) -> Files | Corpus:
    """What workers read: files, or a corpus that is sent to them."""
    if isinstance(X, Files):
        return X
    paths = [X] if isinstance(X, (str, Path)) else X
    listed = y is None and isinstance(paths, (list, tuple)) and bool(paths)
    if listed and all(isinstance(path, (str, Path)) for path in paths):
        return Files.of(paths)
    given, labels = labelled(X, y, scheme=estimator.scheme)
    if not isinstance(given, Corpus):
        raise ParameterError(
            "a cluster learns from a corpus or from files, not from features given directly; fit "
            "on this machine, without cluster="
        )
    if labels is not None:
        raise ParameterError(
            "a cluster takes no sets of labels; fit on this machine, without cluster="
        )
    return given


def check_estimator(estimator: Any) -> None:
    """Refuse what is not learnt on a cluster, before anything is read."""
    if estimator.kind not in KINDS:
        raise ParameterError(
            f"{type(estimator).__name__} does not learn on a cluster; CRF, MEMM, MaxEnt and "
            "Perceptron do"
        )
    for name, usual in (("dictionary", None), ("stop", False)):
        if getattr(estimator, name) != usual:
            raise ParameterError(
                f"{name} looks at all data at once, and workers of a cluster do not; leave it out"
            )
    if estimator.order > 2:
        raise ParameterError(
            f"order={estimator.order} counts runs of labels in all data, and workers of a cluster "
            "do not; use order 1 or 2"
        )
    solver = estimator._solver if estimator.solvers else None
    if solver is not None and solver.name in ("newton", "gis", "adagrad"):
        raise ParameterError(
            f"solver={solver.name!r} does not learn on a cluster; use solver='lbfgs' or "
            "solver='sgd'"
        )


def check_templates(templates: Templates) -> None:
    """Refuse features that depend on more than the part of the data that a worker has."""
    refused = None
    if templates.annotators:
        refused = templates.annotators[0].description
    elif templates.label_history is not None:
        refused = f"'{templates.label_history}'"
    elif templates.trigram is not None:
        refused = f"'{templates.trigram}'"
    elif templates.edge_templates:
        refused = f"'{templates.edge_templates[0]}'"
    else:
        numeric = (a.view for t in templates.templates for a in t.atoms if a.view.numeric)
        view = next(numeric, None)
        refused = None if view is None else f"'{view}'"
    if refused is not None:
        raise ParameterError(
            f"{refused} is fitted to all data at once, and workers of a cluster do not see them; "
            "leave it out, or fit on this machine"
        )


class ClusterTraining:
    """One training: what the program itself does of it."""

    def __init__(self, estimator: ChainEstimator, shards: ShardedData, task: TrainingTask) -> None:
        self._estimator, self._shards, self._task = estimator, shards, task

    def fit(self) -> Fitted:
        """The model, and how its learning ended."""
        estimator, shards = self._estimator, self._shards
        agreed = self._agreement()
        shards.agree(agreed)
        vocabulary = shards.encode()
        names = shards.labels
        untrained = ChainModel(
            kind=estimator.kind,
            labels=names,
            features=vocabulary,
            weights=Weights.zeros(0, 0, len(names)),
            scheme=agreed.scheme,
            encoding=agreed.encoding,
            constrained=estimator.constraints != "none",
            local=estimator.local,
        )
        allowed = None
        if agreed.encoding is not None and estimator.constraints != "none":
            allowed = Constraints(*legal_transitions(names, agreed.scheme, agreed.encoding))
            shards.check_allowed(allowed)
        held_out = self._task.held_out(untrained)
        problem = self._problem(untrained, allowed)
        monitor = self._monitor(untrained, problem, held_out)
        learnt = estimator._learn(problem, self._task.workers, monitor)
        return Fitted(
            untrained.with_weights(learnt.weights),
            learnt.result,
            learnt.parameters,
            shards.tokens,
            shards.sequences,
            held_out,
            {**learnt.facts, "workers": len(shards.team), "replaced": shards.team.replaced},
        )

    def _agreement(self) -> AgreedTerms:
        estimator, shards = self._estimator, self._shards
        columns = {name: Column.encode([]) for name in shards.columns}
        pattern = Corpus(columns, np.zeros(1, np.int64), np.zeros(1, np.int64))
        templates = estimator._templates(pattern)
        assert templates is not None
        check_templates(templates)
        scheme = estimator.scheme or shards.scheme
        scheme = None if scheme is None or is_no_scheme(scheme) else check_scheme(scheme)
        encoding = None if scheme is None else scheme if shards.partial else estimator.encoding
        return AgreedTerms(
            templates.for_corpus(pattern),
            estimator.min_count,
            scheme,
            None if scheme is None else check_scheme(encoding or scheme),
        )

    def _problem(self, untrained: ChainModel, allowed: Constraints | None) -> ChainProblem:
        estimator, features = self._estimator, untrained.features
        empty = CSRMatrix.empty(0)
        sizes = features.n_features, features.n_edge_features
        rows = FeatureMatrix(empty, CSRMatrix.empty(0), empty, *sizes)
        size = len(untrained.labels)
        partial = np.zeros((0, size), np.bool_) if self._shards.partial else None
        data = Dataset(rows, np.zeros(1, np.int64), np.zeros(0, np.int32), partial)
        start = None
        if self._task.start is not None:
            from skipchain.models.chain.warm_start import as_chain, warm_start_weights

            start = warm_start_weights(as_chain(self._task.start), untrained, estimator.order)
        trained = allowed if estimator.constraints == "training" else None
        problem = estimator._problem(data, untrained, trained, start)
        return replace(problem, shards=self._shards)

    def _monitor(self, untrained: ChainModel, problem: ChainProblem, held_out: Any) -> Monitor:
        task, shards = self._task, self._shards
        own = task.monitor(problem.data, problem.n_labels, held_out, untrained.with_weights)
        if own.keeping is not None:
            identity = {**own.keeping.identity, "workers": str(len(shards.team))}
            own = replace(own, keeping=replace(own.keeping, identity=identity))
        progress = task.progress
        if progress is None:
            return own
        rows = problem.data.rows

        def begin(parameters: int, held: int) -> None:
            size = TrainingSize(
                tokens=shards.tokens,
                sequences=shards.sequences,
                labels=problem.n_labels,
                features=rows.n_features + rows.n_edge_features,
                active=round(shards.active * shards.tokens),
                parameters=parameters,
                bytes=held,
            )
            progress.begin(size)

        return replace(own, begin=begin)
