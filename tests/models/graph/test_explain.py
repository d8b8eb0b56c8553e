"""The parents of a token give it its label: the shares sum to the probabilities, exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from skipchain import Corpus, MoPMEMM, SkipchainError, Tagger
from skipchain.models.graph.explain import explain_parents
from skipchain.parallel import Workers

WORDS = [["Ms", "Grace", "Lee", "spoke"], ["at", "Lee", "Road"], ["Lee", "slept"], ["Rome"]]
LABELS = [["O", "PER", "PER", "O"], ["O", "LOC", "LOC"], ["PER", "O"], ["LOC"]]
CORPUS = Corpus.of(WORDS * 4, LABELS * 4, documents=[4] * 4, scheme="none")
TEMPLATES = "word[-1..1]\nsuffix(2)"

SETTINGS = {
    "forward": {"orderings": "forward"},
    "both": {},
    "random": {"orderings": "forward, random(3)"},
    "no chain": {"edges": "same_word"},
    "alone": {"edges": "alone, previous, same_word(recent=1), same(suffix(2))"},
    "mixture": {"objective": "mixture"},
    "learned": {"mixing": "learned", "folds": 2},
}


@pytest.fixture(scope="module", params=SETTINGS)
def model(request):
    return MoPMEMM(TEMPLATES, solver="lbfgs", **SETTINGS[request.param]).fit(CORPUS).model_


def test_shares_sum_to_the_probabilities(model):
    given = CORPUS[4:12]
    with Workers(1) as workers:
        marginals = model.marginals(model.scores(given, workers), workers)
    for token in range(given.n_tokens):
        for pair in (("PER", "LOC"), ("O", "PER")):
            found = explain_parents(model, given, token, labels=pair)
            own = marginals[token, [model.labels.index(label) for label in pair]]
            sums = np.sum([parent.shares for parent in found.parents], axis=0)
            np.testing.assert_allclose(sums, own, atol=1e-12)
            np.testing.assert_allclose(found.probabilities, own, atol=1e-15)
            assert sum(parent.weight for parent in found.parents) == pytest.approx(1.0)
            first = [parent.shares[0] for parent in found.parents]
            assert first == sorted(first, reverse=True)


def test_contributions_differ_by_the_log_odds_of_the_edge(model):
    """With one label certain at the parent, its share is α times the edge's probability."""
    given, pair = CORPUS[:4], ("PER", "LOC")
    seen = 0
    for token in range(given.n_tokens):
        for parent in explain_parents(model, given, token, labels=pair).parents:
            first, second = parent.totals
            sizes = [abs(part.difference) for part in parent.contributions]
            assert sizes == sorted(sizes, reverse=True)
            if parent.token is not None and parent.probability < 1 - 1e-3:
                continue
            odds = np.log(parent.shares[0]) - np.log(parent.shares[1])
            if parent.token is None:
                assert first - second == pytest.approx(odds, abs=1e-9)
                seen += 1
            elif parent.probability > 1 - 1e-9:
                assert first - second == pytest.approx(odds, abs=1e-3)
                seen += 1
    assert seen


def test_a_certain_parent_of_a_plain_chain():
    """One ordering and one parent each: the share is the sum over the parent's labels."""
    model = MoPMEMM(TEMPLATES, edges="previous", orderings="forward", solver="lbfgs")
    model = model.fit(CORPUS).model_
    weights = model.edge_models["previous"].weights
    with Workers(1) as workers:
        beliefs = model.scores(CORPUS[:1], workers)
        marginals = model.marginals(beliefs, workers)
    rows = beliefs.dataset.tokens.expanded()
    active = rows.indices[rows.indptr[1] : rows.indptr[2]]
    scores = weights.state[active].sum(axis=0) + weights.transitions  # [prev, cur]
    table = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = explain_parents(model, CORPUS[:1], 1, labels=["PER", "O"])
    (parent,) = found.parents
    wanted = marginals[0] @ table
    chosen = [model.labels.index(label) for label in ("PER", "O")]
    np.testing.assert_allclose(parent.shares, wanted[chosen])
    before = model.labels.index(parent.label)
    first, second = parent.totals
    assert first - second == pytest.approx(
        np.log(table[before, chosen[0]] / table[before, chosen[1]])
    )
    assert (parent.token, parent.word, parent.kind, parent.weight) == (0, "Ms", "previous", 1.0)


def test_parents_are_named_with_their_features():
    model = MoPMEMM(TEMPLATES, orderings="forward, backward", solver="lbfgs").fit(CORPUS).model_
    found = explain_parents(model, CORPUS[4:8], 7, labels=["PER", "LOC"])
    assert (found.token, found.word) == (7, "Lee")
    by_kind = {parent.kind: parent for parent in found.parents}
    assert {(p.kind, p.token) for p in found.parents} == {
        ("previous", None), ("same_word", 5), ("same_word", 2), ("next", 8),
    }  # fmt: skip
    kinds = {part.kind for part in by_kind["same_word"].contributions}
    assert kinds == {"feature", "parent", "labels"}
    assert "<start> → ·" in {part.name for part in by_kind["previous"].contributions}
    assert "· → <start>" in {part.name for part in by_kind["next"].contributions}
    weights = sorted(parent.weight for parent in found.parents)
    np.testing.assert_allclose(weights, [1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_the_whole_document_counts():
    """Cut down to its sentence the token has fewer parents."""
    tagger = Tagger(MoPMEMM(TEMPLATES, orderings="forward").fit(CORPUS).model_)
    assert len(tagger.explain(CORPUS[:4], 7).parents) == 3
    assert len(tagger.explain(CORPUS[2:3], 0).parents) == 1
    assert tagger.explain("Lee slept. Lee ran.", 3).parents[0].token in (None, 0)


def test_as_dict_is_plain_data(model):
    found = explain_parents(model, CORPUS[:4], "Grace")
    answer = json.loads(json.dumps(found.as_dict()))
    assert answer["word"] == "Grace"
    assert answer["labels"][0] == answer["predicted"] == "PER"
    assert sum(parent["shares"][0] for parent in answer["parents"]) == pytest.approx(
        answer["probabilities"][0]
    )
    for parent in answer["parents"]:
        told = [part["difference"] for part in parent["contributions"]]
        assert sum(told) == pytest.approx(parent["totals"][0] - parent["totals"][1])


def test_mistakes_are_named(model):
    for token, labels, message in (
        (99, None, "no token 99; there are 10"),
        ("Lee", None, "occurs 3 times, as tokens 2, 5, 7"),
        (0, ["PER", "ORG"], "no label 'ORG'; it has LOC, O, PER"),
        (0, ["PER"], "two different labels"),
    ):
        with pytest.raises(SkipchainError, match=message):
            explain_parents(model, CORPUS[:4], token, labels=labels)
    with pytest.raises(SkipchainError, match="takes a Corpus"):
        explain_parents(model, [[["w"]]], 0)


def test_labels_that_the_scheme_forbids_are_named():
    given = Corpus.of(
        [["Ada", "Lee", "slept"]] * 5, [["B-PER", "I-PER", "O"]] * 5, scheme="iob2",
        documents=[1, 4],
    )  # fmt: skip
    model = MoPMEMM("word", encoding=None, solver="lbfgs").fit(given).model_
    assert explain_parents(model, given[:1], 0, labels=["B-PER", "I-PER"]).forbidden == ("I-PER",)


def test_a_summary_tells_rules_kinds_and_label_pairs(model):
    summary = json.loads(json.dumps(model.summarise(top=2, labels=["PER"])))
    assert [own["rule"] for own in summary["rules"]] == [str(rule) for rule in model.rules]
    assert summary["orderings"] == [str(ordering) for ordering in model.orderings]
    assert summary["size"]["weights"] == sum(own["weights"] for own in summary["kinds"].values())
    for kind, own in summary["kinds"].items():
        learnt = model.edge_models[kind]
        assert list(own["labels"]) == ["PER"]
        assert len(own["labels"]["PER"]["features"]) == 2
        at = [model.labels.index(label) for label in ("PER", "LOC")]
        assert own["transitions"]["PER"]["LOC"] == learnt.weights.transitions[at[0], at[1]]
        assert ("<start>" in own["transitions"]) == (kind in ("previous", "next"))
        ends = {feature["end"] for feature in own["labels"]["PER"]["features"]}
        assert ends <= ({"child"} if learnt.edge_features is None else {"child", "parent"})
    if {"previous", "next"} <= set(summary["kinds"]):
        after = model.edge_models["next"].weights
        shown = summary["kinds"]["next"]["transitions"]["<start>"]["PER"]
        assert shown == after.end[model.labels.index("PER")]  # the chain ends where sentences begin
