"""Words, labels and names that would play with a terminal are shown to people, never sent."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
import threading

import pytest

from skipchain import CRF, HRF, RBMCRF, Corpus, MoPMEMM, cli
from skipchain.modelfile import save
from skipchain.report.printable import one_line, printable

TITLE = "\x1b]0;owned\x07"  # renames the window
EVIL = f"{TITLE}\x1b[31m\x07\x7f\x9b31m\u202e\u2066\u2028[/red][bold red]"
LABEL = EVIL.replace(" ", "_")
SHOWN = printable(EVIL)
# What rich itself sends: styles, the cursor and the line it rewrites.
OWN = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|\d*[AK])")
RAW = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def sentences():
    """Sentences in which every word, column and label holds something that is not to be sent."""
    words = [["Then", f"Ada{EVIL}", f"left{EVIL}"], [f"Bo{EVIL}", f"left{EVIL}"]]
    labels = [["O", f"B-{LABEL}", "O"], [f"B-{LABEL}", "O"]]
    return words * 6, labels * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Corpora and models of several families, with names of that kind."""
    here = tmp_path_factory.mktemp("evil") / f"here{EVIL.replace('/', '')}"
    here.mkdir()
    words, labels = sentences()
    corpus = Corpus.of(words, labels, scheme="iob2", documents=[6, 6])
    rows = [
        {"tokens": w, "pos": [EVIL] * len(w), "labels": y, "document": k // 6}
        for k, (w, y) in enumerate(zip(words, labels, strict=True))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (here / "train.jsonl").write_text(lines)
    (here / "wrong.jsonl").write_text(lines.replace("B-", "I-", 1))
    (here / "pos.txt").write_text("word\npos\n")
    save(CRF("word").fit(corpus), here / "crf.skip")
    save(MoPMEMM("word", edges="previous, same_word").fit(corpus), here / "mop.skip")
    save(HRF("word", states=2).fit(corpus), here / "hrf.skip")
    save(RBMCRF("word").fit(corpus), here / "rbm.skip")
    return here


@pytest.fixture
def in_terminal(monkeypatch):
    """Run a command line in this process, in a terminal: exit code, and all that it shows."""

    def call(*arguments):
        ours, theirs = pty.openpty()
        read: list[bytes] = []

        def collect():
            while True:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # closed
                    return
                if not data:
                    return
                read.append(data)

        reader = threading.Thread(target=collect)
        reader.start()
        monkeypatch.setattr(sys, "argv", ["skipchain", *map(str, arguments)])
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "200")
        with (
            open(os.dup(theirs), "w", encoding="utf-8") as out,
            open(os.dup(theirs), "w", encoding="utf-8", errors="backslashreplace") as err,
            monkeypatch.context() as patch,
        ):
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            with pytest.raises(SystemExit) as left:
                cli.main()
        os.close(theirs)
        reader.join(timeout=30)
        os.close(ours)
        return left.value.code or 0, b"".join(read).decode()

    return call


def commands(here):
    """Command lines for people, and whether they show what is evil on stdout."""
    train, crf = here / "train.jsonl", here / "crf.skip"
    yield ("eval", crf, train, "--confusion", "--intervals"), 0
    yield ("eval", train, here / "wrong.jsonl", "--confusion", "--scheme", "iob2"), 0
    yield ("eval", here / "mop.skip", train), 0
    for model in ("crf", "mop", "hrf", "rbm"):
        yield ("inspect", here / f"{model}.skip"), 0
    yield ("inspect", crf, "--label", f"nothing{EVIL}"), 2
    for model in ("crf", "mop"):
        yield ("explain", here / f"{model}.skip", "--file", train, "--token", "1"), 0
    yield ("explain", crf, "--file", train, "--token", f"no{EVIL}"), 2
    yield ("tag", here / "missing.skip", train), 2
    yield ("tag", crf, here / "missing.conll"), 2
    yield ("models",), 0
    yield ("models", EVIL), 2
    yield ("data", EVIL), 2
    yield (f"command{EVIL}",), 2
    yield ("tag", f"--option{EVIL}"), 2
    yield ("tag", "one", "two", f"three{EVIL}"), 2
    yield ("convert", train, here / "out.conll", "--to-scheme", EVIL), 2
    mend = ("--repair", "--scheme", "iob2", "--overwrite")
    yield ("convert", here / "wrong.jsonl", here / "mended.jsonl", *mend), 0
    quick = ("--set", "max_iterations=2", "--features", "word")
    yield (
        "train", train, "-o", here / "new.skip", "--overwrite", *quick[:2],
        "--features", here / "pos.txt",
    ), 0  # fmt: skip
    yield ("compare", train, "--test", train, "--models", "crf,maxent", *quick), 0
    states = ("states", train, "--states", "1", "--folds", "2", "--features", "word")
    yield (*states, "--model", "hrf:restarts=1"), 0
    yield ("ngrams", "count", train, "-o", here.parent / "store", "--overwrite", "--orders", "2"), 0
    yield ("ngrams", "query", here.parent / "store", "Then *"), 0
    yield ("brown", train, "-o", here / "paths.txt", "--overwrite", "--min-count", "1"), 0


def test_nothing_is_sent_to_a_pipe(run, folder):
    shown = 0
    for arguments, wanted in commands(folder):
        code, out, err = run(*arguments)
        assert code == wanted, (arguments[0], err)
        for text in (out, err):
            assert not RAW.search(text.replace("\r", "\x00")), (arguments[0], text)
        shown += "\\x1b]0;owned\\x07" in out + err
        if "bold" in out:
            assert "[bold" in out, out
    assert shown >= 20


def test_nothing_but_our_own_is_sent_to_a_terminal(in_terminal, folder):
    shown = 0
    for arguments, wanted in commands(folder):
        code, text = in_terminal(*arguments)
        assert code == wanted, (arguments[0], text)
        assert not RAW.search(OWN.sub("", text)), (arguments[0], text)
        shown += "\\x1b]0;owned\\x07" in text
    assert shown >= 20


def test_labels_are_shown_in_full_and_fit_their_columns(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = run("eval", folder / "crf.skip", folder / "train.jsonl")[1]
    heading, first, last, *_ = out.splitlines()
    assert first.startswith(printable(LABEL))
    assert len(first) == len(last) == len(heading)


def test_data_stay_as_they_are(run, folder):
    code, out, _ = run("tag", folder / "crf.skip", folder / "train.jsonl", "--to", "jsonl")
    assert code == 0
    assert [json.loads(line)["tokens"] for line in out.split("\n")[:-1]] == sentences()[0]
    answer = json.loads(run("inspect", folder / "crf.skip", "--json")[1])
    assert any(LABEL in label for label in answer["labels"])


def test_what_python_prints_of_scores_is_printable():
    from skipchain import evaluate

    words, labels = sentences()
    corpus = Corpus.of(words, labels, scheme="iob2")
    assert not RAW.search(str(evaluate(corpus, corpus)))


@pytest.mark.parametrize("sign", ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x85", "\x9b", "\u2028"])
def test_control_characters_are_shown(sign):
    assert printable(f"a{sign}b") == "a" + sign.encode("unicode_escape").decode() + "b"
    assert one_line(f" a \n b{sign}") in (f"a b{printable(sign)}", "a b")


def test_other_characters_are_left_alone():
    for text in ("", "é 中 ‎אב \\x1b", "\u200d👩"):
        assert printable(text) == text
    assert printable("a\n\tb") == "a\\n\\tb"
    assert printable("\udc80") == "\\udc80"


def test_names_of_features_are_shown_whole(run, folder, monkeypatch):
    """Rich drops some control characters from strings by itself: they are written out before."""
    monkeypatch.setenv("COLUMNS", "300")
    assert f"Ada{SHOWN}" in run("inspect", folder / "crf.skip")[1]
