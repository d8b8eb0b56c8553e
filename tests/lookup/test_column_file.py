"""Column files tagged as bytes, against reading a corpus, labelling it and writing it."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skipchain import CRF, MEMM, Corpus, MaxEnt, Perceptron, load, read
from skipchain.corpus.schemes import convert
from skipchain.datasets.harbour import harbour
from skipchain.errors import SkipchainError
from skipchain.io.columns import tidy
from skipchain.kernels.best_paths import LANES, best_paths
from skipchain.kernels.chain import viterbi
from skipchain.kernels.kernel import interpreted
from skipchain.lookup import column_file, frozen
from skipchain.lookup.frozen import leads_of
from skipchain.recipes import recipe
from skipchain.tagger import Tagger

FEATURES = "word[-1..1]\nshape\nsuffix(3)\nngrams(1, 3)\nlower[-1] & shape\nbag(lower, -3..-1)"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(CRF(FEATURES, epochs=3).fit(harbour()).model_, threads=2)


@pytest.fixture(autouse=True)
def _small_files_too(monkeypatch):
    monkeypatch.setattr(column_file, "SMALL", 0)


def by_corpus(tagger, source, target, **options):
    corpus = read(source, scheme="none", **options)  # its labels are replaced
    corpus = corpus.without_labels() if corpus.labelled else corpus
    tagger.predict(corpus).corpus.write(target, "conll", overwrite=True)


def both(tagger, folder, data, **options):
    """What both ways write, or the errors that they raise."""
    source = folder / "in.conll"
    source.write_bytes(data)
    outcomes = []
    for way in (by_corpus, Tagger.tag_file):
        target = folder / f"{way.__name__}.conll"
        target.unlink(missing_ok=True)
        try:
            way(tagger, source, target, **options)
        except SkipchainError as error:
            assert not target.exists()
            outcomes.append(str(error))
        else:
            outcomes.append(target.read_bytes())
    return outcomes


def is_tidy(data, columns=None):
    known = tidy.TidyColumns.of(data, columns)
    return known is not None and known.scan(tidy.closed(data), ["word"]) is not None


WORDS = ["Ada", "Ostley", "went", ".", "#", "日本", "-DOCSTART-", "-DOCSTART-x", "é", "# a", "a  b"]
LINES = st.one_of(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(["O", "B-PER", "X"])).map(" ".join),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(["O", "B-PER", "X"])).map(" ".join),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(["O", "B-PER"])).map("\t".join),
    st.sampled_from(
        ["", "", "", "-DOCSTART- O", "-DOCSTART-", "# doc a", " ", "Ada", "\r", "a\0 O"]
    ),
)


@given(st.lists(LINES, min_size=1, max_size=14), st.sampled_from(["", "\n", "\n\n"]))
@example(["-DOCSTART- O", "", "Ada O", "went O", "", "-DOCSTART- O", "", ". O"], "")
@example(["Ada O", "-DOCSTART- O", "went O"], "\n")
@example(["", "", "Ada O", "", "", "went O", "", ""], "\n")
@example(["# O", "# O"], "\n")
@example(["Ada\tO", "a  b\tO", "a\tO"], "\n")
@settings(max_examples=300, deadline=None)
def test_files_are_written_as_by_way_of_a_corpus(tagger, tmp_path_factory, lines, end):
    folder = tmp_path_factory.mktemp("files")
    data = ("\n".join(lines) + end).encode()
    wanted, found = both(tagger, folder, data)
    assert found == wanted


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (b"Ada O\nwent O\n", None),
        (b"-DOCSTART- -X- O O\n\nAda NNP B-NP O\n", None),
        (b"Ada\tO\nwent\tO\n", None),
        (b"Ada\nwent\n\nBo\n", None),
        (b"1 Ada\n2 went\n", ("place", "word")),
        ("日本 O\n".encode(), None),
    ],
)
def test_what_is_tidy_is_tagged_as_bytes(tagger, tmp_path, data, columns, monkeypatch):
    assert is_tidy(data, columns)
    options = {"format": "conll"} if columns is None else {"format": "conll", "columns": columns}
    wanted, found = both(tagger, tmp_path, (data + b"\n") * 3, **options)
    assert found == wanted
    monkeypatch.setattr(Tagger, "predict", None)  # nothing goes by way of a corpus
    tagger.tag_file(tmp_path / "in.conll", tmp_path / "again.conll", **options)
    assert (tmp_path / "again.conll").read_bytes() == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"# newdoc\nAda O\n", b"Ada O\r\n", b"Ada O\nwent\n", b"Ada  O\n", b"Ada O \n", b" Ada O\n",
        b"Ada O\n \nBo O\n", b"Ada\t\tO\n", b"Ada O\n-DOCSTART- O\n", b"\xff O\n", b"", b"\n\n",
        b"-DOCSTART-\n\nAda\n", b"# O\n",
    ],
)  # fmt: skip
def test_what_is_not_tidy_goes_by_way_of_a_corpus(tagger, tmp_path, data):
    assert not is_tidy(data)
    wanted, found = both(tagger, tmp_path, data, format="conll")
    assert found == wanted


@pytest.mark.parametrize(
    "columns", [("label", "word"), ("word", "_"), ("word", "word"), ("a", "b"), ("word",), "word"]
)
def test_columns_that_change_their_places_go_by_way_of_a_corpus(tagger, tmp_path, columns):
    wanted, found = both(tagger, tmp_path, b"Ada O\nwent O\n", format="conll", columns=columns)
    assert found == wanted


@pytest.mark.parametrize("estimator", [CRF, MEMM, Perceptron])
@pytest.mark.parametrize("scheme", ["iob1", "iob2", "bioes", "io", None])
def test_models_in_many_blocks(tmp_path, estimator, scheme, monkeypatch):
    monkeypatch.setattr(tidy, "BLOCK", 2000)
    corpus = harbour()
    labels, own_scheme = corpus.labels, str(corpus.scheme)
    if scheme is not None:
        labels = convert(labels, corpus.sentences, own_scheme, scheme, lossy=True)
    corpus = corpus.with_labels(labels, scheme)
    own = Tagger(estimator(FEATURES, epochs=2).fit(corpus).model_)
    assert (own.model.frozen is None) == (estimator is MEMM)
    data = b"".join(b"%s O\n%s" % (w.encode(), b"\n" * (w == ".")) for w in harbour().words)
    wanted, found = both(own, tmp_path, data)
    assert found == wanted
    assert len(found) > 20_000


@pytest.mark.parametrize(
    "estimator",
    [
        CRF("word\nlabel[-1] & word", epochs=1),
        CRF("word", order=2, epochs=1),
        MaxEnt("word\nhistory(lower)", epochs=1),
        CRF("word", dictionary=1, epochs=1),
    ],
)
def test_models_that_look_at_more_are_not_frozen(estimator):
    assert estimator.fit(harbour()).model_.frozen is None


def test_weights_too_large_for_single_precision_are_not_frozen(tagger):
    weights = tagger.model.weights
    large = weights.copy()
    large.transitions[0, 0] = 2 * frozen.LARGEST_WEIGHT
    vocabulary, rules = tagger.model.features, tagger.model.constraints
    assert frozen.FrozenChain.of(vocabulary, weights, rules) is not None
    assert frozen.FrozenChain.of(vocabulary, large, rules) is None


def test_packed_files_and_standard_input(tagger, tmp_path, run):
    data = b"Ada O\nwent O\n\nBo O\n"
    packed = tmp_path / "a.conll.gz"
    packed.write_bytes(gzip.compress(data))
    tagger.save(tmp_path / "m.skip")
    tagger.tag_file(packed, tmp_path / "out.conll.gz")
    wanted = gzip.decompress((tmp_path / "out.conll.gz").read_bytes())
    code, out, err = run("tag", tmp_path / "m.skip", "-q", stdin=data)
    assert (code, out.encode(), err) == (0, wanted, "")
    code, out, err = run("tag", tmp_path / "m.skip", packed, "-o", tmp_path / "out.conll.gz")
    assert code == 2
    assert "exists already" in err


def test_formats_of_other_kinds_are_read_as_ever(tagger, tmp_path):
    source = tmp_path / "a.jsonl"
    Corpus.of([["Ada", "went"]]).write(source)
    tagger.tag_file(source, tmp_path / "out.conll")
    by_corpus(tagger, source, tmp_path / "wanted.conll")
    assert (tmp_path / "out.conll").read_text() == (tmp_path / "wanted.conll").read_text()
    with pytest.raises(SkipchainError, match="can be written, but not read"):
        tagger.tag_file(source, tmp_path / "no.conll", format="html")


@given(
    st.integers(1, 19),
    st.lists(st.integers(1, 7), min_size=1, max_size=5),
    st.sampled_from([1, 4, 30]),
    st.integers(0, 99),
)
@settings(max_examples=100, deadline=None)
def test_best_paths_are_those_of_the_exact_kernel(states, lengths, spread, seed):
    """Whether nearly all states are passed over, as scores far apart have it, or hardly one."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    node = rng.integers(-9 * spread, 9 * spread, (offsets[-1], states)).astype(np.float32)
    edge = rng.integers(-9, 9, (states, states)).astype(np.float32)
    edge[rng.random(edge.shape) < 0.1] = -np.inf
    start, end = rng.integers(-9, 9, (2, states)).astype(np.float32)
    whole = node.astype(np.float64)
    whole[offsets[:-1]] += start
    whole[offsets[1:] - 1] += end
    wanted, scores = np.zeros(len(node), np.int32), np.zeros(len(lengths))
    viterbi(whole, edge[None].astype(np.float64), offsets, wanted, scores)
    path, room = np.zeros(len(node), np.int32), (0, -states % LANES)
    node, edge = np.pad(node, ((0, 0), room)), np.pad(edge, room, constant_values=-np.inf)
    start, end = np.pad(start, room, constant_values=-np.inf), np.pad(end, room)
    best_paths(node, edge, leads_of(edge), start, end, offsets, path)
    np.testing.assert_array_equal(path, wanted)
    with interpreted():
        best_paths(node, edge, leads_of(edge), start, end, offsets, path)
    np.testing.assert_array_equal(path, wanted)


@pytest.mark.slow
@pytest.mark.data("conll2003")
def test_conll2003_gets_the_same_bytes(data_path, tmp_path):
    train, test = data_path("conll2003/eng.train.gz"), data_path("conll2003/eng.testb.gz")
    own = Tagger(CRF("ner", epochs=1).fit(read(train)[:2000]).model_)
    own.tag_file(test, tmp_path / "found.conll")
    by_corpus(own, test, tmp_path / "wanted.conll")
    found, wanted = ((tmp_path / name).read_bytes() for name in ("found.conll", "wanted.conll"))
    assert len(found) == len(wanted)
    lines = zip(found.split(b"\n"), wanted.split(b"\n"), strict=True)
    assert sum(a != b for a, b in lines) <= 1  # ties that single precision breaks


def test_annotated_models_are_tagged_by_documents(tmp_path, monkeypatch):
    """Lists, what the document says, and a stacked model: blocks have whole documents."""
    features = recipe("ner-full", features=FEATURES + "\nitems(lexicon)\nfirst_word?", folds=2)
    own = Tagger(CRF(features, epochs=2).fit(harbour()).model_, threads=2)
    assert own.model.frozen is not None
    source = tmp_path / "in.conll"
    harbour().without_labels().with_labels(harbour().labels, None).write(source, "conll")
    by_corpus(own, source, tmp_path / "wanted.conll", format="conll")
    monkeypatch.setattr(tidy, "BLOCK", 3000)
    data = source.read_bytes()
    assert len(list(tidy.cut_documents(data))) > 5
    monkeypatch.setattr(Tagger, "predict", None)  # nothing goes by way of the whole corpus
    own.tag_file(source, tmp_path / "found.conll", format="conll")
    assert (tmp_path / "found.conll").read_bytes() == (tmp_path / "wanted.conll").read_bytes()


def test_an_annotated_model_looks_at_a_file_without_documents_as_a_whole(tmp_path):
    features = recipe("ner-knowledge", features="word\nitems(lexicon)\noccurrence")
    own = Tagger(CRF(features, epochs=1).fit(harbour()).model_)
    data = b"".join(b"%s O\n%s" % (w.encode(), b"\n" * (w == ".")) for w in harbour().words)
    wanted, found = both(own, tmp_path, data)
    assert found == wanted


def test_the_packaged_model_tags_files(tmp_path):
    harbour()[:30].without_labels().write(tmp_path / "plain.conll", "conll")
    by_corpus(load(), tmp_path / "plain.conll", tmp_path / "wanted.conll", format="conll")
    load().tag_file(tmp_path / "plain.conll", tmp_path / "found.conll", format="conll")
    assert (tmp_path / "found.conll").read_text() == (tmp_path / "wanted.conll").read_text()
