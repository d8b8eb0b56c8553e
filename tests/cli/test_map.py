"""Types that are renamed and left out where models and files have different ones."""

from __future__ import annotations

import json

import pytest

from skipchain import read
from skipchain.corpus import LabelMap
from skipchain.datasets.harbour import harbour

TO_ENGLISH = "corporation=ORG,group=ORG,location=LOC,person=PER,creative-work=MISC,product=MISC"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The test half of the harbour, as it is and with other names for its types."""
    here = tmp_path_factory.mktemp("types")
    train, test = harbour().split(0.75)
    train.write(here / "train.conll")
    test.write(here / "test.conll")
    names = LabelMap({"PER": "person", "LOC": "place", "ORG": "group", "MISC": "thing"})
    names.apply(test).write(here / "other.conll")
    return here


def test_a_model_is_scored_on_a_file_with_other_types(run, other, tmp_path):
    model = tmp_path / "m.skip"
    how = ("--features", "word", "--model", "hmm")
    assert run("train", other / "train.conll", "-o", model, *how)[0] == 0
    same = json.loads(run("eval", model, other / "test.conll", "--json")[1])
    assert same["f1"] > 50
    code, out, err = run("eval", model, other / "other.conll", "--json")
    assert json.loads(out)["f1"] == 0
    assert (
        "other.conll and the model have no type in common: group, person, place, thing and " in err
    )
    types = "person=PER,place=LOC,group=ORG,thing=MISC"
    code, out, err = run("eval", model, other / "other.conll", "--json", "--map", types)
    answer = json.loads(out)
    assert code == 0
    assert "gold: group is ORG (" in err
    assert "person is PER (" in err
    assert answer["f1"] == same["f1"]
    assert answer["map"] == {"person": "PER", "place": "LOC", "group": "ORG", "thing": "MISC"}
    assert "map" not in same
    code, out, err = run(
        "eval", model, other / "other.conll", "--json", "--map", types, "--only", "PER"
    )
    assert json.loads(out)["by_type"] == {"PER": same["by_type"]["PER"]}
    assert "place is left out (" in err
    assert "predicted: LOC is left out (" in err


def test_two_files_are_compared_with_types_renamed(run, other):
    files = (other / "test.conll", other / "other.conll")
    code, out, _ = run(
        "eval", *files, "--map", "PER=person,LOC=place,ORG=group,MISC=thing", "--json"
    )
    assert code == 0
    assert json.loads(out)["f1"] == 100
    code, out, err = run("eval", *files, "--map", "PERS=person")
    assert (code, out) == (2, "")
    assert "there is no type 'PERS' to map; " in err
    assert "test.conll has LOC, MISC, ORG, PER; " in err
    assert "other.conll has group, person, place, thing" in err


def test_models_are_compared_on_types_renamed(run, other):
    how = ("--models", "hmm", "--features", "word", "--json")
    files = (other / "train.conll", "--test", other / "other.conll")
    types = ("--map", "person=PER,place=LOC", "--only", "PER,LOC")
    code, out, err = run("compare", *files, *how, *types)
    assert code == 0
    assert json.loads(out)["results"][0]["f1"] > 50
    assert "train: MISC is left out (" in err
    assert "test: group is left out (" in err
    assert run("compare", *files, *how, *types, "-q")[2] == ""
    code, _, err = run("compare", *files, *how, "--only", "WORK")
    assert code == 2
    assert "there is no type 'WORK' for --only to keep; train has LOC, MISC, ORG, PER" in err


@pytest.mark.data("wnut17")
def test_the_model_in_the_package_meets_messages_of_the_net(run, data_path, tmp_path):
    test = read(data_path("wnut17/emerging.test.annotated.gz"))[:60]
    test.write(tmp_path / "wnut.conll")
    how = ("eval", tmp_path / "wnut.conll", "--json")
    code, out, err = run(*how)
    assert code == 0
    assert json.loads(out)["f1"] == 0
    assert "have no type in common" in err
    code, out, err = run(*how, "--map", TO_ENGLISH)
    assert code == 0
    assert json.loads(out)["f1"] > 10
    assert "person is PER" in err
