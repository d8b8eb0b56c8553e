"""Model files made to do harm: each is refused by name, and soon."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from skipchain import CRF, MEMM, Corpus, Templates, load
from skipchain.annotators.lexicon import Lexicon
from skipchain.annotators.words import ClusterColumn
from skipchain.errors import ModelFileError
from skipchain.modelfile import HEADER, checksum, load_model, read_arrays, save
from skipchain.modelfile.container import MAX_HEADER_BYTES
from skipchain.resources.clusters import Clusters

TRAIN = Corpus.of(
    [["Ada", "Lee", "went", "to", "York"], ["Ada", "slept"]] * 3,
    [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O"]] * 3,
    scheme="iob2",
    documents=[2, 4],
)


def changed(model, path, header=None, arrays=None):
    """The file of a model with parts changed, and sealed again."""
    save(model, path, overwrite=True)
    own_header, own_arrays = read_arrays(path)
    own_header |= header or {}
    own_arrays |= arrays or {}
    own_header["checksum"] = checksum(own_header, own_arrays)
    path.write_bytes(to_bytes(own_arrays, {HEADER: json.dumps(own_header)}))
    return own_header, own_arrays


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.skip"


@pytest.fixture(scope="module")
def crf():
    return CRF("word\nshape", solver="lbfgs").fit(TRAIN)


def test_weights_that_overflow_are_refused(path):
    model = MEMM("word\nhistory(lower)", epochs=1).fit(TRAIN)
    size = len(model.model_.labels)
    changed(model, path, arrays={"recalled": np.full((size, size), 1e308)})
    with pytest.raises(ModelFileError, match=r"recalled: numbers are too large, wanted at most 1e"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("tokens.starts", np.array([2**31 - 1] * 2, np.int32)),
        ("tokens.starts", np.array([2**32 - 1] * 2, np.uint32)),
        ("tokens.starts", np.array([2**63 - 1] * 2, np.int64)),
        ("tokens.starts", np.array([[0], [3]], np.int32)),
        ("tokens.lengths", np.array([-1, 3], np.int32)),
        ("tokens.lengths", np.array([2**31 - 1, 3], np.int32)),
    ],
)
def test_strings_outside_their_text_are_refused(name, array, path):
    lexicon = Lexicon.of({"place": ["York", "Oslo"]})
    clusters = ClusterColumn(Clusters.of({"York": "01", "Oslo": "10"}))
    templates = Templates.parse("word\nitems(lexicon)\nbrown", annotators=(lexicon, clusters))
    model = CRF(templates, solver="lbfgs").fit(TRAIN)
    changed(model, path, arrays={f"source.0.{name}": array})
    with pytest.raises(ModelFileError, match="tokens"):
        load_model(path)
    name = name.replace("tokens", "words")
    changed(model, path, arrays={f"source.1.{name}": array})
    with pytest.raises(ModelFileError, match="words"):
        load_model(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"labels": []}, r"header.labels is \[\]"),
        ({"labels": [3]}, r"header.labels\[0\] is 3"),
        ({"labels": ["O", "O"]}, "'O' twice"),
        ({"labels": "O"}, "header.labels is 'O'"),
        ({"order": 40}, "header.order is 40, wanted a whole number from 1 to 16"),
        ({"order": 10**9}, "header.order is 1000000000"),
        ({"order": True}, "header.order is True"),
        ({"summary": []}, r"header.summary is \[\]"),
        ({"colour": "red"}, "an entry 'colour', which this version does not know"),
        ({"versions": {"skipchain": 3}}, "versions.skipchain is 3"),
        ({"format": 4}, "model format 4, but this version reads 3; install a newer skipchain"),
        ({"format": 1}, "load it with the version that wrote it"),
        ({"format": True}, "model format True"),
        ({"form": "cloud"}, "cloud"),
        ({"kind": ""}, "header.kind is ''"),
    ],
)
def test_headers_that_break_the_schema_are_refused(header, message, crf, path):
    changed(crf, path, header)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('word\nmatch("(?=(a+)+$)")', "match: .* cannot be searched in linear time"),
        ("word[-10000..10000] & word[-10000..10000]", "more than 5,000 templates"),
        ("lower(" * 500 + "word" + ")" * 500, "deep"),
        ("word\n" * 50_000, "features.text is"),
    ],
)
def test_templates_that_never_end_are_refused(text, message, crf, path):
    features = {"kind": "templates", "text": text, "functions": []}
    changed(crf, path, {"features": features})
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_an_expression_that_goes_back_ends_here(path):
    model = CRF('word\nmatch("^(a+)+$")', solver="lbfgs").fit(TRAIN)
    save(model, path)
    assert len(load(path).predict(Corpus.of([["a" * 5000 + "b"]])).corpus.labels) == 1


def test_a_few_letters_do_not_become_a_large_text(path):
    model = CRF().fit([[{"w": "a"}, {"w": "b"}]] * 2, [["X", "Y"]] * 2)
    size, count = 20_000, 20_000
    text = np.full(size, ord("a"), np.uint8)
    strings = {"names.starts": np.zeros(count, np.int32), "names.text": text}
    changed(model, path, arrays=strings | {"names.lengths": np.full(count, size, np.int32)})
    with pytest.raises(ModelFileError, match="share letters, and would be too long written out"):
        load_model(path)


def test_an_array_too_many_is_refused(crf, path):
    changed(crf, path, arrays={"more": np.zeros(3)})
    with pytest.raises(ModelFileError, match="an array 'more', which this version does not know"):
        load_model(path)


@pytest.mark.parametrize("dtype", [np.float16, np.bool_, np.int8, np.uint64])
def test_types_that_no_model_has_are_refused(dtype, crf, path):
    changed(crf, path, arrays={"more": np.zeros(3, dtype)})
    with pytest.raises(ModelFileError, match=r"more has the type .*, which no model file has"):
        load_model(path)


def test_a_key_that_stands_twice_is_refused(crf, path):
    header, arrays = changed(crf, path)
    text = json.dumps(header)
    path.write_bytes(to_bytes(arrays, {HEADER: text[:-1] + ', "order": 2}'}))
    with pytest.raises(ModelFileError, match="'order' stands twice in the header"):
        load_model(path)


@pytest.mark.parametrize("depth", [65, 100_000])
def test_deep_headers_are_refused_before_they_are_parsed(depth, crf, path):
    header, arrays = changed(crf, path)
    text = json.dumps(header)[:-1] + f', "deep": {"[" * depth}{"]" * depth}}}'
    path.write_bytes(to_bytes(arrays, {HEADER: text}))
    with pytest.raises(ModelFileError, match="brackets more than 64 deep"):
        load_model(path)


def test_a_long_string_with_brackets_is_not_deep(crf, path):
    changed(crf, path, {"summary": {"note": "[" * 1000 + '\\"' * 2_000}})
    assert load_model(path).summary["note"].startswith("[[")


def test_long_headers_are_refused_before_they_are_read(path):
    path.write_bytes(struct.pack("<Q", MAX_HEADER_BYTES + 1))
    os.truncate(path, MAX_HEADER_BYTES + 100)
    with pytest.raises(ModelFileError, match="a header of 16,777,217 bytes"):
        load_model(path)
    path.write_bytes(struct.pack("<Q", 2**64 - 1) + b"{}")
    with pytest.raises(ModelFileError, match="the header is longer than the file"):
        load_model(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="is no regular file"):
        load_model(path)


def test_a_table_of_nothing_is_not_made_large(path):
    """Order 2 has a table of the cube of labels: 8 TB of zeros for the file of a few thousands."""
    model = CRF("word", order=2, solver="lbfgs").fit(TRAIN)
    save(model, path)
    _, arrays = read_arrays(path)
    size = 5000
    changed(
        model, path,
        {"labels": [f"L{k}" for k in range(size)], "scheme": None, "encoding": None},
        {
            "weights.transitions": np.zeros((size, size)),
            "weights.start": np.zeros(size),
            "weights.end": np.zeros(size),
            "weights.second.at": arrays["weights.second.at"][:1],
            "weights.second.values": arrays["weights.second.values"][:1],
        },
    )  # fmt: skip
    with pytest.raises(ModelFileError, match=r"weights\.second is a table of 5001 × 5000 × 5000"):
        load_model(path)


def test_what_no_file_could_be_read_with_is_not_saved(crf, path):
    from dataclasses import replace

    weights = crf.model_.weights
    broken = replace(crf.model_, weights=replace(weights, start=np.full_like(weights.start, 1e16)))
    with pytest.raises(ModelFileError, match=r"cannot be saved: weights.start: .* too large"):
        save(broken, path)
    assert not path.exists()
