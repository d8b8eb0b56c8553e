"""Notebooks run from beginning to end, and show what is stored in them."""

from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

import nbformat
from nbclient.exceptions import CellExecutionError

from docs._ext import notebooks

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
STORED = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 150_000  # bytes


@pytest.mark.slow
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_showed(path):
    stored = notebooks.read(path)
    assert list(notebooks.differences(stored, notebooks.run(stored))) == []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_tells_nothing_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    stored = notebooks.read(path)
    nbformat.validate(stored)
    assert stored.metadata == {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}}
    for cell in stored.cells:
        assert set(cell.metadata) <= {"tags"}
    for folder in (str(Path.home()), "/tmp", "/work", "site-packages"):
        assert folder not in text
    assert "image/png" in text


def test_every_notebook_is_listed():
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    for path in STORED:
        assert f"[]({path.name})" in index
        assert f"\n{path.stem}\n" in index
    assert len(STORED) == 5


# How they are run ------------------------------------------------------------------------------

CELLS = [
    "import sys\nprint('F1 82.3')\nprint('noise', file=sys.stderr)",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "from skipchain import Corpus\nCorpus.of([['Ada', 'slept']])",
]


def notebook(*sources):
    cells = [nbformat.v4.new_markdown_cell("Text."), *map(nbformat.v4.new_code_cell, sources)]
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "other", "display_name": "Other"}}
    )


@pytest.fixture(scope="module")
def done():
    return notebooks.run(notebook(*CELLS))


def changed(notebook, number, old, new):
    text = nbformat.writes(notebook)
    assert old in text
    copy = nbformat.reads(text, as_version=notebooks.VERSION)
    output = copy.cells[number].outputs[0]
    if "text" in output:
        output.text = output.text.replace(old, new)
    else:
        output.data["text/html"] = output.data["text/html"].replace(old, new)
    return copy


@pytest.mark.slow
def test_text_tables_and_pictures_are_kept_and_nothing_else(done):
    printed, plotted, shown = (cell.outputs for cell in done.cells[1:])
    assert [output.text for output in printed] == ["F1 82.3\n"]
    assert [list(output.data) for output in plotted] == [["image/png"]]
    assert [list(output.data) for output in shown] == [["text/html"]]
    assert [cell.id for cell in done.cells] == ["cell-0", "cell-1", "cell-2", "cell-3"]
    assert done.metadata.kernelspec == notebooks.KERNEL


@pytest.mark.slow
def test_what_is_shown_may_differ_a_little_and_no_more(done):
    differences = notebooks.differences
    assert list(differences(done, changed(done, 1, "82.3", "82.9"))) == []
    [told] = differences(done, changed(done, 1, "82.3", "60.0"))
    assert told.startswith("cell 1:")
    assert "F1 60.0" in told
    [told] = differences(done, changed(done, 3, "slept", "ran"))
    assert told.startswith("cell 3:")
    without = changed(done, 1, "82.3", "82.3")
    without.cells[2].outputs = []
    without.cells[3].execution_count = 7
    assert [told[:6] for told in differences(done, without)] == ["cell 2", "cell 3"]


@pytest.mark.slow
def test_a_cell_that_fails_is_an_error():
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        notebooks.run(notebook("1 / 0"))


@pytest.mark.slow
def test_a_notebook_is_renewed_where_it_lies(tmp_path):
    path = tmp_path / "own.ipynb"
    nbformat.write(notebook(CELLS[0]), path)
    assert notebooks.renew(path) == 1
    assert notebooks.renew(path) == 0
    assert "F1 82.3" in path.read_text()
