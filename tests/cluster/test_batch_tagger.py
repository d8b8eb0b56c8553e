"""Batches of rows tagged where they are, in every form in which frameworks give them."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skipchain import CRF, Corpus, SkipchainError, load, save
from skipchain.cluster import BatchTagger
from skipchain.cluster import batch_tagger as module
from skipchain.errors import ModelFileError, ParameterError
from skipchain.extras import install_command

pyarrow = pytest.importorskip("pyarrow")

TEXTS = ["Then Ada slept. Ada ran.", None, "", "Bo slept.", " \n"]
SENTENCES = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["all", "ran", "."]]
LABELS = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O"]]


def write_model(folder, labels=LABELS, name="own.skip"):
    scheme = None if labels is LABELS else "none"
    corpus = Corpus.of(SENTENCES * 9, labels * 9, scheme=scheme)
    save(CRF("word").fit(corpus), folder / name, overwrite=True)
    return folder / name


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def tagger(model):
    return BatchTagger(model, text="body", id="id", tokens="words", labels="tags")


def table(texts=TEXTS, kind=None):
    kind = kind or pyarrow.string()
    names = pyarrow.array([f"d{n}" for n in range(len(texts))], pyarrow.string())
    return pyarrow.table({"id": names, "body": pyarrow.array(texts, kind)})


def expected(model):
    """What `Tagger.tag` says of each text."""
    rows = []
    for text in TEXTS:
        found = None if text is None else load(model).tag(text)
        names = ("start", "end", "label", "text", "confidence")
        rows.append(
            {"entities": None, "words": None, "tags": None}
            if found is None
            else {
                "entities": [{n: getattr(own, n) for n in names} for own in found.entities],
                "words": found.words,
                "tags": list(found.labels),
            }
        )
    return rows


def plain(value):
    """Cells as plain lists, None where they are null."""
    if isinstance(value, (list, np.ndarray)):
        return [plain(own) for own in value]
    if isinstance(value, dict):
        return value
    return value if isinstance(value, str) else None


# Forms -----------------------------------------------------------------------------------------


def test_rows_of_a_table_get_what_the_tagger_finds(tagger, model):
    found = tagger(table())
    assert isinstance(found, pyarrow.Table)
    assert found.column_names == ["id", "body", "entities", "words", "tags"]
    assert found.select(["entities", "words", "tags"]).to_pylist() == expected(model)
    assert [len(own or ()) for own in found["entities"].to_pylist()] == [2, 0, 0, 1, 0]


@pytest.mark.parametrize("form", ["batch", "chunks", "frame", "dict"])
def test_every_form_comes_back_as_it_came_with_the_same_rows(tagger, model, form):
    pandas = pytest.importorskip("pandas")
    given = {
        "batch": table().to_batches()[0],
        "chunks": pyarrow.concat_tables([table()[:2], table()[2:]]),
        "frame": table().to_pandas().set_index(pandas.Index([5, 3, 8, 9, 1])),
        "dict": {name: np.array(own, object) for name, own in table().to_pydict().items()},
    }[form]
    found = tagger(given)
    assert type(found) is type(given)
    if form == "frame":
        assert found.index.tolist() == [5, 3, 8, 9, 1]
        cells = {name: found[name].tolist() for name in found}
    elif form == "dict":
        assert all(own.shape == (5,) for own in found.values())
        cells = {name: own.tolist() for name, own in found.items()}
    else:
        cells = found.to_pydict()
    for name in ("entities", "words", "tags"):
        assert [plain(cell) for cell in cells[name]] == [row[name] for row in expected(model)]
    assert cells["id"] == table()["id"].to_pylist()


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_all_kinds_of_strings_are_read(tagger, model, kind):
    kinds = {"dictionary": lambda: pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    made = kinds.get(kind, getattr(pyarrow, kind, None))()
    found = tagger(table(kind=made))
    assert found["entities"].to_pylist() == [row["entities"] for row in expected(model)]


def test_types_are_the_same_whatever_is_found(tagger):
    """So that parts of a data set can be put together, and written as one."""
    schemas = {tagger(part).schema for part in (table(), table(["x"]), table([None]), table([]))}
    assert len(schemas) == 1
    pandas = pytest.importorskip("pandas")
    frames = [table().to_pandas(), table(["x"]).to_pandas()]
    types = {tuple(tagger(own)[name].dtype for name in ("entities", "words")) for own in frames}
    assert len(types) == 1
    assert all(isinstance(kind, pandas.ArrowDtype) for kind in next(iter(types)))


def test_nulls_of_pandas_and_numpy(model):
    pandas = pytest.importorskip("pandas")
    values = ["Ada slept.", None, float("nan"), pandas.NA]
    for given in (
        pandas.DataFrame({"text": pandas.Series(values, dtype=object)}),
        {"text": np.array(values[:3], object)},
    ):
        found = BatchTagger(model)(given)["entities"].tolist()
        assert plain(found[0])
        assert [plain(own) for own in found[1:]] == [None] * (len(given["text"]) - 1)


def test_no_rows_need_no_model():
    tagger = BatchTagger("/nowhere/own.skip", text="body")
    found = tagger(table([]))
    assert found.column_names == ["id", "body", "entities"]
    with pytest.raises(ModelFileError, match=r"/nowhere/own\.skip: there is no such file"):
        tagger(table())


def test_the_model_of_the_package_is_the_default():
    found = BatchTagger()({"text": ["Angela Merkel flew to Oslo."]})["entities"][0]
    assert [own["label"] for own in found] == ["PER", "LOC"]


def test_columns_as_spark_names_them_are_those_that_are_added(tagger):
    structure = "start:int,end:int,label:string,text:string,confidence:double"
    assert tagger.ddl == (
        f"entities array<struct<{structure}>>, words array<string>, tags array<string>"
    )
    entity = tagger(table()).schema.field("entities").type.value_type
    names = {"int32": "int", "string": "string", "double": "double"}
    fields = [entity.field(n) for n in range(entity.num_fields)]
    assert ",".join(f"{own.name}:{names[str(own.type)]}" for own in fields) == structure


# Where it goes ---------------------------------------------------------------------------------


def test_what_is_sent_is_a_path_and_names(tagger, model):
    tagger(table())
    sent = pickle.dumps(tagger)
    assert len(sent) < 1000
    assert pickle.loads(sent) == tagger
    assert pickle.loads(sent)(table()).equals(tagger(table()))


def test_paths_hold_in_another_folder(model, monkeypatch, tmp_path):
    monkeypatch.chdir(model.parent)
    tagger = BatchTagger(model.name)
    monkeypatch.chdir(tmp_path)
    assert tagger({"text": ["Ada slept."]})["entities"][0]


def test_a_process_reads_a_model_once(tmp_path, monkeypatch):
    read, path = [], write_model(tmp_path)
    monkeypatch.setattr(
        module, "load", lambda *args, **how: read.append(args) or load(*args, **how)
    )
    module._loaded.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        batches = [{"text": ["Ada slept."]}] * 8
        list(threads.map(lambda batch: BatchTagger(path)(batch), batches))
    assert len(read) == 1
    write_model(tmp_path)  # another file of that name
    os.utime(path, ns=(0, 0))
    BatchTagger(path)(batches[0])
    assert len(read) == 2
    module._loaded.cache_clear()
    gc.collect()


def test_neither_ray_nor_arrow_is_needed_to_import_it(model):
    code = (
        "import sys; sys.modules['ray'] = sys.modules['pyarrow'] = None\n"
        "from skipchain.cluster import BatchTagger\n"
        f"print(len(BatchTagger({str(model)!r})({{'text': ['Ada slept.']}})['entities'][0]))\n"
        "from skipchain.cluster.batch_forms import arrow_array\n"
        "try: arrow_array('tokens', [])\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "1",
        "batches of Arrow and pandas need pyarrow, which is not installed; install it with: "
        f"{install_command('arrow')}",
    ]


# Bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "fault"),
    [
        (
            {"id": [7, 8], "body": ["Ada", 3]},
            "row 1 of the batch (id 8): column 'body': wanted a string, got int",
        ),
        (
            {"id": ["x"], "body": [["Ada"]]},
            "row 0 of the batch (id 'x'): column 'body': wanted a string, got list",
        ),
        ({"id": ["x"], "body": [b"Ada"]}, "got bytes; decode() makes a text of bytes"),
        (
            {"id": ["x"], "text": ["Ada"]},
            "there is no column 'body' in the batch, which has id, text; name one with text=",
        ),
        (
            {"body": ["Ada"]},
            "there is no column 'id' in the batch, which has body; name one with id=",
        ),
        ({}, "there is no column 'body' in the batch, which has none; name one with text="),
        (
            {"id": [1], "body": ["Ada"], "tags": [1]},
            "the batch has a column 'tags' already; name another with labels=",
        ),
        (
            ["Ada"],
            "a batch is an Arrow table or record batch, a pandas frame or a dict of arrays, got",
        ),
        (
            pyarrow.table([["a"], ["b"], [1]], ["body", "body", "id"]),
            "there are several columns 'body' in the batch",
        ),
    ],
)
def test_faults_of_batches_name_row_and_reason(tagger, batch, fault):
    with pytest.raises(SkipchainError) as caught:
        tagger(batch)
    assert fault in str(caught.value)


def test_faults_of_the_work_name_the_row(tagger, monkeypatch):
    real = module.Tagger._tag_texts

    def fail(error):
        def tag(self, texts, *how):
            if any("Bo" in text for text in texts):
                raise error
            return real(self, texts, *how)

        return tag

    monkeypatch.setattr(module.Tagger, "_tag_texts", fail(SkipchainError("it cannot be")))
    reason = r"^row 3 of the batch \(id 'd3'\): text 3, 'Bo slept\.': it cannot be$"
    with pytest.raises(SkipchainError, match=reason):
        tagger(table())
    monkeypatch.setattr(module.Tagger, "_tag_texts", fail(ZeroDivisionError("a fault of ours")))
    with pytest.raises(ZeroDivisionError) as caught:
        tagger(table())
    assert "in row 3 of the batch (id 'd3')" in caught.value.__notes__


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"model": 3}, "model must be the path of a model file, got int; save(model, path)"),
        ({"entities": None}, "nothing is asked for; name a column with entities= or labels="),
        ({"text": 3}, "names of columns must be strings, got 3"),
        ({"tokens": "text"}, "columns must have different names, got 'text' twice"),
        ({"threads": 0}, "threads must be"),
    ],
)
def test_faults_of_settings(settings, fault):
    with pytest.raises(ParameterError) as caught:
        BatchTagger(**settings)
    assert fault in str(caught.value)


def test_labels_without_spans(tmp_path):
    path = write_model(tmp_path, [["A", "B", "C", "D"], ["A", "B", "C"], ["A", "B", "C"]])
    with pytest.raises(SkipchainError, match=r"its labels mark no spans, so no entities; ask for"):
        BatchTagger(path)({"text": ["Ada slept."]})
    found = BatchTagger(path, entities=None, labels="labels")({"text": ["Ada slept."]})
    assert found["labels"].tolist() == [list(load(path).tag("Ada slept.").labels)]
