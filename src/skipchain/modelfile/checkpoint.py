"""Checkpoints: the state of a training in a file, from which it goes on with the same bits."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from skipchain import __version__
from skipchain.errors import ModelFileError, ParameterError, SkipchainError, SkipchainWarning
from skipchain.learn.saved_state import SavedState
from skipchain.modelfile import container
from skipchain.modelfile.container import Contained, check_model_target, read_arrays, write_arrays
from skipchain.schema.fields import Anything, Entries, Items, Record, SchemaError, Text, Whole

EVERY = "1m"
UNITS = {"s": 1, "m": 60, "h": 3600}
CHECKPOINT = Contained("skipchain-checkpoint", "checkpoint", "begin the training again")
HEADER_FIELDS = Record(
    {
        "format": Whole(),
        "versions": Entries(Text(most=1000)),
        "identity": Entries(Text()),
        "arguments": Items(Text(most=100_000)),
        "values": Entries(Anything()),
    }
)
LONGEST = 60  # characters of a setting that an error shows
DATA = "data"  # how the names of what has a digest end, of which no error shows anything


class Checkpoint:
    """A file that keeps the state of a training, for ``fit(…, checkpoint=…)``.

    It is written ``every`` so many iterations (a whole number) or so often (a time such as
    ``"30s"``, ``"5m"``, ``"1h"``), whole or not at all: the last one stays until the next is
    complete. Where the file is there the training goes on from it, and ends with the same model,
    bit for bit, as if it had never stopped. Other data, other settings, another seed or another
    version are refused with a line that names what differs. With ``resume=False`` the training
    begins anew, and a checkpoint that holds a state already is an error unless ``overwrite``.
    ``arguments`` are those of the command that trains.

    The file is there when ``fit`` is done, so that nothing is lost until the model is saved;
    `remove` removes it.

    >>> from skipchain import CRF, Corpus
    >>> from skipchain.modelfile import Checkpoint
    >>> corpus = Corpus.of([["Ada", "slept"]] * 5, [["B-PER", "O"]] * 5, scheme="iob2")
    >>> checkpoint = Checkpoint("names.checkpoint", every=10)
    >>> crf = CRF(features="word").fit(corpus, checkpoint=checkpoint)
    >>> checkpoint.remove()
    """

    def __init__(
        self,
        path: str | Path,
        *,
        every: int | str = EVERY,
        resume: bool = True,
        overwrite: bool = False,
        arguments: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = Path(path)
        self.arguments = tuple(arguments)
        self._iterations, self._seconds = parse_every(every)
        self._resume, self._overwrite = resume, overwrite
        self._clock = clock
        self._identity: dict[str, str] = {}
        self._found: SavedState | None = None
        self._prepared = self._stateful = False
        self._since, self._last = 0, clock()

    def prepare(self) -> None:
        """Read the file, or make it, so that what is wrong with it is known before any work."""
        if self._prepared:
            return
        check_model_target(self.path, overwrite=True)
        there = self.path.exists()
        if there:
            identity, self.arguments, found = read_checkpoint(self.path, self.arguments)
            if self._resume:
                self._identity, self._found = identity, found
            elif found is not None and not self._overwrite:
                raise SkipchainError(
                    f"{self.path} is the checkpoint of a training already; go on with it "
                    "(--resume, resume=True), or use --overwrite (overwrite=True) to replace it"
                )
        if not (there and self._resume):
            self._write(SavedState())
        self._prepared, self._stateful = True, self._found is not None

    def begin(self, identity: Mapping[str, str]) -> SavedState | None:
        """The state to go on from, where there is one of this training."""
        own = {**_versions(), **identity}
        self.prepare()
        if self._found is not None:
            _check_same(self.path, self._identity, own)
        self._identity = own
        self._since, self._last = 0, self._clock()
        return self._found

    def keep(self, state: Callable[[], SavedState]) -> None:
        """Write the state after an iteration, where it is time; a full disk ends no training."""
        self._since += 1
        due = self._clock() - self._last >= self._seconds
        if self._iterations is not None:
            due = self._since >= self._iterations
        if not due:
            return
        try:
            self._write(state())
        except SkipchainError as error:
            warnings.warn(
                f"{error}; the training goes on, and the last checkpoint stays as it is",
                SkipchainWarning,
                stacklevel=2,
            )
        self._since, self._last = 0, self._clock()

    def remove(self) -> None:
        """Remove the file, which is done with; none is no error."""
        self.path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the file where no state is in it, after a training that did not begin."""
        if self._prepared and not self._stateful:
            self.remove()

    def _write(self, state: SavedState) -> None:
        size = sum(array.nbytes for array in state.arrays.values())
        if size > container.MAX_FILE_BYTES:
            raise SkipchainError(
                f"{self.path}: a checkpoint would have {size:,} bytes, and can have "
                f"{container.MAX_FILE_BYTES:,} at most"
            )
        header = {
            "identity": self._identity,
            "arguments": list(self.arguments),
            "values": dict(state.values),
        }
        write_arrays(header, state.arrays, self.path, overwrite=True, what=CHECKPOINT)
        self._stateful = bool(state.values)


def read_checkpoint(
    path: str | Path, arguments: Sequence[str] = ()
) -> tuple[dict[str, str], tuple[str, ...], SavedState | None]:
    """What a checkpoint is of, the arguments of the command, and the state, if there is one.

    ``arguments`` go before those that the file has.
    """
    header, arrays = read_arrays(path, CHECKPOINT)
    try:
        HEADER_FIELDS.check(header, "header")
    except SchemaError as error:
        raise ModelFileError(f"{path}: the checkpoint is damaged: {error}") from None
    state = SavedState(header["values"], arrays, str(path)) if header["values"] else None
    return header["identity"], tuple(arguments or header["arguments"]), state


def parse_every(given: int | str) -> tuple[int | None, float]:
    """Iterations between two checkpoints, or None and seconds.

    >>> parse_every(10), parse_every("10"), parse_every("5m")
    ((10, 0.0), (10, 0.0), (None, 300.0))
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([smh]?)", str(given).strip(), re.ASCII)
    number, unit = (0.0, "") if match is None else (float(match[1]), match[2])
    if not number or isinstance(given, bool) or (not unit and not number.is_integer()):
        raise ParameterError(
            "a checkpoint is written every so many iterations, such as 10, or so often, such as "
            f"30s, 5m or 1h; got {given!r}"
        )
    return (None, number * UNITS[unit]) if unit else (int(number), 0.0)


def _versions() -> dict[str, str]:
    """What the bits of a result depend on beside data and settings."""
    found = {"version of skipchain": __version__}
    for name in ("numpy", "numba"):
        try:
            found[f"version of {name}"] = version(name)
        except PackageNotFoundError:  # it lies beside the program, with nothing said of it
            found[f"version of {name}"] = "not noted"
    return found


def _check_same(path: Path, kept: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Refuse to go on with another training."""
    for name in dict.fromkeys((*own, *kept)):
        before, now = kept.get(name), own.get(name)
        if before == now:
            continue
        if name.endswith(DATA) or name.startswith("model to"):
            differs = f"the {name} are not those that it was written for"
            if before is None or now is None:
                differs = f"it was written {'with' if now is None else 'without'} {name}"
        else:
            differs = f"it has {name}={_shown(before)}, and this training {_shown(now)}"
        raise ParameterError(
            f"{path} is the checkpoint of another training: {differs}; give what it was begun "
            "with, or begin again with another file"
        )


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]!r}…"
