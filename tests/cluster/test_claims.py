"""Features that workers agree on by ranges of hashes, beside those of all data at once."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import Corpus, Templates
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import LinearScorer
from skipchain.cluster.claims import Numbering, Settled
from skipchain.cluster.features import FAMILIES, Draft, vocabulary_of
from skipchain.cluster.hashing import range_of, string_hashes
from skipchain.cluster.sources import deal_corpus
from skipchain.cluster.supports import Joined, edge_support, places_of, state_support
from skipchain.datasets.harbour import harbour
from skipchain.features.strings import StringTable
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers

TEXT = "word\nsuffix(2)[-1]\nngrams(1, 2)\nbag(lower, -2..-1)\nlabel[-1] & shape\nword[-1] & word"


def settled(corpora, templates, min_count):
    """What workers would settle, without any: their drafts, numbering and answers."""
    count = len(corpora)
    drafts = [Draft.of(own, templates) for own in corpora]
    offers = [[part for part, _ in draft.claims.by_range(count)] for draft in drafts]
    ranges = [
        Settled.of([own[k] for own in offers], len(templates.templates), min_count)
        for k in range(count)
    ]
    families = np.array([FAMILIES.index(own.family) for own in templates.templates])
    numbering = Numbering(np.array([own.per_template for own in ranges]), families)
    return drafts, numbering, [[own.answers[k] for own in ranges] for k in range(count)]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_workers_agree_on_the_vocabulary_of_all_data(workers, min_count):
    corpus = harbour()[:90]
    templates = Templates.parse(TEXT).for_corpus(corpus)
    corpora = deal_corpus(corpus, workers)
    drafts, numbering, answers = settled(corpora, templates, min_count)
    kept = [draft.kept(numbering, own) for draft, own in zip(drafts, answers, strict=True)]
    found = vocabulary_of(templates, numbering, [named for _, named, _ in kept])
    whole, _ = Vocabulary.fit(corpus, templates, min_count)
    for transition in (False, True):
        names = found.names(transition=transition)
        assert sorted(names) == sorted(whole.names(transition=transition))
        assert len(set(names)) == len(names)
    for own, (features, _, rows) in zip(corpora, kept, strict=True):
        # every worker's index has the same features at each token as that of the whole vocabulary
        expected = found.encode(own).expanded()
        numbers = features.numbers(FAMILIES[0])
        indices = rows.expanded()
        for token in range(own.n_tokens):
            a, b = indices.indptr[token : token + 2]
            c, d = expected.indptr[token : token + 2]
            here = numbers[indices.indices[a:b]]
            assert sorted(here) == sorted(expected.indices[c:d])


def test_a_worker_that_comes_later_settles_the_same():
    """Others then claim only what is kept."""
    corpus = harbour()[:90]
    templates = Templates.parse(TEXT).for_corpus(corpus)
    drafts, numbering, answers = settled(deal_corpus(corpus, 2), templates, 2)
    features, _, _ = drafts[0].kept(numbering, answers[0])
    offers = [[part for part, _ in own.by_range(2)] for own in (features.claims, drafts[1].claims)]
    count = len(templates.templates)
    again = [Settled.of([own[k] for own in offers], count, 2) for k in range(2)]
    np.testing.assert_array_equal([own.per_template for own in again], numbering.per_template)
    for own, before in zip(again, answers[1], strict=True):
        np.testing.assert_array_equal(own.answers[1].numbers, before.numbers)


def test_the_pairs_that_are_parameters_are_those_of_all_data():
    corpus = harbour()[:60]
    templates = Templates.parse(TEXT).for_corpus(corpus)
    corpora = deal_corpus(corpus, 2)
    drafts, numbering, answers = settled(corpora, templates, 1)
    kept = [draft.kept(numbering, own) for draft, own in zip(drafts, answers, strict=True)]
    found = vocabulary_of(templates, numbering, [named for _, named, _ in kept])
    names = sorted({name for own in corpora for name in own.labels.tolist()})
    size = len(names)

    def labels(own):
        return np.array([names.index(name) for name in own.labels.tolist()], np.int32)

    data = Dataset(found.encode(corpus), corpus.sentences, labels(corpus))
    scorer = LinearScorer(data, size, observed=True, boundaries=True, workers=Workers(1))
    widths = (size, (size + 1) * size)
    for family, width, support, whole in zip(
        FAMILIES,
        widths,
        (state_support, edge_support),
        (scorer._state_support, scorer._edge_support),
        strict=True,
    ):
        shown = []
        for own, (features, _, rows) in zip(corpora, kept, strict=True):
            bits = np.packbits(support(Dataset(rows, own.sentences, labels(own)), size), axis=1)
            shown.append(features.shown(family, bits, 2))
        joined = [Joined.of([own[k] for own in shown], numbering.per_template[k]) for k in range(2)]
        parameters = Numbering(np.array([own.per_template for own in joined]), numbering.families)
        seen = np.zeros(len(whole), np.int64)
        for (features, _, _), own in zip(kept, shown, strict=True):
            replies = [joined[k].answer(own[k].numbers) for k in range(2)]
            features.place(family, parameters, replies, width)
            support_here, places = features.placed[family]
            numbers = features.numbers(family)
            flat = numbers[support_here // width] * width + support_here % width
            np.testing.assert_array_equal(whole[places], flat)
            seen[places] += 1
        assert (seen > 0).all()


def test_partly_known_labels_support_all_that_they_may_be():
    corpus = Corpus.of([["a", "b"], ["a"]])
    _, rows = Vocabulary.fit(corpus, Templates.parse("word\nlabel[-1] & word"))
    data = Dataset(rows, corpus.sentences, np.array([0, -1, 1], np.int32))
    scorer = LinearScorer(data, 2, observed=True, boundaries=True, workers=Workers(1))
    np.testing.assert_array_equal(np.flatnonzero(state_support(data, 2)), scorer._state_support)
    np.testing.assert_array_equal(np.flatnonzero(edge_support(data, 2)), scorer._edge_support)


def test_hashes_are_those_of_the_strings_wherever_they_stand():
    one, other = StringTable.of(["on", "London", ""]), StringTable.of(["", "x", "London"])
    a, b = string_hashes(one), string_hashes(other)
    assert a[3] == b[4]
    assert a[4] == b[2]
    assert len(set(a.tolist())) == 5
    owners = range_of(np.array([0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1], np.uint64), 2)
    assert owners.tolist() == [0, 0, 1, 1]


def test_places_of_flags_are_counted_from_where_each_feature_begins():
    flags = np.random.default_rng(0).random((20, 13)) < 0.3
    offsets = np.arange(20) * 100
    support, places = places_of(np.packbits(flags, axis=1), offsets, 13)
    np.testing.assert_array_equal(support, np.flatnonzero(flags))
    rows = support // 13
    np.testing.assert_array_equal(places // 100, rows)
    assert all(
        np.diff(places[rows == row]).tolist() == [1] * (flags[row].sum() - 1) for row in rows
    )
