"""Batches of rows tagged where they are: by Ray Data, Spark, Dask or whatever calls a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from skipchain import pretrained
from skipchain.checks import check_integer
from skipchain.cluster.batch_forms import RowBatch, Rows, batch_of
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.model import BEAM
from skipchain.tagged import TaggedText
from skipchain.tagger import Tagger, load

MODELS = 4  # that a process keeps
ENTITY = {"start": "int", "end": "int", "label": "string", "text": "string", "confidence": "double"}
"""The fields of an entity, with their types as Spark names them."""
DDL = {
    "entities": f"array<struct<{','.join(f'{name}:{kind}' for name, kind in ENTITY.items())}>>",
    "tokens": "array<string>",
    "labels": "array<string>",
}


@dataclass(frozen=True)
class BatchTagger:
    """Tags batches of rows, each row a document, and adds columns of what was found.

    ``model`` is the path of a model file on the machines that do the work (None: the English model
    of the package). An instance holds this path and names, so it can be sent anywhere; the model is
    read when the first rows come, once a process. Texts are in the column ``text``. What is found
    goes into columns named ``entities`` (lists of structs of ``start``, ``end``, ``label``,
    ``text`` and ``confidence``), ``tokens`` and ``labels`` (lists of strings); None leaves one out.
    Where a text is null, so is what was found; a blank one has empty lists. ``start`` and ``end``
    count code points, and ``confidence`` is null where the model knows none. Errors name the row
    and, where ``id`` names a column, what that row has there.

    A batch is an Arrow table or record batch, a pandas frame, or a dict of arrays, and comes back
    as the same. ``threads``, ``decoder`` and ``beam`` are those of `load` and `Tagger.tag`.

    >>> tagger = BatchTagger(text="body")
    >>> found = tagger({"body": ["Angela Merkel met Tomas Brandt in Oslo.", None]})["entities"]
    >>> [(entity["text"], entity["label"]) for entity in found[0]], found[1]
    ([('Angela Merkel', 'PER'), ('Tomas Brandt', 'PER'), ('Oslo', 'LOC')], None)
    """

    model: str | Path | None = None
    text: str = "text"
    entities: str | None = "entities"
    tokens: str | None = None
    labels: str | None = None
    id: str | None = None
    threads: int | None = 1
    decoder: str | None = None
    beam: int = BEAM

    def __post_init__(self) -> None:
        if isinstance(self.model, (str, Path)):  # workers may be started in another folder
            object.__setattr__(self, "model", os.path.abspath(self.model))
        elif self.model is not None:
            kind, advice = type(self.model).__name__, "save(model, path) writes one"
            raise ParameterError(f"model must be the path of a model file, got {kind}; {advice}")
        added = self._added
        if not added:
            raise ParameterError("nothing is asked for; name a column with entities= or labels=")
        names = [self.text, *added.values(), *([] if self.id is None else [self.id])]
        for name in names:
            if not isinstance(name, str):
                raise ParameterError(f"names of columns must be strings, got {name!r}")
        for name in added.values():
            if names.count(name) > 1:
                raise ParameterError(f"columns must have different names, got {name!r} twice")
        if self.threads is not None:
            check_integer("threads", self.threads)

    def __call__(self, batch: Any) -> Any:
        """The batch with columns of what was found."""
        given = batch_of(batch)
        self._check_columns(given.names)
        found = self._tagged(given.values(self.text), lambda row: self._where(given, row))
        return given.extended(
            {name: (kind, _rows(kind, found)) for kind, name in self._added.items()}
        )

    @property
    def ddl(self) -> str:
        """The columns that are added, as a schema of Spark has them.

        >>> BatchTagger(entities=None, tokens="words", labels="tags").ddl
        'words array<string>, tags array<string>'
        """
        return ", ".join(f"{name} {DDL[kind]}" for kind, name in self._added.items())

    @property
    def _added(self) -> dict[str, str]:
        """The names of the columns that are added, by what goes into them."""
        names = {kind: getattr(self, kind) for kind in DDL}
        return {kind: name for kind, name in names.items() if name is not None}

    def _check_columns(self, columns: list[Any]) -> None:
        for parameter, name in {"text": self.text, "id": self.id}.items():
            if name is not None and name not in columns:
                shown = ", ".join(map(str, columns)) or "none"
                fault = f"there is no column {name!r} in the batch, which has {shown}"
                raise SkipchainError(f"{fault}; name one with {parameter}=")
            if columns.count(name) > 1:
                raise SkipchainError(f"there are several columns {name!r} in the batch")
        for parameter, name in self._added.items():
            if name in columns:
                advice = f"name another with {parameter}="
                raise SkipchainError(f"the batch has a column {name!r} already; {advice}")

    def _where(self, batch: RowBatch, row: int) -> str:
        """How an error names a row."""
        if self.id is None:
            return f"row {row} of the batch"
        return f"row {row} of the batch ({self.id} {batch.values(self.id)[row]!r})"

    def _tagged(self, texts: Sequence[Any], where: Callable[[int], str]) -> list[TaggedText | None]:
        """What is found in each text; None where there is none."""
        for row, text in enumerate(texts):
            if text is not None and not isinstance(text, str):
                advice = "; decode() makes a text of bytes" * isinstance(text, bytes)
                fault = f"column {self.text!r}: wanted a string, got {type(text).__name__}{advice}"
                raise SkipchainError(f"{where(row)}: {fault}")
        if not len(texts):
            return []
        tagger, found = self._tagger(), []
        stream = tagger.pipe((text or "" for text in texts), decoder=self.decoder, beam=self.beam)
        try:
            for own in stream:
                assert isinstance(own, TaggedText)
                found.append(own)
        except SkipchainError as error:  # behind what was found before it
            raise SkipchainError(f"{where(len(found))}: {error}") from None
        except Exception as error:
            error.add_note(f"in {where(len(found))}")
            raise
        return [None if text is None else own for text, own in zip(texts, found, strict=True)]

    def _tagger(self) -> Tagger:
        """The tagger of this process; read anew where the file is another one."""
        path = str(pretrained.path() if self.model is None else self.model)
        status = os.stat(path) if os.path.exists(path) else None
        stamp = None if status is None else (status.st_mtime_ns, status.st_size)
        with _LOCK:
            tagger = _loaded(path, stamp, self.threads)
        if self.entities is not None and tagger.model.encoding is None:
            advice = "ask for entities=None, labels='labels'"
            raise SkipchainError(f"{path}: its labels mark no spans, so no entities; {advice}")
        return tagger


_LOCK = Lock()  # threads of a process that begin together read a model once


@lru_cache(MODELS)
def _loaded(path: str, stamp: tuple[int, int] | None, threads: int | None) -> Tagger:
    return load(path, threads=threads)


def _rows(kind: str, found: Sequence[TaggedText | None]) -> Rows:
    """The rows of a column: what goes into it of each text."""
    return [None if own is None else _CELLS[kind](own) for own in found]


def _entities(own: TaggedText) -> list[dict[str, Any]]:
    return [{name: getattr(entity, name) for name in ENTITY} for entity in own.entities]


_CELLS: dict[str, Callable[[TaggedText], list[Any]]] = {
    "entities": _entities,
    "tokens": lambda own: own.words,
    "labels": lambda own: list(own.labels),
}
