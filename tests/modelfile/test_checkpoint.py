"""Files that keep the state of a training: when they are written, and what they refuse."""

from __future__ import annotations

import json
import re
import resource

import numpy as np
import pytest

from skipchain import CRF, save
from skipchain.datasets.harbour import harbour
from skipchain.errors import ModelFileError, ParameterError, SkipchainError, SkipchainWarning
from skipchain.learn.saved_state import SavedState
from skipchain.modelfile import Checkpoint, container, load_model
from skipchain.modelfile.checkpoint import CHECKPOINT, parse_every, read_checkpoint
from skipchain.modelfile.container import read_arrays, write_arrays

CORPUS = harbour()[:20]
STATE = SavedState({"steps.number": 3, "steps.loss": float("nan")}, {"steps.x": np.arange(2.0)})


class Clock:
    """A clock that goes on when it is told to."""

    now = 0.0

    def __call__(self):
        return self.now


def trained(path, **settings):
    """A model whose training keeps a checkpoint after every epoch."""
    made = CRF(**{"features": "word", "epochs": 4, **settings})
    return made.fit(CORPUS, checkpoint=Checkpoint(path, every=1))


def test_it_is_written_after_so_many_iterations(tmp_path):
    kept = Checkpoint(tmp_path / "c", every=3)
    assert kept.begin({"seed": "0"}) is None
    seen = []
    for number in range(1, 8):
        kept.keep(lambda number=number: seen.append(number) or STATE)
    assert seen == [3, 6]


def test_it_is_written_so_often(tmp_path):
    clock = Clock()
    kept = Checkpoint(tmp_path / "c", every="2m", clock=clock)
    kept.begin({})
    seen = []
    for seconds in (60, 119, 121, 200, 240, 242):
        clock.now = seconds
        kept.keep(lambda now=seconds: seen.append(now) or STATE)
    assert seen == [121, 242]


def test_what_is_read_is_what_was_written(tmp_path):
    kept = Checkpoint(tmp_path / "c", every=1, arguments=["a.conll", "-o", "m"])
    kept.begin({"seed": "0"})
    kept.keep(lambda: STATE)
    identity, arguments, state = read_checkpoint(tmp_path / "c")
    assert identity["seed"] == "0"
    assert arguments == ("a.conll", "-o", "m")
    assert state.values["steps.number"] == 3
    assert np.isnan(state.values["steps.loss"])
    assert state.arrays["steps.x"].tolist() == [0.0, 1.0]
    assert Checkpoint(tmp_path / "c").begin({"seed": "0"}).arrays["steps.x"].tolist() == [0, 1]
    kept.remove()
    kept.remove()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("given", [0, "0s", -1, "x", "", "1.5", True, "5 days", None])
def test_no_other_period_is_taken(given):
    with pytest.raises(ParameterError, match="a checkpoint is written every so many iterations"):
        parse_every(given)


def test_times_are_taken_in_three_units():
    found = [parse_every(given) for given in ("90s", "1.5m", "2 h", 7)]
    assert found == [(None, 90.0), (None, 90.0), (None, 7200.0), (7, 0.0)]


def test_a_state_is_not_replaced_unless_it_is_meant(tmp_path):
    trained(tmp_path / "c")
    with pytest.raises(SkipchainError, match=r"is the checkpoint of a training already; go on"):
        Checkpoint(tmp_path / "c", resume=False).prepare()
    Checkpoint(tmp_path / "c", resume=False, overwrite=True).prepare()
    assert read_checkpoint(tmp_path / "c")[2] is None
    Checkpoint(tmp_path / "c", resume=False).prepare()  # nothing is lost


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 1}, "it has seed=0, and this training 1"),
        ({"l2": 0.5}, "it has l2=0.2, and this training 0.5"),
        ({"epochs": 5}, "it has solver=SGD(epochs=4), and this training SGD(epochs=5)"),
        ({"features": "shape"}, "it has features=word, and this training shape"),
    ],
)
def test_other_settings_are_named(tmp_path, changed, told):
    trained(tmp_path / "c")
    with pytest.raises(ParameterError, match=re.escape(f"another training: {told}; give what")):
        trained(tmp_path / "c", **changed)


def test_other_data_and_versions_are_named(tmp_path, monkeypatch):
    trained(tmp_path / "c")
    other = CRF("word", epochs=4)
    with pytest.raises(ParameterError, match="the training data are not those that it was written"):
        other.fit(harbour()[1:21], checkpoint=tmp_path / "c")
    with pytest.raises(ParameterError, match="it was written without held-out data; give"):
        other.fit(CORPUS, dev=CORPUS, checkpoint=tmp_path / "c")
    monkeypatch.setattr("skipchain.modelfile.checkpoint.__version__", "9.9.9")
    with pytest.raises(ParameterError, match=r"version of skipchain=.*, and this training 9\.9\.9"):
        trained(tmp_path / "c")


def test_a_long_setting_is_shortened(tmp_path):
    trained(tmp_path / "c", features="word\n" + "word[-1..1] & shape\n" * 20)
    with pytest.raises(ParameterError, match="another training: it has features=") as caught:
        trained(tmp_path / "c")
    assert len(str(caught.value)) < 400


def test_foreign_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "c"
    model = trained(path)
    sound = path.read_bytes()
    save(model, tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match="a safetensors file, but not a skipchain checkpoint"):
        Checkpoint(tmp_path / "m.skip", resume=False, overwrite=True).prepare()
    with pytest.raises(ModelFileError, match="a safetensors file, but not a skipchain model"):
        load_model(path)
    for size in (0, 5, 100, len(sound) // 2, len(sound) - 1):
        path.write_bytes(sound[:size])
        with pytest.raises(ModelFileError, match="not a skipchain checkpoint, or cut short"):
            trained(path)
    at = len(sound) - 20
    path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
    with pytest.raises(ModelFileError, match="the checksum does not match"):
        trained(path)
    path.write_bytes(sound)
    header, arrays = read_arrays(path, CHECKPOINT)
    write_arrays({**header, "identity": 3}, arrays, path, overwrite=True, what=CHECKPOINT)
    with pytest.raises(ModelFileError, match=r"the checkpoint is damaged: header\.identity is 3"):
        trained(path)
    with pytest.raises(SkipchainError, match="it is a folder; name a file in it"):
        trained(tmp_path)
    with pytest.raises(SkipchainError, match="cannot be written to stdout"):
        trained("-")


def test_a_full_disk_ends_no_training_and_spoils_no_checkpoint(tmp_path):
    path = tmp_path / "c"
    whole = trained(path)
    kept = Checkpoint(path, every=1, resume=False, overwrite=True)
    kept.begin({})
    kept.keep(lambda: STATE)
    before = path.read_bytes()
    large = SavedState({"steps.number": 4}, {"steps.x": np.zeros(100_000)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.warns(SkipchainWarning, match=r"cannot write .*; the training goes on"):
            kept.keep(lambda: large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [own.name for own in tmp_path.iterdir()] == ["c"]
    assert whole.result_.iterations == 4


def test_one_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "c", every=1)
    kept.begin({})
    monkeypatch.setattr(container, "MAX_FILE_BYTES", 10)
    with pytest.warns(SkipchainWarning, match="a checkpoint would have 16 bytes, and can have 10"):
        kept.keep(lambda: STATE)


def test_what_did_not_begin_leaves_no_file(tmp_path):
    kept = Checkpoint(tmp_path / "c", every=1)
    kept.discard()
    kept.prepare()
    assert (tmp_path / "c").exists()
    kept.discard()
    assert not (tmp_path / "c").exists()
    kept = Checkpoint(tmp_path / "c", every=1)
    kept.begin({})
    kept.keep(lambda: STATE)
    kept.discard()
    assert (tmp_path / "c").exists()


def test_the_file_is_json_and_arrays_and_never_code(tmp_path):
    trained(tmp_path / "c")
    data = (tmp_path / "c").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert "skipchain-checkpoint" in header["__metadata__"]
    assert {own["dtype"] for name, own in header.items() if name != "__metadata__"} <= {
        "F32", "F64"
    }  # fmt: skip
