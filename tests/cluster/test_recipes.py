"""The recipes of docs/scale are run as they stand, on rows written for them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from skipchain import CRF, Corpus, load, save
from skipchain.cluster import BatchTagger

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

PAGES = Path(__file__).parent.parent.parent / "docs" / "scale"
TEXTS = ["Then Ada slept. Ada ran.", None, "", "Bo slept.", "all ran."] * 8


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    words = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["all", "ran", "."]]
    labels = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O"]]
    path = tmp_path_factory.mktemp("recipes") / "names.skip"
    save(CRF("word").fit(Corpus.of(words * 9, labels * 9)), path)
    return path


@pytest.fixture
def here(tmp_path):
    """A folder with the rows that the recipes read."""
    table = pyarrow.table({"id": list(range(len(TEXTS))), "body": TEXTS})
    (tmp_path / "stories").mkdir()
    for part in range(2):
        half = table.slice(part * len(TEXTS) // 2, len(TEXTS) // 2)
        parquet.write_table(half, tmp_path / "stories" / f"{part}.parquet")
    lines = [json.dumps(row) + "\n" for row in table.to_pylist()]
    (tmp_path / "stories.jsonl").write_text("".join(lines))
    (tmp_path / "stories.txt").write_text("Then Ada slept.\nBo slept.\n")
    return tmp_path


def recipe(page, model, here):
    """The code of a page, with the model and the folder that there are."""
    (code,) = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)
    assert '"/models/names.skip"' in code
    assert code.count('"/data/') == 2
    return code.replace('"/models/names.skip"', repr(str(model))).replace("/data/", f"{here}/")


def entities(model):
    """What the model finds in each of the texts."""
    tagger = load(model)
    found = [None if text is None else tagger.tag(text).entities for text in TEXTS]
    return [own and [(e.start, e.end, e.label, e.text) for e in own] for own in found]


def check_written(folder, model):
    rows = sorted(parquet.read_table(folder).to_pylist(), key=lambda row: row["id"])
    assert [row["body"] for row in rows] == TEXTS
    found = [row["entities"] for row in rows]
    names = ("start", "end", "label", "text")
    cells = [own if own is None else [tuple(e[n] for n in names) for e in own] for own in found]
    assert cells == [own if own is None else list(own) for own in entities(model)]
    assert all(0 < e["confidence"] <= 1 for own in found for e in own or ())


@pytest.mark.slow
def test_dask(here, model):
    pytest.importorskip("dask.dataframe")
    dask = pytest.importorskip("dask")
    names = {}
    exec(recipe("dask.md", model, here), names)
    check_written(here / "tagged", model)
    found = names["tagged"].compute(scheduler="processes")
    assert [own["text"] for own in found["entities"].iloc[0]] == ["Ada", "Ada"]
    names["tagger"] = BatchTagger(model, text="id", id="id")
    wrong = names["stories"].map_partitions(names["tagger"], meta=names["tagged"]._meta)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(
            Exception, match=r"row 0 of the batch \(id \d+\): column 'id': wanted a string"
        ),
    ):
        wrong.compute()


@pytest.mark.slow
def test_spark(here, model, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    try:
        exec(recipe("spark.md", model, here), {})
    finally:
        spark.stop()
    check_written(here / "tagged", model)


@pytest.mark.slow
def test_ray_data(here, model, local_ray):
    names = {}
    exec(recipe("ray-data.md", model, here), names)
    check_written(here / "tagged", model)
    data = local_ray.data
    settings = {"batch_format": "pyarrow", "concurrency": 1}
    rows = data.read_json(str(here / "stories.jsonl")).map_batches(
        BatchTagger, fn_constructor_kwargs={"model": str(model), "text": "body"}, **settings
    )
    found = {row["id"]: row["entities"] for row in rows.take_all()}
    assert [None if found[n] is None else len(found[n]) for n in range(5)] == [2, None, 0, 1, 0]
    rows = data.read_text(str(here / "stories.txt")).map_batches(
        BatchTagger, fn_constructor_kwargs={"model": str(model)}, **settings
    )
    assert sorted(own["text"] for row in rows.take_all() for own in row["entities"]) == [
        "Ada",
        "Bo",
    ]
