"""Kernels: plain or compiled, and where compiled code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import numpy as np
import pytest

from skipchain import CRF
from skipchain.datasets.harbour import harbour
from skipchain.kernels import kernel as kernels
from skipchain.kernels.folders import SUFFIX, kernel_folders
from skipchain.kernels.intern import (
    empty_slots,
    find_slices,
    find_tuples,
    index_ngrams,
    index_tuples,
    number_tuples,
)
from skipchain.kernels.kernel import Kernel, interpreted, is_interpreted, sparingly
from skipchain.tagger import Tagger, load

SOURCE = """
from skipchain.kernels.kernel import kernel
FACTOR = {factor}
@kernel
def inner(x):
    "{comment}"
    return {body}
@kernel
def outer(x):
    return inner(x) * FACTOR
"""


def module(factor=3, body="x + 1", comment="", name="made"):
    made = types.ModuleType(name)
    exec(SOURCE.format(factor=factor, body=body, comment=comment), vars(made))
    return made


def run(program, folder, *arguments):
    """A program in a process of its own, with its compiled kernels in a folder."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
        check=False, timeout=300, env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip


def test_a_kernel_is_plain_inside_and_compiled_outside():
    made = module()
    with interpreted():
        assert is_interpreted()
        assert made.outer(2) == 9
        assert made.outer._dispatcher is None
    assert not is_interpreted()
    assert made.outer(2) == 9
    assert len(made.outer._dispatcher.signatures) == 1
    kept = [name for folder in kernel_folders() for name in folder.glob("made.*")]
    assert not kept  # they could not be read again


def test_the_digest_tells_all_that_code_depends_on():
    known = module().outer.digest
    assert module(comment="told otherwise").outer.digest == known
    assert module(factor=4).outer.digest != known
    assert module(body="x + 2").outer.digest != known
    assert module(body="x - 1").outer.digest != known  # another operation, same constants
    assert Kernel(module().outer.plain, fastmath=True).digest != known
    tables = [module(factor=f"__import__('numpy').arange({size})") for size in (3000, 3001)]
    assert tables[0].outer.digest != tables[1].outer.digest
    through = module()
    through.other = module(name="skipchain.made")
    exec("@kernel\ndef called(x): return other.inner(x)", vars(through))
    changed = module()
    changed.other = module(body="x + 2", name="skipchain.made")
    exec("@kernel\ndef called(x): return other.inner(x)", vars(changed))
    assert through.called.digest != changed.called.digest


def test_the_digest_is_the_same_in_every_process(tmp_path):
    program = "from skipchain.kernels.chain import _scaled_passes as k; print(k.digest)"
    assert len({run(program, tmp_path).stdout for _ in range(4)}) == 1


PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
from skipchain.kernels.gather import gather
from skipchain.kernels.kernel import told_of_compiling
import numpy as np
compiled = []
with told_of_compiling(compiled.append):
    out = np.zeros((2, 2))
    rows = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.zeros(0)
    gather(*rows, np.eye(2), np.zeros((0, 2)), out, 0, 2, False)
print(out.tolist(), [str(own) for own in compiled])
"""
COLD, WARM = "[[0.0, 1.0], [1.0, 0.0]] ['kernels.gather.gather']\n", "[[0.0, 1.0], [1.0, 0.0]] []\n"


def test_compiled_code_is_kept_and_torn_files_are_compiled_again(tmp_path):
    first = run(PROGRAM, tmp_path)
    assert (first.stdout, first.stderr) == (COLD, "")
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("kernels.gather.gather-")
    assert kept.suffix == SUFFIX
    assert run(PROGRAM, tmp_path).stdout == WARM
    for torn in (b"", kept.read_bytes()[:-9], b"\0" * 4096):
        kept.write_bytes(torn)
        again = run(PROGRAM, tmp_path)
        assert (again.stdout, again.stderr) == (COLD, "")
    assert run(PROGRAM, tmp_path).stdout == WARM
    # what the kernel was before is removed
    old = tmp_path / f"kernels.gather.gather-{'0' * 16}-{'0' * 16}{SUFFIX}"
    old.write_bytes(b"old")
    kept.unlink()
    assert run(PROGRAM, tmp_path).stdout == COLD
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


WITH_CLASS = """
import sys
from importlib import import_module
sys.path.insert(0, sys.argv[1])
from skipchain.kernels.kernel import told_of_compiling
import sums
compiled = []
with told_of_compiling(compiled.append):
    print(sums.total(import_module(sys.argv[2]).Pair(1, 2)), len(compiled))
"""


def test_code_for_a_class_that_has_moved_is_compiled_again(tmp_path):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(
        "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    )
    (tmp_path / "sums.py").write_text(
        "from skipchain.kernels.kernel import kernel\n\n"
        "@kernel\ndef total(pair):\n    return pair.a + pair.b\n"
    )
    for wanted in ("3 1\n", "3 0\n"):
        assert run(WITH_CLASS, tmp_path / "kept", tmp_path, "before").stdout == wanted
    after.write_text(before.read_text())
    before.write_text("")
    for wanted in ("3 1\n", "3 0\n"):
        done = run(WITH_CLASS, tmp_path / "kept", tmp_path, "after")
        assert (done.stdout, done.stderr) == (wanted, "")


@pytest.mark.slow
def test_processes_that_compile_at_once_do_not_get_in_each_others_way(tmp_path):
    start = [sys.executable, "-c", PROGRAM]
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "new")}
    running = [
        subprocess.Popen(start, stdout=-1, stderr=-1, text=True, env=variables) for _ in range(10)
    ]
    for process in running:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, "")
        assert out in (COLD, WARM)
    assert len(list((tmp_path / "new").iterdir())) == 1


TAGGING = """
import sys
from skipchain import load
tagger = load()
found = tagger.tag("Angela Merkel flew from Berlin to Paris.")
print([entity.text for entity in found.entities], "numba" in sys.modules)
tagger.explain("Angela Merkel flew from Berlin to Paris.", "Paris")
print("numba" in sys.modules)
"""


def test_a_few_words_need_no_compiler(tmp_path):
    done = run(TAGGING, tmp_path / "none")
    assert done.stdout == "['Angela Merkel', 'Berlin', 'Paris'] False\nFalse\n"
    assert not (tmp_path / "none").exists()


def test_tokens_add_up_until_it_is_worth_while(monkeypatch):
    use = kernels._Use()
    monkeypatch.setattr(kernels, "_USE", use)
    for kept, most in ((False, kernels.LITTLE_COLD), (True, kernels.LITTLE)):
        monkeypatch.setattr(kernels, "are_kept", lambda kept=kept: kept)
        use.tokens = 0
        with sparingly(most - 1):
            assert is_interpreted()
        with sparingly(1):
            assert is_interpreted()
        with sparingly(1):
            assert not is_interpreted()
    use.tokens = 0
    kernels.compile_from_now_on()
    with sparingly(1):
        assert not is_interpreted()
        with interpreted(), sparingly(10**6):
            assert is_interpreted()


def test_what_takes_long_with_plain_kernels_is_compiled():
    train, _ = harbour().split(0.75)
    chain = CRF("word", epochs=1).fit(train[:20]).model_
    assert chain.plain_cost == 1.0
    assert CRF("word", order=2, epochs=1).fit(train[:20]).model_.plain_cost == np.inf
    english = load().model
    assert english.plain_cost == 1.0
    assert english.with_samples(2000).plain_cost == 10.0
    assert Tagger(chain)._effort(train[:1], "beam", 7) == 7 * train[:1].n_tokens


def test_plain_and_compiled_kernels_say_the_same(monkeypatch):
    train, test = harbour().split(0.75)
    tagger = Tagger(CRF("ner", epochs=2).fit(train[:40]).model_)
    words = test[:6].without_labels()
    asked = {"confidences": True, "probabilities": True, "nbest": 3}
    compiled = tagger.predict(words, **asked)
    with interpreted():
        plain = tagger.predict(words, **asked)
    assert plain.codes.tolist() == compiled.codes.tolist()
    np.testing.assert_allclose(plain.marginals, compiled.marginals, atol=1e-12)
    np.testing.assert_allclose(plain.confidences, compiled.confidences, atol=1e-12)
    for own, other in zip(plain.nbest, compiled.nbest, strict=True):
        assert [path.tolist() for path in own.paths] == [path.tolist() for path in other.paths]


@pytest.mark.parametrize("size", [0, 1, 3, 500])
def test_tables_that_are_filled_at_once_are_found_in(size):
    rng = np.random.default_rng(size)
    keys = rng.integers(-1, 25, (2 * size, 2)).astype(np.int32)
    _, rows, _ = number_tuples(keys, empty_slots(len(keys)))
    slots = empty_slots(len(rows))
    index_tuples(rows, slots)
    assert find_tuples(rows, rows, slots).tolist() == list(range(len(rows)))
    unknown = np.array([[1, 99], [-1, 0]], np.int32)
    assert find_tuples(unknown, rows, slots).tolist() == [-1, -1]


def test_strings_that_are_indexed_at_once_are_found():
    words = ["", "a", "aa", "ab", "b" * 40, "ba", "東京", "ab c"]
    text = "".join(words)
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    lengths = np.array([len(word) for word in words], np.int32)
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    slots = empty_slots(len(words))
    index_ngrams(points, starts, lengths, slots)
    numbers, used = find_slices(
        points, starts, lengths, points, starts, lengths, slots, empty_slots(len(words))
    )
    assert (numbers.tolist(), used) == (list(range(len(words))), len(words))
