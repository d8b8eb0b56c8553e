"""Features given directly: python-crfsuite's conventions for dicts, and matrices."""

from __future__ import annotations

import itertools
import math
import string

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from skipchain import CRF, MEMM, Perceptron
from skipchain.errors import FeatureError
from skipchain.features.direct import NamedFeatures, NumberedFeatures, is_matrix, lengths_of
from skipchain.features.matrix import CSRMatrix, FeatureMatrix

QUICK = settings(max_examples=80, deadline=None)


def tokens_of(names, rows):
    """The (name, weight) pairs of each token."""
    index = rows.expanded()
    values = index.values if len(index.values) else np.ones(len(index.indices))
    return [
        [(names[index.indices[k]], float(values[k])) for k in range(a, b)]
        for a, b in itertools.pairwise(index.indptr.tolist())
    ]


# Names: python-crfsuite's conventions ----------------------------------------------------------

NAMES = st.text(string.ascii_letters + string.digits + ":=|# éß日𝄞", max_size=4)
WEIGHTS = st.one_of(
    st.floats(-1e20, 1e20),
    st.integers(-(2**60), 2**60),
    st.booleans(),
    st.sampled_from(
        [np.float32(0.5), np.float64(2), np.int64(-3), np.bool_(True), np.bool_(False)]
    ),
)
LISTS = st.one_of(st.lists(NAMES, max_size=3), st.sets(NAMES, max_size=3))
DICTS = st.recursive(
    st.dictionaries(NAMES, st.one_of(WEIGHTS, NAMES, LISTS), max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(WEIGHTS, NAMES, LISTS, inner), max_size=3),
    max_leaves=6,
)
TOKENS = st.one_of(DICTS, LISTS)
SEQUENCES = st.lists(st.lists(TOKENS, max_size=4), max_size=3)


@QUICK
@given(st.lists(TOKENS, max_size=4))
def test_names_and_weights_are_those_of_python_crfsuite(sequence):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    features, rows, offsets = NamedFeatures.fit([sequence])
    got = tokens_of(features.names(), rows)
    wanted = pycrfsuite.ItemSequence(sequence).items()
    # Its items are dicts: where one token has a name twice, they show only the last.
    for pairs in got:
        assume(len({name for name, _ in pairs}) == len(pairs))
    assume(not has_repetition(sequence))
    assert offsets.tolist() == [0, len(sequence)]
    assert [dict(pairs) for pairs in got] == [
        {name: weight for name, weight in token.items() if weight} for token in wanted
    ]


def has_repetition(sequence):
    """Whether a name that shows up as zero is there a second time."""

    def names(token, prefix=""):
        if not isinstance(token, dict):
            return [prefix + name for name in token]
        found = []
        for key, value in token.items():
            if isinstance(value, str):
                found.append(f"{prefix}{key}:{value}")
            elif isinstance(value, (dict, list, set)):
                found += names(value, f"{prefix}{key}:")
            else:
                found.append(prefix + key)
        return found

    return any(len(set(own)) < len(own) for own in map(names, sequence))


def test_the_conventions_in_one_token():
    token = {
        "bias": 1.5, "caps": True, "digit": False, "word": "Ada", "zero": 0.0,
        "next": {"word": "é=1", "len": 3, "deep": {"x": "y", "on": True}},
        "suffix": ["da", "a"], "prefix": ("A",), "set": {"q", "p"}, "frozen": frozenset(["z"]),
    }  # fmt: skip
    features, rows, _ = NamedFeatures.fit([[token]])
    assert tokens_of(features.names(), rows) == [
        [
            ("bias", 1.5), ("caps", 1.0), ("word:Ada", 1.0), ("next:word:é=1", 1.0),
            ("next:len", 3.0), ("next:deep:x:y", 1.0), ("next:deep:on", 1.0),
            ("suffix:da", 1.0), ("suffix:a", 1.0),
            ("prefix:A", 1.0), ("set:p", 1.0), ("set:q", 1.0), ("frozen:z", 1.0),
        ]
    ]  # fmt: skip


def test_weights_of_one_take_no_room():
    _, rows, _ = NamedFeatures.fit([[["a", "b"], {"c": True, "d": 1}]])
    assert len(rows.tokens.values) == 0
    _, rows, _ = NamedFeatures.fit([[["a", "b"], {"c": 2.0}]])
    assert rows.tokens.values.tolist() == [1.0, 1.0, 2.0]


def test_a_name_twice_in_a_token_counts_twice():
    features, rows, _ = NamedFeatures.fit([[["a", "a"], {"a:b": 1.0, "a": {"b": 2.0}}]])
    assert tokens_of(features.names(), rows) == [[("a", 1.0)] * 2, [("a:b", 1.0), ("a:b", 2.0)]]


@QUICK
@given(SEQUENCES, SEQUENCES, st.integers(1, 3))
def test_known_names_are_kept_and_the_others_counted(before, after, min_count):
    everything, all_rows, offsets = NamedFeatures.fit(before)
    assert offsets.tolist() == np.cumsum([0, *map(len, before)]).tolist()
    pairs = tokens_of(everything.names(), all_rows)
    counts: dict[str, int] = {}
    for name, _ in itertools.chain(*pairs):
        counts[name] = counts.get(name, 0) + 1
    features, rows, _ = NamedFeatures.fit(before, min_count)
    assert features.names() == [name for name, count in counts.items() if count >= min_count]
    assert rows.n_features == features.n_features == len(features.names())
    assert rows.n_edge_features == features.n_edge_features == 0
    assert features.names(transition=True) == []
    other, other_rows, other_offsets = NamedFeatures.fit(after)
    for given_, all_pairs, wanted_offsets in (
        (before, pairs, offsets),
        (after, tokens_of(other.names(), other_rows), other_offsets),
    ):
        rows, offsets_ = features.encode(given_)
        known = set(features.names())
        kept = [[pair for pair in token if pair[0] in known] for token in all_pairs]
        assert tokens_of(features.names(), rows) == kept
        assert rows.unknown == sum(map(len, all_pairs)) - sum(map(len, kept))
        assert rows.n_active == sum(map(len, kept))
        assert offsets_.tolist() == wanted_offsets.tolist()
        assert rows.edges.n_rows == rows.tokens.n_rows == offsets_[-1]


@QUICK
@given(SEQUENCES, st.randoms(use_true_random=False))
def test_pruning_leaves_the_chosen_names(sequences, random):
    features, rows, _ = NamedFeatures.fit(sequences)
    mask = np.array([random.random() < 0.5 for _ in features.names()], np.bool_)
    pruned = features.keep(mask, np.zeros(0, np.bool_))
    kept = list(itertools.compress(features.names(), mask))
    assert pruned.names() == kept
    assert tokens_of(kept, pruned.encode(sequences)[0]) == [
        [pair for pair in token if pair[0] in kept] for token in tokens_of(features.names(), rows)
    ]


@pytest.mark.parametrize("sequences", [[], [[]], [[], []], [[{}]], [[[]], []]])
def test_nothing_to_name(sequences):
    features, rows, offsets = NamedFeatures.fit(sequences)
    assert (features.n_features, rows.n_active, rows.unknown) == (0, 0, 0)
    assert offsets.tolist() == np.cumsum([0, *map(len, sequences)]).tolist()
    assert features.encode([[["a"]]])[0].unknown == 1


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        (["Ada slept"], "sequence 0 is a str; a sequence is a list of words, or of one dict or"),
        ([[], b"Ada"], "sequence 1 is a bytes; a sequence is a list"),
        ([{"w": 1}], "sequence 0 is a dict; a sequence is a list"),
        ([None], "sequence 0 is a NoneType; a sequence is a list"),
        ([3], "sequence 0 is a int; a sequence is a list"),
        ([iter([["a"]])], "sequence 0 is a list_iterator; a sequence is a list"),
        ([[["a"], "b"]], "sequence 0, token 1: a token is a dict or a list of features, got str"),
        ([[None]], "sequence 0, token 0: a token is a dict or a list of features, got NoneType"),
        ([[np.zeros(2)]], "a token is a dict or a list of features, got ndarray"),
        ([[], [{1: 2}]], "sequence 1, token 0: feature name 1 is not a string"),
        ([[{b"a": 2}]], "feature name b'a' is not a string"),
        ([[["a", 3]]], "sequence 0, token 0: feature 3 is not a string"),
        ([[{"a", 3}]], "sequence 0, token 0: feature 3 is not a string"),
        ([[{"k": ["a", ["b"]]}]], r"feature \['b'\] is not a string"),
        ([[{"k": [{"a": 1}]}]], "feature {'a': 1} is not a string"),
        (
            [[{"a": {"b": None}}]],
            "'a:b' has a value of type NoneType; wanted a number, a bool, a st",
        ),
        ([[{"a": b"x"}]], "feature 'a' has a value of type bytes; wanted"),
        ([[{"a": 1j}]], "feature 'a' has a value of type complex; wanted"),
        ([[{"a": np.ones((2, 2))}]], "feature 'a' has a value of type ndarray; wanted"),
        ([[{"a": math.nan}]], "token 0: feature 'a' has the value nan; remove it or put a number"),
        ([[{"a": {"b": -math.inf}}]], "feature 'a:b' has the value -inf; remove it"),
        ([[{"a": np.float32(np.inf)}]], "feature 'a' has the value inf"),
        ([[{"a": 10**400}]], "feature 'a' has the value inf"),
        ([[{"a": -1e300}]], "feature 'a' has the value -1e\\+300; scale it down to 1e\\+20"),
    ],
)
def test_what_is_no_feature_is_said(sequences, message):
    with pytest.raises(FeatureError, match=message):
        NamedFeatures.fit(sequences)
    features, _, _ = NamedFeatures.fit([[["a"]]])
    with pytest.raises(FeatureError, match=message):
        features.encode(sequences)


# Numbers: matrices -----------------------------------------------------------------------------


@st.composite
def matrices(draw, width=4):
    """A dense matrix, and the same in one of the forms that users have."""
    rows = draw(st.integers(0, 4))
    cells = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 0.5])
    flat = draw(st.lists(cells, min_size=rows * width, max_size=rows * width))
    dense = np.array(flat, np.float64).reshape(rows, width)
    form = draw(
        st.sampled_from(["dense", "list", "fortran", "csr", "csc", "coo", "array", "messy"])
    )
    if form == "dense":
        return dense, dense
    if form == "list":
        return (dense, dense.tolist()) if rows else (dense, dense)
    if form == "fortran":
        return dense, np.asfortranarray(dense)
    if form == "messy":
        return dense, messy(dense, draw(st.sampled_from([np.int32, np.int64])))
    made = {
        "csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "coo": sparse.coo_matrix,
        "array": sparse.csr_array,
    }  # fmt: skip
    return dense, made[form](dense)


def messy(dense, dtype):
    """A CSR matrix with unsorted columns, entries in two parts, and written-out zeros."""
    indptr, indices, data = [0], [], []
    for row in dense:
        columns = np.flatnonzero(row)[::-1]
        entries = [(c, row[c] / 2) for c in columns] * 2 + [(0, 0.0)]
        indices += [c for c, _ in entries]
        data += [value for _, value in entries]
        indptr.append(len(indices))
    csr = sparse.csr_matrix(dense.shape)
    csr.indptr, csr.indices = np.array(indptr, dtype), np.array(indices, dtype)
    csr.data = np.array(data, np.float64)
    csr.has_sorted_indices = csr.has_canonical_format = False
    return csr


def written_out(rows, width):
    index = rows.expanded()
    out = np.zeros((index.n_rows, width))
    for r in range(index.n_rows):
        part = slice(index.indptr[r], index.indptr[r + 1])
        assert len(set(index.indices[part].tolist())) == len(index.indices[part])
        out[r, index.indices[part]] = index.values[part]
    assert (index.values != 0).all()
    return out


@QUICK
@given(st.lists(matrices(), min_size=1, max_size=4), st.integers(1, 3))
def test_matrices_are_encoded_as_they_are(pairs, min_count):
    dense = np.concatenate([matrix for matrix, _ in pairs])
    given_ = [matrix for _, matrix in pairs]
    before = [m.copy() for m in given_]
    features, rows, offsets = NumberedFeatures.fit(given_, min_count)
    kept = np.flatnonzero((dense != 0).sum(axis=0) >= min_count) if min_count > 1 else np.arange(4)
    assert features.columns.tolist() == kept.tolist()
    assert features.names() == [f"column {k}" for k in kept]
    assert features.names(transition=True) == []
    assert (features.n_features, features.n_edge_features) == (len(kept), 0)
    np.testing.assert_array_equal(written_out(rows, len(kept)), dense[:, kept])
    assert rows.unknown == (dense != 0).sum() - (dense[:, kept] != 0).sum()
    assert rows.n_active == (dense[:, kept] != 0).sum()
    assert offsets.tolist() == np.cumsum([0] + [len(m) for m, _ in pairs]).tolist()
    assert (rows.tokens.indptr.dtype, rows.tokens.indices.dtype) == (np.int64, np.int32)
    again, _ = features.encode(given_)
    np.testing.assert_array_equal(written_out(again, len(kept)), dense[:, kept])
    for old, new in zip(before, given_, strict=True):  # the user's matrices stay as they were
        if hasattr(old, "tocsr"):
            np.testing.assert_array_equal(old.tocoo().data, new.tocoo().data)
        else:
            np.testing.assert_array_equal(old, new)


@QUICK
@given(
    st.lists(matrices(), min_size=1, max_size=3), st.lists(st.booleans(), min_size=4, max_size=4)
)
def test_pruning_leaves_the_chosen_columns(pairs, mask):
    dense = np.concatenate([matrix for matrix, _ in pairs])
    features, _, _ = NumberedFeatures.fit([matrix for _, matrix in pairs])
    pruned = features.keep(np.array(mask), np.zeros(0, np.bool_))
    rows, _ = pruned.encode([matrix for _, matrix in pairs])
    np.testing.assert_array_equal(written_out(rows, sum(mask)), dense[:, mask])
    twice = pruned.keep(np.arange(sum(mask)) == 0, np.zeros(0, np.bool_))
    assert twice.names() == pruned.names()[:1]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.float32, np.float64])
def test_every_kind_of_number(dtype):
    matrix = np.array([[0, 1], [1, 0], [1, 1]], dtype)
    for given_ in (matrix, sparse.csr_matrix(matrix)):
        _, rows, _ = NumberedFeatures.fit([given_])
        np.testing.assert_array_equal(written_out(rows, 2), matrix.astype(np.float64))
        assert rows.tokens.values.dtype == np.float64


def test_no_sequences_no_rows_no_columns():
    features, _, _ = NumberedFeatures.fit([np.eye(3)])
    rows, offsets = features.encode([])
    assert (rows.tokens.n_rows, rows.n_features, offsets.tolist()) == (0, 3, [0])
    for empty in (np.zeros((0, 3)), sparse.csr_matrix((0, 3))):
        rows, offsets = features.encode([empty, empty])
        assert (rows.tokens.n_rows, offsets.tolist()) == (0, [0, 0, 0])
    features, rows, _ = NumberedFeatures.fit([np.zeros((2, 0))])
    assert (features.n_features, rows.tokens.n_rows, rows.n_active) == (0, 2, 0)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ([np.eye(2), np.ones((1, 3))], "sequence 1 has 3 columns, but 2 are wanted"),
        ([np.eye(2), sparse.csr_matrix((1, 1))], "sequence 1 has 1 columns, but 2 are wanted"),
        (
            [np.ones(2)],
            r"sequence 0 has shape \(2,\) and type float64; wanted numbers, one row per",
        ),
        ([np.eye(2), np.ones((1, 2, 2))], r"sequence 1 has shape \(1, 2, 2\)"),
        ([np.eye(2), 3.0], r"sequence 1 has shape \(\)"),
        ([np.eye(2), None], r"sequence 1 has shape \(\) and type object"),
        ([np.eye(2), [{"a": 1}]], r"sequence 1 has shape \(1,\) and type object"),
        ([np.array([["a", "b"]])], "sequence 0 has shape .* and type <U1; wanted numbers"),
        ([np.eye(2) * 1j], "type complex128; wanted numbers"),
        ([sparse.csr_matrix(np.eye(2) * 1j)], "type complex128; wanted numbers"),
        ([np.array([[1.0, np.nan]])], "token 0: feature value nan is not finite; remove it or put"),
        ([np.eye(2), np.array([[0, 1], [np.inf, 0]])], "token 3: feature value inf is not finite"),
        ([sparse.csr_matrix([[0, 1], [0, -np.inf]])], "token 1: feature value -inf is not finite"),
        ([np.eye(2) * 1e200], "token 0: feature value 1e\\+200 is too large; scale it down"),
        ([], "there is no matrix to take the number of features from"),
    ],
)
def test_matrices_that_cannot_be_used(given_, message):
    with pytest.raises(FeatureError, match=message):
        NumberedFeatures.fit(given_)


def test_a_width_that_the_model_does_not_have():
    features, _, _ = NumberedFeatures.fit([np.eye(3)])
    with pytest.raises(FeatureError, match="sequence 0 has 2 columns, but 3 are wanted"):
        features.encode([np.eye(2)])


def test_rows_refuse_weights_that_are_not_finite():
    weights = CSRMatrix(np.array([0, 0, 2]), np.array([0, 1], np.int32), np.array([1.0, np.nan]))
    with pytest.raises(FeatureError, match="token 1: feature value nan is not finite"):
        FeatureMatrix(CSRMatrix.empty(2), CSRMatrix.empty(0), weights, 2, 2)


def test_forms_of_sequences_are_told_apart():
    assert is_matrix(np.eye(2))
    assert is_matrix(sparse.coo_matrix((2, 3)))
    assert not is_matrix([[1, 2]])
    assert not is_matrix(np.zeros(3))
    assert lengths_of([np.eye(2), sparse.csr_matrix((5, 1)), [{}], []]) == [2, 5, 1, 0]


def test_large_values_keep_their_labels_and_probabilities():
    pairs, labels = [[{"w": 1e20}, {"w": -1e20}]], [["A", "B"]]
    for kind in (CRF, MEMM, Perceptron):
        model = kind().fit(pairs * 3, labels * 3)
        assert model.predict(pairs) == labels
    memm = MEMM().fit([[{"w": 1.0}, {"w": -1.0}]] * 3, labels * 3)
    assert memm.predict_nbest(pairs, 2)[0].probabilities.max() <= 1.0 + 1e-9


def test_a_dict_that_holds_itself_is_named():
    token = {}
    token["a"] = token
    with pytest.raises(FeatureError, match="sequence 0, token 0: dicts inside dicts are too deep"):
        NamedFeatures.fit([[token]])
