"""Pages by task are followed as a reader would: files written, commands and Python run."""

from pathlib import Path

import pytest

from docs._ext import replay

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = sorted(page for page in HOW_TO.glob("*.md") if page.name != "index.md")


def follow(page: Path, folder: Path, end: float) -> None:
    """Do what a page says up to a line."""
    todo = [step for step in replay.steps(page.read_text(encoding="utf-8")) if step.line < end]
    for step, found in replay.replay(todo, folder):
        if step.wanted:
            told = f"line {step.line}: {step.source}\n{found}\nwanted:\n{step.wanted}"
            assert replay.agree(step.wanted, found), told


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_followed(page, tmp_path):
    follow(page, tmp_path, replay.needs_data(page.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.data("cora-refs")
def test_references_can_be_followed_to_the_end(tmp_path):
    follow(HOW_TO / "references.md", tmp_path, float("inf"))


def test_pages_that_need_data_are_followed_to_their_end():
    texts = {page.stem: page.read_text(encoding="utf-8") for page in PAGES}
    assert [name for name, text in texts.items() if replay.VARIABLE in text] == ["references"]


def test_every_page_is_listed():
    index = (HOW_TO / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"[]({page.name})" in index
        assert f"\n{page.stem}\n" in index


# What a page says, and what is done -----------------------------------------------------------

PAGE = """
```{code-block} python
:caption: twice.py

import sys
print(2 * int(sys.argv[1]))
```

```console
$ python twice.py 21
42
$ python twice.py 4 > kept
$ cat \\
    kept
8
```

```pycon
>>> open("kept").read()
'8\\n'
```

```text
not for the reader's hands
```
"""


def test_files_commands_and_python_of_a_page_work_together(tmp_path):
    todo = list(replay.steps(PAGE))
    assert [step.kind for step in todo] == ["file", "shell", "shell", "shell", "python"]
    answers = [found for _, found in replay.replay(todo, tmp_path)]
    assert answers == ["42\n", "", "8\n", "'8\\n'\n"]
    lines = PAGE.splitlines()
    assert [lines[step.line - 1] for step in todo[1:2] + todo[4:]] == [
        "$ python twice.py 21",
        '>>> open("kept").read()',
    ]


def test_a_command_that_fails_ends_the_page(tmp_path):
    with pytest.raises(RuntimeError, match="line 2: exit 3"):
        list(replay.replay(list(replay.steps("```console\n$ exit 3\n```\n")), tmp_path))


def test_answers_of_this_machine_are_put_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    wrong = PAGE.replace("\n42\n", "\n?\n?\n").replace("'8\\n'", "'?'")
    page.write_text(wrong)
    assert replay.renew(page) == 2
    assert page.read_text() == PAGE
    assert replay.renew(page) == 0


def test_a_heading_that_names_the_variable_begins_what_needs_data():
    page = "```console\n$ true\n```\n## With `SKIPCHAIN_DATA`\n```console\n$ false\n```\n"
    assert replay.needs_data(page) == 4
    assert replay.needs_data("a\nb\n") == 3


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("F1 82.32", "F1 82.9"),
        ("1,958 of 2,033 tokens in 0.82 s", "1,961 of 2,033 tokens in 10 s"),
        ("all  7.5\n...\nend", "all 7.4\n1\n2\nend"),
        ("[('Ada', 0.91)]", "[('Ada', 0.93)]"),
        ("a ... c", "a b c"),
        ("a\n<BLANKLINE>\nb", "a\n\nb"),
        ("+0.54  -1.20", "+0.50  -1.25"),
    ],
)
def test_numbers_that_differ_a_little_agree(wanted, found):
    assert replay.agree(wanted, found)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("F1 82.32", "F1 70.1"),
        ("F1 82.32", "accuracy 82.32"),
        ("one\ntwo", "one"),
        ("one", "one\ntwo"),
        ("B-PER", "I-PER"),
        ("0.9", "-0.9"),
        ("...\nend", "1\n2"),
    ],
)
def test_other_answers_do_not(wanted, found):
    assert not replay.agree(wanted, found)
