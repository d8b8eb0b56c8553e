"""Counts of n-grams, patterns over them, and word lists from them."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import subprocess
import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError, ReadError, SkipchainError
from skipchain.io.streams import numbered_lines
from skipchain.resources import texts
from skipchain.resources.gazetteer import harvest, read_seeds
from skipchain.resources.ngrams import Filler, NgramStore, Pattern, duck
from skipchain.resources.ngrams.counting import ngrams, pad_sentences
from skipchain.resources.ngrams.importing import read_counts
from skipchain.resources.ngrams.manifest import FILE
from skipchain.resources.ngrams.pattern import END, START, PatternError
from skipchain.resources.ngrams.store import common_words
from tests.resources.counted import rows_of

duckdb = pytest.importorskip("duckdb")

TEXT = [
    "He died in a car accident .", "She died in a car accident .", "He died in an air accident .",
    "Ada and her dog died in 1999 .", "Bo and his dog slept .", "Ada slept in Oslo .",
]  # fmt: skip


def corpus_of(lines, **columns):
    return Corpus.of([line.split() for line in lines], **columns)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return NgramStore.count([corpus_of(TEXT)], tmp_path_factory.mktemp("ngrams") / "store")


def plainly(lines, order):
    """All n-grams of an order, one by one."""
    found = Counter()
    for line in lines:
        words = [START, *line, END]
        found.update(tuple(words[k : k + order]) for k in range(len(words) - order + 1))
    return found


# Counting --------------------------------------------------------------------------------------

SENTENCES = st.lists(st.lists(st.sampled_from("abAé"), min_size=1, max_size=7), min_size=1)


@given(SENTENCES, st.integers(1, 5))
def test_ngrams_are_those_counted_one_by_one(sentences, orders):
    corpus = Corpus.of(sentences)
    codes, offsets = pad_sentences(corpus)
    words = np.array([*corpus.words.values, START, END], object)
    found = list(ngrams(codes, offsets, orders))
    assert len(found) == orders
    for order, (firsts, counts) in enumerate(found, 1):
        own = {
            tuple(words[codes[first : first + order]]): count
            for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)
        }
        assert own == plainly(sentences, order)


@settings(max_examples=8)
@given(st.lists(SENTENCES, min_size=1, max_size=3), st.integers(1, 3))
def test_chunks_are_merged_and_rare_ngrams_left_out(tmp_path_factory, parts, min_count):
    path = tmp_path_factory.mktemp("merge") / "store"
    corpora = [Corpus.of(part) for part in parts]
    store = NgramStore.count(corpora, path, orders=3, min_count=min_count)
    for order in (1, 2, 3):
        wanted = plainly([line for part in parts for line in part], order)
        inner = {own: n for own, n in wanted.items() if not {START, END} & set(own)}
        found = store.query(" ".join("*" * order)) if order in store.orders else []
        assert {filler.words: filler.count for filler in found} == {
            own: n for own, n in inner.items() if n >= min_count
        }
        if order in store.orders:
            assert store.manifest.orders[order].total == sum(wanted.values())


def test_text_is_counted_block_by_block(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("Ada slept.\n\nBo left\nOslo. Ada slept.\n" * 40)
    whole = NgramStore.count([path], tmp_path / "whole")
    monkeypatch.setattr(texts, "BLOCK", 100)
    told = []
    store = NgramStore.count([path], tmp_path / "store", watch=lambda *own: told.append(own))
    assert len(told) > 5
    assert sum(tokens for _, tokens in told) == 40 * 10
    assert store.query("*<Cap> slept .")[0] == Filler(("Ada",), 80)
    assert store.manifest.origin == (str(path),)
    assert rows_of(store) == rows_of(whole)


def test_counts_lie_in_a_scratch_folder_until_they_are_summed(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    store = NgramStore.count(
        [corpus_of(TEXT)], tmp_path / "s", scratch=scratch,
        watch=lambda *_: seen.extend(path.name for path in scratch.rglob("*.parquet")),
    )  # fmt: skip
    assert len(seen) == 5
    assert list(scratch.iterdir()) == []
    again = NgramStore.count([corpus_of(TEXT)], tmp_path / "t")
    assert rows_of(store) == rows_of(again)
    with pytest.raises(SkipchainError, match=r"no folder .*nowhere for scratch files; make it"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "u", scratch=tmp_path / "nowhere")
    locked = tmp_path / "file"
    locked.write_text("")
    with pytest.raises(SkipchainError, match=r"no folder .*file for scratch files"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "u", scratch=locked)
    assert not (tmp_path / "u").exists()


def random_words(count):
    rng = np.random.default_rng(0)
    return [[f"w{own}" for own in row] for row in rng.integers(0, 10**9, (count // 20, 20))]


def test_a_database_that_has_too_little_memory(tmp_path):
    with pytest.raises(SkipchainError, match=r"too little memory to count in .*--memory"):
        NgramStore.count([Corpus.of(random_words(20_000))], tmp_path / "s", memory="1MB")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["200k", "3m"])  # full with the first counts, and when summing
def test_a_full_scratch_disk(tmp_path, size):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(scratch)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only an administrator can mount a small disk")
    try:
        with pytest.raises(SkipchainError, match=r"the disk of \S+scratch is full; .*--scratch"):
            NgramStore.count(
                [Corpus.of(random_words(60_000))], tmp_path / "s", scratch=scratch, memory="30MB"
            )
        assert list(scratch.iterdir()) == []
    finally:
        subprocess.run(["umount", str(scratch)], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_labelled_files_are_counted(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Ada NNP B-PER\nslept VBD O\n\nBo NNP B-PER\nleft VBD O\n")
    store = NgramStore.count([path], tmp_path / "s", columns=("word", "pos", "label"), orders=2)
    assert [own.text for own in store.query("* <VBD>")] == ["Ada", "Bo"]
    assert store.orders == (1, 2)


def test_a_store_takes_its_name_at_the_end(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"Ada slept.\nBo \xff left.\n")
    with pytest.raises(ReadError, match=r"bad\.txt:2: invalid UTF-8"):
        NgramStore.count([corpus_of(TEXT), bad], tmp_path / "store")
    assert [own.name for own in tmp_path.iterdir()] == ["bad.txt"]


def test_a_store_is_replaced_only_when_told(tmp_path):
    path = tmp_path / "store"
    NgramStore.count([corpus_of(TEXT)], path)
    with pytest.raises(SkipchainError, match="exists already; use --overwrite"):
        NgramStore.count([corpus_of(TEXT[:1])], path)
    again = NgramStore.count([corpus_of(TEXT[:1])], path, overwrite=True, orders=2)
    assert again.orders == (1, 2)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(SkipchainError, match="is no n-gram store"):
        NgramStore.count([corpus_of(TEXT)], other, overwrite=True)
    with pytest.raises(SkipchainError, match="for patterns; name another"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "a[1]")
    with pytest.raises(SkipchainError, match="make it first"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "no" / "store")


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"orders": 0}, "orders"), ({"orders": 10}, "1 to 9"), ({"min_count": 0}, "min_count"),
     ({"memory": "much"}, "such as 2GB"), ({"memory": "80%"}, "such as 2GB")],
)  # fmt: skip
def test_settings_of_counting(tmp_path, settings, told):
    with pytest.raises(ParameterError, match=told):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "store", **settings)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_count(tmp_path):
    with pytest.raises(SkipchainError, match="nothing to count"):
        NgramStore.count([], tmp_path / "store")
    plain = tmp_path / "a.conll"
    plain.write_text("Ada B-PER\nslept O\n")
    with pytest.raises(ReadError, match="no column of parts of speech"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "store", tags=[plain])


def test_without_duckdb(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SkipchainError, match=r"pip install .*(ngrams|duckdb)"):
        duck.import_duckdb()
    with pytest.raises(SkipchainError, match="not installed"):
        NgramStore.count([corpus_of(TEXT)], tmp_path / "store")


# Damage ----------------------------------------------------------------------------------------


def damaged(store, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(store.path, copy)
    change(copy)
    return copy


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda own: (own / FILE).unlink(), "no n-gram store, or one half written"),
        (lambda own: (own / FILE).write_text("{"), "manifest.json: damaged manifest"),
        (lambda own: (own / FILE).write_text('{"format": "x"}'), "expected the format"),
        (
            lambda own: (own / FILE).write_text('{"format": "skipchain n-grams", "version": 9}'),
            "version 9",
        ),
        (
            lambda own: (own / FILE).write_text('{"format": "skipchain n-grams", "version": 1}'),
            "damaged manifest",
        ),
        (lambda own: (own / "3.parquet").unlink(), "3.parquet: missing"),
        (lambda own: (own / "2.parquet").write_bytes(b"PAR1"), "2.parquet: 4 bytes, but"),
    ],
)
def test_damage_is_named(store, tmp_path, change, told):
    with pytest.raises(ReadError, match=told):
        NgramStore.open(damaged(store, tmp_path, change))


def test_damage_inside_a_file_is_named(store, tmp_path):
    def change(own):
        path = own / "3.parquet"
        path.write_bytes(b"\0" * path.stat().st_size)

    own = NgramStore.open(damaged(store, tmp_path, change))
    with pytest.raises(ReadError, match=r"3\.parquet: cannot be read"):
        own.query("* in a")
    with pytest.raises(ReadError, match="no such n-gram store"):
        NgramStore.open(tmp_path / "nothing")


# Patterns --------------------------------------------------------------------------------------


def test_the_fillers_of_a_pattern(store):
    found = store.query("died in (a|an) * accident")
    assert found == [Filler(("car",), 2), Filler(("air",), 1)]
    assert store.query("died in (a|an) * accident", limit=1) == found[:1]
    assert store.query("<Cap> and (his|her)") == [Filler(("Ada",), 1), Filler(("Bo",), 1)]
    assert store.query("* and *(his|her)")[0].words == ("Ada", "her")
    assert store.query("in <num>") == [Filler(("1999",), 1)]
    assert store.query("slept <punct>") == [Filler((".",), 1)]
    assert [own.text for own in store.query(f"{START} *<Cap>")] == ["Ada", "He", "Bo", "She"]
    assert store.query("in !(a|an) *") == [Filler((".",), 2)]
    assert store.query(". *") == []


def test_marks_and_signs_are_words(tmp_path):
    store = NgramStore.count([corpus_of(["a * b", "( c )", "it 's !"])], tmp_path / "s", orders=3)
    assert store.query(r"a \* *") == [Filler(("b",), 1)]
    assert store.query("( * )") == [Filler(("c",), 1)]
    assert store.query("it * !") == [Filler(("'s",), 1)]
    assert store.query("* 's") == [Filler(("it",), 1)]
    assert store.query("(<s>|x) *") == [Filler((own,), 1) for own in ("(", "a", "it")]


ITEMS = ("a", "A", "(a|b)", "*", "<Cap>", "<lower>", "!a", "*<Cap>", START, END)
FITS = {
    "a": lambda w: w == "a",
    "A": lambda w: w == "A",
    "(a|b)": lambda w: w in "ab",
    "*": lambda w: w not in (START, END),
    "<Cap>": str.isupper,
    "*<Cap>": str.isupper,
    "<lower>": lambda w: w in ("a", "b"),
    "!a": lambda w: w != "a",
    START: START.__eq__,
    END: END.__eq__,
}


def test_queries_are_those_of_a_plain_matcher(tmp_path):
    rng = np.random.default_rng(0)
    lines = [list(rng.choice(["a", "b", "A"], rng.integers(1, 6))) for _ in range(30)]
    store = NgramStore.count([Corpus.of(lines)], tmp_path / "store", orders=3)
    with store.session() as session:
        for items in product(ITEMS, repeat=2):
            text = f"{items[0]} {items[1]}"
            try:
                pattern = Pattern.parse(text)
            except PatternError:
                assert not any("*" in own or "<Cap>" in own or "<lower>" in own for own in items)
                continue
            wanted = Counter()
            for own, count in plainly(lines, 2).items():
                if all(FITS[item](word) for item, word in zip(items, own, strict=True)):
                    wanted[tuple(own[k] for k in pattern.slots)] += count
            assert {own.words: own.count for own in session.query(pattern)} == wanted, text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("died in", "has no slot"),
        ("", "has no slot"),
        ("a (b|c *", "not closed"),
        ("(a||b) *", "empty alternative"),
        ("*x y", "behind \\* stands a class"),
        ("(<Cap|num>|x) *", "each class stands by itself"),
        ("a b c d e *", "6 words, but .* has n-grams of 1, 2, 3, 4, 5"),
        ("<NN> and", "knows none"),
    ],
)
def test_patterns_that_cannot_be_asked(store, text, told):
    with pytest.raises(PatternError, match=told):
        store.query(text)


def test_parts_of_speech(tmp_path):
    text = corpus_of(["Ada slept", "he slept", "Ada left"])
    tagged = corpus_of(["Ada slept left he"], pos=[["NNP", "VBD", "VBD", "PRP"]])
    store = NgramStore.count([text], tmp_path / "store", tags=[tagged])
    assert store.query("<NN*> <VBD>") == [
        Filler(("Ada", "left"), 1), Filler(("Ada", "slept"), 1)
    ]  # fmt: skip
    assert store.query("*<NNP|PRP> slept") == store.query("* slept")
    with pytest.raises(PatternError, match=r"no class <JJ> in .*there are Cap.*NNP, PRP, VBD"):
        store.query("<JJ> slept")


def test_words_that_begin_sentences(tmp_path):
    text = corpus_of(["The cat saw the dog", "Ada saw May", "may Ada come"])
    store = NgramStore.count([text], tmp_path / "store", orders=2)
    assert common_words(store) == {"the", "may"}
    (tmp_path / "2gm").write_text("of the\t1\n")
    with pytest.raises(PatternError, match="no 1-grams"):
        common_words(NgramStore.load([tmp_path / "2gm"], tmp_path / "web"))


# Published counts ------------------------------------------------------------------------------


def test_published_counts_are_read(tmp_path):
    web = tmp_path / "2gm-0001.gz"
    with gzip.open(web, "wt") as file:
        file.write("of the\t17\nin a\t4\nof the\t3\n")
    books = tmp_path / "books.csv.xz"
    with lzma.open(books, "wt") as file:
        file.write('ngram,freq,cumshare\nthe,100,0.5\n"not , be",7,0.6\n')
    store = NgramStore.load([web, books], tmp_path / "store")
    assert store.orders == (1, 2, 3)
    assert store.query("* the") == [Filler(("of",), 20)]
    assert store.query("not , *") == [Filler(("be",), 7)]
    assert store.manifest.orders[2].total == 24


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("of the\t17\nno tab\n", ":2: expected an n-gram, a tab and its count"),
        ("of the\tmany\n", ":1: expected a count"),
        ("of the\t-1\n", ":1: expected a count"),
        ("of\t1\t2\n", ":1: expected an n-gram"),
        ("a b c d e f g h i j\t1\n", ":1: expected an n-gram of 1 to 9 words"),
        ("\t5\n", ":1: expected an n-gram of 1 to 9"),
        ("\n", ": there is not one n-gram"),
        ("ngram,freq\nof the\n", ":2: expected an n-gram"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path, text, told):
    path = tmp_path / "counts.txt"
    path.write_text(text)
    with pytest.raises(ReadError, match=f"counts.txt{told}"):
        list(read_counts(path))
    with pytest.raises(ReadError):
        NgramStore.load([path], tmp_path / "store")
    assert [own.name for own in tmp_path.iterdir()] == ["counts.txt"]


def test_streams_that_cannot_be_read(tmp_path):
    with pytest.raises(ReadError, match="no such file"):
        list(numbered_lines(tmp_path / "none"))
    with pytest.raises(ReadError, match="folder"):
        list(numbered_lines(tmp_path))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"of the\t17\n" * 1000)[:-20])
    with pytest.raises(ReadError, match="damaged or cut-off gzip"):
        list(numbered_lines(cut))


# Word lists ------------------------------------------------------------------------------------

CITIES, DAYS = ("Oslo", "Rome", "Bern", "Paris", "New York"), ("Monday", "Friday", "Sunday")


@pytest.fixture(scope="module")
def travels(tmp_path_factory):
    lines = [f"he {way} to {city} on {day} morning ." for way in ("flew", "went", "came")
             for city in CITIES for day in DAYS]  # fmt: skip
    return NgramStore.count([corpus_of(lines)], tmp_path_factory.mktemp("gazetteer") / "store")


def test_members_give_patterns_and_patterns_members(travels):
    found = harvest(travels, {"city": ["Oslo", "Rome"], "day": ["Monday", "Friday"]}, rounds=2)
    assert {own.phrase for own in found.of("city")} == set(CITIES)
    assert {own.phrase for own in found.of("day")} == set(DAYS)
    assert all(own.confidence == 1.0 and own.round == 0 for own in found.members[:4])
    assert all(0 < own.confidence < 1 and own.patterns > 1 for own in found.members[4:])
    assert "to * on" in {own.text for own in found.contexts if own.kind == "city"}
    assert found.lines().splitlines()[0] == "day\tFriday"


def test_patterns_alone_are_enough(travels):
    found = harvest(travels, patterns={"city": ["flew to * on"]}, rounds=1, per_round=3)
    assert len(found.members) >= 3
    assert {own.phrase for own in found.members} <= set(CITIES)


def test_a_harvest_needs_seeds(travels):
    with pytest.raises(ParameterError, match="members or patterns"):
        harvest(travels, {"city": []})
    with pytest.raises(ParameterError, match="'Oslo' is given as a member of city and of day"):
        harvest(travels, {"city": ["Oslo"], "day": ["Oslo"]})
    with pytest.raises(ParameterError, match="rounds"):
        harvest(travels, {"city": ["Oslo"]}, rounds=0)
    assert [own.phrase for own in harvest(travels, {"x": ["nowhere"]}).members] == ["nowhere"]


def test_seeds_in_files(tmp_path):
    path = tmp_path / "seeds.tsv"
    path.write_text("city\tOslo\n\n\tRome\n")
    with pytest.raises(ReadError, match=r"seeds\.tsv:3: expected a class"):
        read_seeds([path])


# The command line ------------------------------------------------------------------------------


def test_commands(run, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("Ada and her dog slept. Bo and his dog slept.\n")
    code, out, err = run("ngrams", "count", text, "-o", tmp_path / "s", "--orders", 3)
    assert (code, out) == (0, "")
    assert "3-grams" in err
    code, out, _ = run("ngrams", "query", tmp_path / "s", "<Cap> and *(his|her)")
    assert (code, out) == (0, "her\t1\nhis\t1\n")
    _, out, _ = run("ngrams", "query", tmp_path / "s", "<Cap> and", "--json")
    assert json.loads(out) == [{"words": ["Ada"], "count": 1}, {"words": ["Bo"], "count": 1}]
    seeds = tmp_path / "who.txt"
    seeds.write_text("Ada\n")
    lexicon = tmp_path / "lexicon.tsv"
    assert run("ngrams", "harvest", tmp_path / "s", "--members", seeds, "-o", lexicon)[0] == 0
    assert lexicon.read_text() == "who\tAda\n"
    code, out, _ = run("ngrams", "harvest", tmp_path / "s", "--members", seeds, "--json")
    assert json.loads(out)["members"][0]["phrase"] == "Ada"
    counts = tmp_path / "counts.txt"
    counts.write_text("of the\t3\n")
    code, _, err = run("ngrams", "import", counts, "-o", tmp_path / "web", "--quiet")
    assert (code, err) == (0, "")


def test_mistakes_on_the_command_line(run, tmp_path):
    store = tmp_path / "s"
    NgramStore.count([corpus_of(TEXT)], store)
    for arguments, told in (
        (("query", store, "died in"), "no slot"),
        (("query", tmp_path / "none", "*"), "no such n-gram store"),
        (("harvest", store), "members or patterns"),
        (("count", tmp_path / "none.txt", "-o", tmp_path / "t"), "no such file"),
    ):
        code, out, err = run("ngrams", *arguments)
        assert (code, out) == (2, "")
        assert told in err
        assert err.count("\n") == 1


def test_sources_must_be_readable_corpora(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Ada B-PER\nslept\n")
    with pytest.raises(CorpusError):
        NgramStore.count([path], tmp_path / "store")
