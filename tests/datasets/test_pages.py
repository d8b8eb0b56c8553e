"""Linked pages: links of a corpus, in JSON lines, pages of HTML, and the WebKB data."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import Corpus, MaxEnt, load
from skipchain.corpus import Column
from skipchain.datasets.readers.webkb import read_webkb, read_webkb_linqs
from skipchain.datasets.readers.webpage import address, parse_webpage, strip_header
from skipchain.datasets.registry import data_set
from skipchain.errors import CorpusError, ReadError
from skipchain.io.conll import format_conll
from skipchain.io.jsonl import format_jsonl, parse_jsonl
from skipchain.io.text import parse_plain
from skipchain.modelfile import save

# Three documents of 2, 1 and 2 sentences; 4, 1 and 3 tokens.
LINKS = [(3, 0), (0, 1), (5, 7), (0, 3), (7, 6), (0, 1)]
CORPUS = Corpus.of(
    [["a", "b"], ["c", "d"], ["e"], ["f"], ["g", "h"]], documents=[2, 1, 2], links=LINKS
)


def named(corpus):
    """The links as pairs of words."""
    words = corpus.words.tolist()
    return [] if corpus.links is None else [words[a] + words[b] for a, b in corpus.links.tolist()]


def test_links_are_sorted_and_each_once():
    assert CORPUS.links.dtype == np.int64
    assert CORPUS.links.tolist() == [[0, 1], [0, 3], [3, 0], [5, 7], [7, 6]]
    assert not CORPUS.links.flags.writeable
    assert "8 tokens, 5 links, columns word)" in repr(CORPUS)
    assert ", 1 link," in repr(replace(CORPUS, links=np.array([[0, 1]])))
    assert "link" not in repr(replace(CORPUS, links=None))


def test_links_are_part_of_what_is_equal_and_pickled():
    again = pickle.loads(pickle.dumps(CORPUS))
    assert again == CORPUS
    assert again.links.tolist() == CORPUS.links.tolist()
    assert replace(CORPUS, links=CORPUS.links[::-1]) == CORPUS
    assert replace(CORPUS, links=CORPUS.links[1:]) != CORPUS
    assert replace(CORPUS, links=None) != CORPUS
    assert replace(CORPUS, links=np.zeros((0, 2), np.int64)) == replace(CORPUS, links=None)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([(0, 1), (0, 8)], "link 1 goes from token 0 to token 8: the corpus has 8 tokens"),
        ([(-1, 1)], "link 0 goes from token -1 to token 1: the corpus has 8 tokens"),
        ([(0, 1), (2, 2)], "link 1 goes from token 2 to token 2: a token cannot be linked with"),
        ([(4, 3)], "link 0 goes from token 4 to token 3: the two stand in different documents"),
        ([(0, 1, 2)], "links must be pairs of token numbers"),
        ([(0, 1), (2,)], "links must be pairs of token numbers"),
        ([0, 1], "links must be pairs of token numbers"),
        ([("a", "b")], "links must be pairs of token numbers"),
        ([(0.0, 1.0)], "links must be pairs of token numbers"),
    ],
)
def test_bad_links_are_named(links, message):
    with pytest.raises(CorpusError, match=message):
        replace(CORPUS, links=links)


def test_no_tokens_can_have_no_links():
    with pytest.raises(CorpusError, match="the corpus has 0 tokens"):
        Corpus.of([], links=[(0, 1)])


def test_the_document_of_a_token_passes_over_empty_ones():
    corpus = Corpus.of([["a"], [], ["b"]], documents=[0, 1, 1, 0, 1, 0], links=None)
    assert corpus.document_of(np.arange(2)).tolist() == [1, 4]


def test_parts_keep_the_links_inside_them():
    assert named(CORPUS[:1]) == ["ab"]
    assert named(CORPUS[1:]) == ["fh", "hg"]
    assert CORPUS[1:].links.tolist() == [[3, 5], [5, 4]]
    assert CORPUS[2:3].links is None
    assert named(CORPUS.document(0)) == ["ab", "ad", "da"]
    assert named(CORPUS.document(-1)) == ["fh", "hg"]
    assert CORPUS.document(1).links is None
    assert named(CORPUS[::-1]) == ["hg", "fh", "da", "ad", "ab"]  # g h | f | e | c d | a b
    assert named(CORPUS.take([0, 4, 1])) == ["ab", "hg"]  # a and d no longer in one document
    assert named(CORPUS.take_documents([2, 0])) == ["fh", "hg", "ab", "ad", "da"]
    assert [named(part) for part in CORPUS.split(1 / 3)] == [["ab", "ad", "da"], ["fh", "hg"]]
    assert named(CORPUS.with_column("pos", Column.constant("X", 8))) == named(CORPUS)


def test_each_copy_has_the_links():
    assert named(CORPUS.take([0, 1, 0])) == ["ab", "ad", "ab", "da", "da", "ab", "ad", "ab"]
    twice = CORPUS.take_documents([0, 0])
    assert twice.n_documents == 2
    assert twice == Corpus.concatenate([CORPUS.document(0)] * 2)


def test_documents_that_are_not_there_cannot_be_taken():
    for wrong in ([3], [-1]):
        with pytest.raises(IndexError, match="document numbers must lie in 0 … 2"):
            CORPUS.take_documents(wrong)
    assert len(CORPUS.take_documents([])) == 0


def test_concatenation_shifts_links():
    assert Corpus.concatenate([CORPUS.document(d) for d in range(3)]) == CORPUS
    bare = replace(CORPUS, links=None)
    assert Corpus.concatenate([bare, bare]).links is None
    assert Corpus.concatenate([bare, CORPUS]).links.tolist() == (CORPUS.links + 8).tolist()


@st.composite
def linked(draw):
    """A corpus whose words are all different, with any links that it can have."""
    sizes = draw(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=4))
    flat = [size for document in sizes for size in document]
    names = iter(map(str, range(sum(flat))))
    sentences = [[next(names) for _ in range(n)] for n in flat]
    corpus = Corpus.of(sentences, documents=list(map(len, sizes)))
    document = corpus.document_of(np.arange(corpus.n_tokens))
    pairs = [(a, b) for a in range(len(document)) for b in range(len(document))
             if a != b and document[a] == document[b]]  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    return replace(corpus, links=chosen)


@settings(max_examples=60, deadline=None)
@given(linked(), st.data())
def test_taking_sentences_against_a_plain_loop(corpus, data):
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=6)) if len(corpus) else []
    part = corpus.take(chosen)
    old = list(map(int, part.words.tolist()))  # words are the numbers of their tokens
    known = set() if corpus.links is None else set(map(tuple, corpus.links.tolist()))
    document = part.document_of(np.arange(part.n_tokens))
    expected = [
        [a, b]
        for a in range(part.n_tokens)
        for b in range(part.n_tokens)
        if document[a] == document[b] and (old[a], old[b]) in known
    ]
    assert ([] if part.links is None else part.links.tolist()) == expected


# JSON lines --------------------------------------------------------------------------------------


def test_jsonl_writes_links_with_the_sentence_they_come_from():
    lines = [json.loads(line) for line in format_jsonl(CORPUS).splitlines()]
    assert [line.get("links") for line in lines] == [
        [[0, 1], [0, 3]], [[3, 0]], None, [[0, 2]], [[2, 1]],
    ]  # fmt: skip
    assert lines[0] == {"tokens": ["a", "b"], "links": [[0, 1], [0, 3]], "document": 0}


@pytest.mark.parametrize("names", [None, ("x", "y", "z"), ("x", "x", "y")])
def test_links_come_back_from_jsonl(names):
    corpus = replace(CORPUS, names=names)
    assert parse_jsonl(format_jsonl(corpus)) == corpus


@settings(max_examples=40, deadline=None)
@given(linked())
def test_any_links_come_back_from_jsonl(corpus):
    corpus = corpus.take(np.arange(len(corpus)))  # without empty documents
    if corpus.n_tokens:
        corpus = replace(corpus, names=tuple(map(str, range(corpus.n_documents))))
        assert parse_jsonl(format_jsonl(corpus)) == corpus


def test_any_sentence_of_a_document_may_have_its_links():
    corpus = parse_jsonl(
        '{"tokens": ["a"], "document": 1}\n{"tokens": ["b"], "document": 1, "links": []}\n'
        '{"tokens": ["c"], "document": 2, "links": [[1, 0], [0, 1], [1, 0]]}\n'
        '{"tokens": ["d"], "document": 2}\n'
    )
    assert corpus.links.tolist() == [[2, 3], [3, 2]]


def test_a_column_text_beside_tokens():
    corpus = CORPUS.with_column("text", Column.constant("two words", 8))
    assert parse_jsonl(format_jsonl(corpus)) == corpus


def test_running_text_with_links_is_written_as_tokens():
    corpus = replace(parse_plain("Ada slept."), links=[(0, 1)])
    assert '"tokens"' in format_jsonl(corpus)
    assert '"links"' not in format_jsonl(corpus, form="text")


def test_other_formats_have_no_links():
    labelled = CORPUS.with_labels(Column.constant("X", 8))
    assert format_conll(labelled) == format_conll(replace(labelled, links=None))


ONE = '{"tokens": ["a", "b"], "document": 1, "links": [[0, 1]]}\n'


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("[[0, 2]]", r"x:2: link \[0, 2\]: the document has 2 tokens, counted from 0"),
        ("[[0, 1], [-1, 0]]", r"x:2: link \[-1, 0\]: the document has 2 tokens"),
        (f"[[0, {10**30}]]", "the document has 2 tokens"),
        ("[[1, 1]]", r"x:2: link \[1, 1\]: a token cannot be linked with itself"),
        ("[[0]]", r"x:2: wanted a link \[from, to\] of two token numbers, got \[0\]"),
        ("[[0, true]]", r"x:2: wanted a link \[from, to\]"),
        ('["a", "b"]', r'x:2: wanted a link \[from, to\] of two token numbers, got "a"'),
        ("{}", 'x:2: "links" must be a list'),
    ],
)
def test_bad_links_in_jsonl(links, message):
    line = f'{{"tokens": ["c", "d"], "document": 2, "links": {links}}}'
    with pytest.raises(ReadError, match=message):
        parse_jsonl(ONE + line, "x")


def test_links_is_no_name_for_a_column_in_jsonl():
    with pytest.raises(CorpusError, match="another use for the name 'links'"):
        format_jsonl(CORPUS.with_column("links", CORPUS.words))


# Templates ---------------------------------------------------------------------------------------


def test_a_model_of_words(tmp_path):
    texts = [["Homework 1 is due"], ["my Homework page"], ["Publications, and my students"]]
    pages = Corpus.of(
        [["u1"], ["u2"], ["u3"]], [["course"], ["course"], ["faculty"]], text=texts, scheme="none"
    )
    model = MaxEnt("words(text, 2)\nwords(text) & word", solver="lbfgs").fit(pages).model_
    names = model.features.names()
    assert {"words(text, 2)=homework", "words(text, 2)=is"} <= set(names)
    assert "words(text, 2)=1" not in names
    assert "words(text) & word=1|u1" in names
    save(model, tmp_path / "m.skip")
    new = Corpus.of([["u4"]], text=[["HOMEWORK-sheet 7"]])
    assert load(tmp_path / "m.skip").predict(new).corpus.labels.tolist() == ["course"]


# Pages of HTML -----------------------------------------------------------------------------------


def test_a_page_by_its_parts():
    page = parse_webpage(
        "<HTML><head><title> Ada&#39;s\n page</title><style>p {x}</style></head><body>"
        "<h2>Ada <i>L</i>ee</h2><script>var x = '<h1>no</h1>';</script>"
        "<!-- no --><p>Teaches<br>CS&nbsp;1<td>and<td>2 <a name=x>here</a>"
        '<a href="a.html"><img src=b.gif alt="The course"></a></body>'
    )
    assert page.title == "Ada's page"
    assert page.headings == "Ada Lee"
    assert page.text == "Ada Lee Teaches CS 1 and 2 here The course"
    around = "Ada Lee Teaches CS 1 and 2 here |"
    assert page.anchors == (("a.html", "The course", "Ada Lee", around),)


def test_what_is_never_closed_ends_somewhere():
    page = parse_webpage("<h1><p>One<h2>Two<ul><li>no <a href=x>three<a href=y>four <a name=z>no")
    assert page.headings == "One Two"
    assert page.anchors == (
        ("x", "three", "Two", "One Two no | four no"),
        ("y", "four", "Two", "One Two no three | no"),
    )
    assert page.text == "One Two no three four no"


def test_what_a_page_says_of_a_link():
    words = [f"w{k}" for k in range(30)]
    page = parse_webpage(
        f"<a href=a>a</a><h1><a href=b>B</a></h1>{' '.join(words)} <b>l</b><a href=c> c <i>d</i>"
        f"</a> {' '.join(words)}"
    )
    first, inside, last = page.anchors
    assert (first.section, inside.section, last.section) == ("", "B", "B")
    assert first.around == f"| B {' '.join(words[:9])}"
    assert last.text == "c d"
    assert last.around == f"{' '.join(words[21:])} l | {' '.join(words[:10])}"


@pytest.mark.parametrize("html", ["", "<", "<a href='x", "<![x", "<!", "&#xfffffff;", "<h1", "</"])
def test_broken_pages_are_read(html):
    assert parse_webpage("Ada " + html).text.startswith("Ada")
    assert parse_webpage(html).title == ""


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>/!-[]ah1 ='\"&;#p\n", max_size=40))
def test_any_string_is_a_page(html):
    parse_webpage(html)


def test_headers_and_addresses():
    assert strip_header(b"\n<html>\n\nx") == b"\n<html>\n\nx"
    assert strip_header(b"Server: X") == b"Server: X"
    assert address("http://A.edu/~b/") == address("#x", "http://a.edu/~b/")
    assert address("http://a.edu/~b/") != address("http://a.edu/~b/index.html")
    assert address("?q=1", "http://a.edu/b") == "http://a.edu/b?q=1"
    assert address("http://[x") == ""


# WebKB -------------------------------------------------------------------------------------------

HEADER = "university\tclass\tpath\turl\n"
PAGES = {
    "http://w/1.html": ("wisconsin", "course", b"Server: X\n\n<title>W</title>"
                        b"<a href='http://t/1'>far</a> <h2>See</h2><a href=2.html>next</a>"),
    "http://w/2.html": ("wisconsin", "student", b"<h1>Two</h1><a href='http://w/1.html#a'>Ren\xe9"
                        b"</a><a href='/1.html'>me</a><a href='/1.html'></a><a href=2.html>I</a>"),
    "http://w/hub": ("wisconsin", "other", b"<a href=1.html>1</a><a href=2.html>2</a>"
                     b"<a href=http://t/1>3</a>"),
    "http://w/few": ("wisconsin", "other", b"<a href=1.html>1</a><a href=2.html>2</a>"
                     b"<a href=2.html#x>2</a><a href=stub>no</a><a href=few>no</a>"),
    "http://w/stub": ("wisconsin", "student", b"moved"),
    "http://w/desk": ("wisconsin", "staff", b"<a href=1.html>no</a>"),
    "http://t/1": ("texas", "faculty", b"x"),
    "http://m/1": ("misc", "student", b"<a href=http://w/1.html>no</a>"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """Two schools, of which a stub, a page with few links, and one of another class stay out."""
    rows = []
    with tarfile.open(tmp_path / "webkb-four-universities.tar.xz", "w:xz") as archive:
        for url, (school, label, data) in PAGES.items():
            data = data if data == b"moved" else data + b" " * 320
            info = tarfile.TarInfo(url[7:])
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
            rows.append(f"{school}\t{label}\t{url[7:]}\t{url}\n")
    put(tmp_path / "pages.tsv.gz", HEADER + "".join(rows))
    return tmp_path


def put(path, text):
    path.write_bytes(gzip.compress(text.encode()))


def test_webkb_pages(folder):
    corpus = read_webkb(folder)
    assert corpus.names == ("texas", "wisconsin")
    urls = ["http://t/1", "http://w/1.html", "http://w/2.html", "http://w/hub"]
    assert corpus.words.tolist() == urls
    assert corpus.labels.tolist() == ["faculty", "course", "student", "other"]
    assert corpus.column("title").tolist() == ["", "W", "", ""]
    assert corpus.column("headings").tolist() == ["", "See", "Two", ""]
    assert corpus.column("anchors").tolist() == ["", "René | me | 1", "next | 2", ""]
    assert corpus.column("sections").tolist() == ["", "Two | Two | Two", "See", ""]
    assert corpus.column("around").tolist()[2] == "far See | | 1 | 2 3".replace("2 3", "3")
    assert corpus.column("text").tolist() == ["x", "far See next", "Two René me I", "1 2 3"]
    assert corpus.links.tolist() == [[1, 2], [2, 1], [3, 1], [3, 2]]
    assert corpus.scheme is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\turl\n", "gz:1: there is no column 'university'"),
        (HEADER + "texas\tother\n", "gz:2: 2 columns, but the first line has 4"),
        (HEADER, "no page is chosen"),
        (HEADER + "texas\tother\tq\tu\n", "there is no q in the archive"),
        ("", "the file is empty"),
    ],
)
def test_bad_webkb_tables(folder, text, message):
    put(folder / "pages.tsv.gz", text)
    with pytest.raises(ReadError, match=message):
        read_webkb(folder)


@pytest.fixture
def linqs(tmp_path):
    for school in ("cornell", "texas", "washington", "wisconsin"):
        put(tmp_path / f"{school}.content.gz", f"{school}/1\t0\t1\t1\tcourse\nb\t0\t0\t0\tstaff\n")
        put(tmp_path / f"{school}.cites.gz", f"b {school}/1\nb b\n")
    return tmp_path


def test_webkb_linqs(linqs):
    corpus = read_webkb_linqs(linqs)
    assert corpus.names == ("cornell", "texas", "washington", "wisconsin")
    assert corpus.words.tolist()[:3] == ["cornell/1", "b", "texas/1"]
    assert corpus.column("text").tolist()[:2] == ["w1 w2", ""]
    assert corpus.labels.tolist()[:2] == ["course", "staff"]
    assert corpus.links.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]  # from citing to cited


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("texas.content.gz", "a 0 1 x\nb 0 x\n", "gz:2: 3 fields, wanted 4"),
        ("texas.content.gz", "a 0 2 x\n", "gz:1: wanted 0 or 1 for each word"),
        ("texas.cites.gz", "b texas/1\nb c\n", "gz:2: c is no page of texas"),
        ("texas.cites.gz", "c b\n", "gz:1: c is no page of texas"),
        ("texas.cites.gz", "b\n", "gz:1: 1 fields, wanted 2"),
    ],
)
def test_bad_linqs_files(linqs, name, text, message):
    put(linqs / name, text)
    with pytest.raises(ReadError, match=message):
        read_webkb_linqs(linqs)


@pytest.mark.slow
@pytest.mark.data("webkb")
def test_the_webkb_subset():
    corpus = data_set("webkb").read("all")
    wanted = data_set("webkb").files["all"]
    assert wanted.differences(corpus) == []
    assert wanted.differences(replace(corpus, links=None)) == ["0 links, expected 3,486"]
    # published: 237, 148, 332, 82, 542; schools 280, 291, 315, 454; links 574, 574, 728, 1614
    assert Counter(corpus.labels) == {
        "course": 237, "faculty": 148, "other": 330, "project": 83, "student": 543,
    }  # fmt: skip
    assert np.diff(corpus.documents).tolist() == [282, 297, 309, 453]
    assert [len(corpus.document(d).links) for d in range(4)] == [573, 580, 703, 1630]


@pytest.mark.data("webkb-linqs")
def test_the_linqs_pages():
    corpus = data_set("webkb-linqs").read("all")
    assert np.diff(corpus.documents).tolist() == [195, 187, 230, 265]
    assert len(corpus.links) == 1608 - 92  # without those of pages to themselves
    assert {word for text in corpus.column("text") for word in text.split()} == {
        f"w{k}" for k in range(1703)
    }
