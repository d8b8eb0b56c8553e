"""Rules against plain double loops, orderings, and graphs that are refused."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import Corpus, MoPMEMM, SkipchainError
from skipchain.edges import (
    Dag,
    EdgeSet,
    FunctionRule,
    Ordering,
    parse_orderings,
    parse_rules,
    same_word,
)
from skipchain.edges.rule_text import split_arguments
from skipchain.errors import ParameterError, SkipchainWarning
from skipchain.kernels import mixture
from skipchain.models.graph.documents import check_linked_documents
from skipchain.models.graph.mixture import mixture_edges

WORDS = ["Ada", "ada", "Bo", "bo", "Cy", "x", "."]


@st.composite
def corpora(draw):
    """Small documents in which words come again, with empty sentences and documents."""
    words = draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=6))
    cuts = sorted(draw(st.lists(st.integers(0, len(words)), max_size=3)))
    sizes = np.diff([0, *cuts, len(words)]).tolist()
    return Corpus.of(words, documents=sizes)


def places(corpus):
    """Word, sentence and document of each token."""
    bounds = corpus.sentences[corpus.documents]
    document = np.repeat(np.arange(corpus.n_documents), np.diff(bounds)).tolist()
    sentence = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentences)).tolist()
    return list(zip(corpus.words.tolist(), sentence, document, strict=True))


def same_by_loops(corpus, key, recent):
    """Each token with the nearest before it whose key is the same; the empty key takes no part."""
    own = places(corpus)
    found = set()
    for later, (word, sentence, document) in enumerate(own):
        before = [
            k for k in range(later - 1, -1, -1)
            if own[k][2] == document and key(own[k][0]) == key(word) != ""
        ][:recent]  # fmt: skip
        found |= {
            (k, later) for k in before if not (later - k == 1 and own[k][1] == sentence)
        }  # fmt: skip
    return found


@settings(max_examples=60, deadline=None)
@given(corpora(), st.integers(1, 3), st.booleans(), st.booleans())
def test_same_word(corpus, recent, capitalised, lower):
    text = f"same_word(recent={recent}, capitalised={capitalised}, lower={lower})"
    (rule,) = parse_rules(text)

    def key(word):
        if capitalised and not word[0].isupper():
            return ""
        return word.lower() if lower else word

    found = rule.pairs(corpus).tolist()
    assert len({tuple(pair) for pair in found}) == len(found)
    assert {tuple(pair) for pair in found} == same_by_loops(corpus, key, recent)


@settings(max_examples=30, deadline=None)
@given(corpora())
def test_same_view(corpus):
    (rule,) = parse_rules("same(suffix(1), recent=2)")
    found = {tuple(pair) for pair in rule.pairs(corpus).tolist()}
    assert found == same_by_loops(corpus, lambda word: word[-1:], 2)


@settings(max_examples=30, deadline=None)
@given(corpora())
def test_previous_and_alone(corpus):
    own = places(corpus)
    (rule,) = parse_rules("previous")
    wanted = [[k - 1, k] for k in range(1, len(own)) if own[k][1] == own[k - 1][1]]
    assert rule.pairs(corpus).tolist() == wanted
    assert parse_rules("alone")[0].pairs(corpus).tolist() == []


def test_links_both_ways_or_one():
    corpus = Corpus.of([["a"], ["b"], ["c"]], documents=[3], links=[(0, 1), (2, 0), (1, 2)])
    both, incoming, outgoing = (parse_rules(t)[0] for t in ("links", "links(incoming)",
                                                            "links(outgoing)"))  # fmt: skip
    assert sorted(both.pairs(corpus).tolist()) == [[0, 1], [1, 2], [2, 0]]
    kinds = {
        rule: {kind for k in range(3) for _, kind in EdgeSet.of(corpus, [rule]).dag(Ordering())
               .of(k)}
        for rule in (both, incoming, outgoing)
    }  # fmt: skip
    assert kinds[both] == {"incoming", "outgoing", "alone"}
    assert kinds[incoming] == {"incoming", "alone"}
    assert kinds[outgoing] == {"outgoing", "alone"}
    # 2 → 0: the parent, visited before, is the page that is linked
    assert EdgeSet.of(corpus, [both]).dag(Ordering()).of(2) == [(1, "incoming"), (0, "outgoing")]


def test_siblings_are_linked_both_ways_round():
    links = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 0), (3, 2), (4, 5), (4, 6)]
    corpus = Corpus.of([[str(k)] for k in range(7)], documents=[4, 3], links=links)
    wanted = {(1, 2), (1, 3), (2, 3), (0, 2), (5, 6)}
    found = [tuple(pair) for pair in parse_rules("siblings")[0].pairs(corpus).tolist()]
    assert len(found) == len(set(found)) == 10
    assert {pair for pair in found if pair[0] < pair[1]} == wanted
    assert {pair[::-1] for pair in found} == set(found)
    few = parse_rules("siblings(most=2)")[0].pairs(corpus).tolist()
    assert sorted(few) == [[0, 2], [2, 0], [5, 6], [6, 5]]
    # one edge type, whichever of the two is visited first
    relations = EdgeSet.of(corpus, parse_rules("siblings"))
    assert relations.dag(Ordering()).of(2) == [(1, "siblings"), (0, "siblings")]
    assert relations.dag(Ordering("backward")).of(2) == [(3, "siblings")]


def test_siblings_learn_from_both_ways_round():
    words = [["list"], ["ada"], ["bo"], ["list"], ["x"], ["y"]] * 2
    labels = [["hub"], ["A"], ["A"], ["hub"], ["B"], ["B"]] * 2
    links = [(h + s, h + t) for h in (0, 3, 6, 9) for s, t in ((0, 1), (0, 2))]
    corpus = Corpus.of(words, labels, documents=[6, 6], links=links, scheme="none")
    fitted = MoPMEMM("word", edges="siblings", orderings="random(4)", encoding=None).fit(corpus)
    assert set(fitted.model_.edge_models) == {"siblings", "alone"}
    table = fitted.model_.edge_models["siblings"].weights.transitions
    names = fitted.model_.labels
    a, b = names.index("A"), names.index("B")
    assert table[a, a] > 0 >= table[a, b]
    new = Corpus.of([["list"], ["ada"], ["new"]], documents=[3], links=[(0, 1), (0, 2)])
    assert fitted.predict(new)[2] == ["A"]
    with pytest.raises(SkipchainError, match="the corpus has none"):
        MoPMEMM("word", edges="siblings").fit(Corpus.of([["a"]], [["A"]], scheme="none"))


def test_without_links_there_is_nothing_to_learn_but_something_to_tag():
    linked = Corpus.of(
        [["a"], ["b"]] * 2, [["A"], ["B"]] * 2, documents=[4], links=[(0, 1)], scheme="none"
    )
    plain = Corpus.of([["a"], ["b"]], [["A"], ["B"]], scheme="none")
    with pytest.raises(SkipchainError, match=r"the corpus has none; give Corpus.of"):
        MoPMEMM("word", edges="links").fit(plain)
    fitted = MoPMEMM("word", edges="links").fit(linked)
    with pytest.warns(SkipchainWarning, match="the corpus has none"):
        assert fitted.predict(plain) == [["A"], ["B"]]


def test_words_of_too_many_documents_are_left_out():
    words = [["Ada", "Bo"], ["Bo", "Ada"], ["Cy", "Ada", "x", "Ada"], ["Cy", "x", "Cy"]]
    train = Corpus.of(words, documents=[1, 1, 1, 1])
    rule = parse_rules("same_word(max_documents=2)")[0]
    assert rule.common is None
    fitted = rule.fit(train)
    assert list(fitted.common) == ["Ada"]
    assert fitted.pairs(train).tolist() == [[8, 10]]
    # what was rare in training is never left out, what was common always
    test = Corpus.of([["Ada", "x", "Ada", "Dee"], ["Dee"]] * 3, documents=[2, 2, 2])
    assert fitted.pairs(test).tolist() == [[3, 4], [8, 9], [13, 14]]
    assert parse_rules("same_word(max_documents=1)")[0].fit(train).common.find(["Cy"])[0] >= 0


# Text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "previous",
        "previous, same_word",
        "alone, links(incoming), same(lower)",
        "links, siblings(most=7)",
        "same(suffix(3), recent=2, max_documents=7, lower=true, capitalised=true)",
        'same(find("a,b[)]c"))',
    ],
)
def test_rules_can_be_written_and_read_again(text):
    rules = parse_rules(text)
    again = parse_rules([str(rule) for rule in rules])
    assert list(map(str, again)) == list(map(str, rules))
    assert [rule.edge_types for rule in again] == [rule.edge_types for rule in rules]
    assert list(map(str, parse_rules(", ".join(map(str, rules))))) == list(map(str, rules))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("previos", "no edge rule 'previos'; there are previous, alone, same_word, same, links"),
        ("previous, same word", "no edge rule 'same word'"),
        ("previous()x", "no edge rule"),
        ("", "give at least 'previous'"),
        ("previous, ", "no edge rule ''"),
        ("previous(2)", "takes no arguments, got '2'"),
        ("same", "same needs a view"),
        ("same(recent=2)", "same needs a view"),
        ("same(nothing(3))", "same\\(nothing\\(3\\)\\):"),
        ("same(lower[-1])", "one view of the token itself"),
        ("same(lower & suffix(2))", "one view of the token itself"),
        ("same_word(far=2)", "does not take 'far=2'; wanted capitalised, recent"),
        ("same_word(2)", "does not take '2'"),
        ("same_word(recent=few)", "recent must be a whole number, got 'few'"),
        ("same_word(recent=0)", "recent must be a whole number of at least 1, got 0"),
        ("same_word(recent=²)", "recent must be a whole number, got '²'"),
        ("same_word(recent=2, recent=3)", "same_word: recent is given twice"),
        ("same_word(lower=maybe)", "lower must be true or false, got 'maybe'"),
        ("links(sideways)", "one of both, incoming, outgoing, got 'sideways'"),
        ("links(incoming, outgoing)", "links takes one direction"),
        ("siblings(most=1)", "most must be a whole number of at least 2, got 1"),
        ("siblings(recent=2)", "does not take 'recent=2'; wanted most, each"),
        ("previous, previous", "two edge rules have the name"),
        ("same_word, same_word(recent=2)", "two edge rules have the name 'same_word"),
    ],
)
def test_mistakes_in_rules_are_named(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_rules(text)


def test_mistakes_in_lists_of_rules_are_named():
    with pytest.raises(ParameterError, match="text, a rule or a function, got 3"):
        parse_rules(["previous", 3])
    with pytest.raises(ParameterError, match=r"there are previous.*, mine"):
        parse_rules("other", {"mine": lambda corpus: []})
    for wrong in (None, 3):
        with pytest.raises(ParameterError, match=f"text or a list of rules, got {wrong}"):
            parse_rules(wrong)


def test_a_rule_of_ones_own_has_a_name_that_can_be_stored():
    with pytest.raises(ParameterError, match="cannot have the name '<lambda>'"):
        parse_rules(["previous", lambda corpus: []])
    for name in ("previous", "alone", "links"):
        with pytest.raises(ParameterError, match=f"cannot have the name {name!r}"):
            parse_rules(name, {name: lambda corpus: []})


def test_recent_may_be_larger_than_any_number_of_mentions():
    corpus = Corpus.of([["Ada"], ["Bo"], ["Ada"], ["Ada"]])
    found = same_word(recent=1000).pairs(corpus)
    assert found.tolist() == [[0, 2], [2, 3], [0, 3]]


@pytest.mark.parametrize("view", ["ngrams", "words", "items(pos)"])
def test_a_rule_of_several_strings_is_refused(view):
    with pytest.raises(ParameterError, match="several strings; wanted one"):
        parse_rules(f"same({view})", {})


def test_a_view_of_several_strings_is_refused():
    corpus = Corpus.of([["Ada", "Ada"]], documents=[1])
    both = {"halves": lambda word: [word[:1], word[1:]]}
    (rule,) = parse_rules("same(halves)", both)
    with pytest.raises(ParameterError, match="several strings; wanted one"):
        rule.pairs(corpus)


def test_parts_stand_between_signs_outside_brackets():
    assert split_arguments('a, b(c, "d)", e), f') == ["a", ' b(c, "d)", e)', " f"]
    assert split_arguments("a+b(c+d)", "+") == ["a", "b(c+d)"]
    assert split_arguments("") == []


# Orderings ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(corpora(), st.sampled_from(["forward", "backward", "random"]), st.integers(0, 3))
def test_orderings_visit_each_token_of_each_document_once(corpus, way, seed):
    order = Ordering(way, seed).token_order(corpus).tolist()
    bounds = corpus.sentences[corpus.documents].tolist()
    for first, last in pairwise(bounds):
        assert sorted(order[first:last]) == list(range(first, last))


@settings(max_examples=60, deadline=None)
@given(corpora(), st.sampled_from(["forward", "backward", "random"]))
def test_parents_come_before_their_children(corpus, way):
    rules = parse_rules("previous, same_word(capitalised=false), same(suffix(1), recent=1)")
    found = EdgeSet.of(corpus, rules)
    dag = found.dag(Ordering(way, 1))
    rank = np.argsort(dag.order)
    document = np.array([own[2] for own in places(corpus)], int)
    for k in range(corpus.n_tokens):
        assert dag.of(k)
        for parent, _ in dag.of(k):
            assert parent < 0 or (rank[parent] < rank[k] and document[parent] == document[k])
    # every pair is there once, in one direction or the other
    pairs = sum(len(relation.pairs) for relation in found.by_rule)
    assert (dag.parents >= 0).sum() == pairs
    np.testing.assert_allclose(np.bincount(dag.children, dag.uniform_weights()), 1.0)


def test_a_random_order_depends_on_the_document_alone():
    words = [[f"w{k}"] for k in range(9)]
    corpus = Corpus.of(words, documents=[2, 6, 1])
    for seed in range(4):
        ordering = Ordering("random", seed)
        whole = ordering.token_order(corpus)[2:8] - 2
        assert whole.tolist() == ordering.token_order(corpus.document(1)).tolist()
    assert len({tuple(Ordering("random", s).token_order(corpus).tolist()) for s in range(9)}) > 3


def test_a_random_order_keeps_sentences_from_left_to_right():
    corpus = Corpus.of([["a", "b", "c"], ["d", "e"], ["f"]])
    for seed in range(5):
        order = Ordering("random", seed).token_order(corpus).tolist()
        assert [k for k in order if k < 3] == [0, 1, 2]
        assert [k for k in order if 3 <= k < 5] == [3, 4]


@pytest.mark.parametrize("text", ["sideways", "", "forward(2)", "random(0)", "random(x)", "a,b"])
def test_mistakes_in_orderings_are_named(text):
    with pytest.raises(ParameterError, match="no ordering"):
        parse_orderings(text)
    with pytest.raises(ParameterError, match="no ordering"):
        parse_orderings([])
    with pytest.raises(ParameterError, match="no ordering '3'"):
        parse_orderings([3])
    with pytest.raises(ParameterError, match="orderings are text or a list, got None"):
        parse_orderings(None)


def test_orderings_from_text():
    assert parse_orderings("random(2), forward, random", seed=5) == (
        Ordering("random", 5), Ordering("random", 6), Ordering(), Ordering("random", 7),
    )  # fmt: skip
    assert parse_orderings(["forward", Ordering("backward"), "forward"]) == (
        Ordering(), Ordering("backward"),
    )  # fmt: skip
    with pytest.raises(ParameterError, match="no ordering 'sideways'"):
        Ordering("sideways")


# Graphs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1], [2], [0]],), "cycle: 0 → 1 → 2 → 0"),
        (([[0]],), "cycle: 0 → 0"),
        (([[], [0], [3], [2]],), "cycle: 2 → 3 → 2"),
        (([[5]],), "node 0 has the parent 5, which is not there: there are 1 nodes"),
        (([[], [-2]],), "node 1 has the parent -2"),
        (([[], [0]], [[]]), "2 nodes, but edge types for 1"),
        (([[], [0]], [["edge"], []]), "node 1 has 1 parents, but 0 edge types"),
        (([[], [0]], [["edge"], ["skip"]]), "node 1: there is no edge type 'skip'"),
        (([[], [0]], None, ("edge",), [0, 1]), "node 1 has the parent 0, which is in another doc"),
        (([[], [0]], None, ("edge",), [0]), "2 nodes, but documents of 1"),
        (([[], [0]], None, ()), "there is no edge type; give names"),
        (([[], [0.5]],), "node 1 has the parent 0.5; wanted the number of a node"),
        (([[], ["a"]],), "node 1 has the parent 'a'; wanted the number of a node"),
    ],
)
def test_graphs_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(SkipchainError, match=message):
        Dag.of_parents(*arguments)


def test_long_cycles_are_cut_short():
    parents = [[k + 1] for k in range(19)] + [[0]]
    with pytest.raises(SkipchainError, match=r"0 → 1 → 2 → 3 → 4 → 5 → … → 0$"):
        Dag.of_parents(parents)


def test_graphs_from_parents():
    dag = Dag.of_parents([[2], [], [1, -1]], [["a"], ["b"], ["a", "b"]], ("a", "b"))
    assert dag.order.tolist() == [1, 2, 0]
    assert [dag.of(k) for k in range(3)] == [[(2, "a")], [(-1, "b")], [(1, "a"), (-1, "b")]]
    assert dag.rows.tolist() == [0, 0, 1, 1]
    assert dag.uniform_weights().tolist() == [1.0, 1.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.5], "3 edges, but mixing weights"),
        ([1.0, 0.5, 0.6], "node 1 sum to 1.1, wanted 1: divide"),
        ([1.0, 1.5, -0.5], "mixing weight -0.5 of node 1 is negative"),
        ([1.0, np.nan, 0.5], "node 1 sum to nan, wanted 1"),
    ],
)
def test_mixing_weights_are_shares(weights, message):
    dag = Dag.of_parents([[], [0, -1]])
    dag.check_weights(np.array([1.0, 0.25, 0.75]))
    with pytest.raises(SkipchainError, match=message):
        dag.check_weights(np.array(weights))
    with pytest.raises(SkipchainError, match=message):
        mixture_edges(dag, np.array(weights))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 9)], r"edge rule mine: the pair \(0, 9\) names a token that is not there.* 0 … 3"),
        ([(-1, 2)], r"names a token that is not there"),
        ([(1, 1)], "links a token to itself"),
        ([(0, 1), (1, 3)], r"the pair \(1, 3\) lies in two documents"),
        ([(0, 1, 2)], r"must give pairs of token numbers \[K, 2\], got list"),
        ([(0.0, 1.0)], "must give pairs of token numbers"),
        (None, "must give pairs of token numbers.* got NoneType"),
        ("ab", "must give pairs of token numbers"),
    ],
)
def test_what_a_function_of_ones_own_gives_is_checked(pairs, message):
    corpus = Corpus.of([["a", "b", "c"], ["d"]], documents=[1, 1])
    with pytest.raises(SkipchainError, match=message):
        EdgeSet.of(corpus, parse_rules("previous, mine", {"mine": lambda corpus: pairs}))


def test_functions_of_ones_own():
    corpus = Corpus.of([["a", "b", "c"], ["d"]], documents=[1, 1])

    def skip(corpus):
        return ((k, k + 2) for k in range(1))

    by_name, itself = parse_rules("skip", {"skip": skip})[0], parse_rules([skip])[0]
    for rule in (by_name, itself, FunctionRule("skip", lambda corpus: np.array([[0, 2]]))):
        assert rule.pairs(corpus).tolist() == [[0, 2]]
        assert rule.edge_types == ("skip", "skip later")
    assert FunctionRule("none", lambda corpus: []).pairs(corpus).shape == (0, 2)
    assert FunctionRule("twice", lambda corpus: [(0, 2), (0, 2)]).pairs(corpus).tolist() == [[0, 2]]
    # a pair may go from the later token to the earlier
    back = EdgeSet.of(corpus, [FunctionRule("back", lambda corpus: [(2, 0)])]).dag(Ordering())
    assert back.of(2) == [(0, "back later")]


# Documents ---------------------------------------------------------------------------------------


def test_sentences_and_endless_documents_are_warned_of():
    cut = Corpus.of([["a", "b"], ["c"]], documents=[1, 1])
    linking, chain = parse_rules("previous, same_word"), parse_rules("previous, alone")
    with pytest.warns(SkipchainWarning, match="every document is one sentence.*DOCSTART"):
        check_linked_documents(cut, linking)
    whole = Corpus.of([["a"] * 30, ["b"], ["c"]], documents=[2, 1])
    with pytest.warns(SkipchainWarning, match="document 0 has 31 tokens.* training had 3: "):
        check_linked_documents(whole, linking, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_linked_documents(cut, chain)
        check_linked_documents(whole, linking, 4)
        check_linked_documents(whole, linking)
        check_linked_documents(Corpus.of([["a"]]), linking, 1)
        check_linked_documents(Corpus.of([]), linking, 1)


def test_estimators_and_models_warn():
    words, labels = [["Ada", "slept"], ["Ada", "ran"]], [["P", "O"], ["P", "O"]]
    with pytest.warns(SkipchainWarning, match="one sentence"):
        MoPMEMM("word").fit(Corpus.of(words * 3, labels * 3, documents=[1] * 6, scheme="none"))
    fitted = MoPMEMM("word").fit(Corpus.of(words * 3, labels * 3, documents=[2] * 3, scheme="none"))
    for given_, told in (
        (Corpus.of(words, documents=[1, 1]), "one sentence"),
        (Corpus.of(words * 20), "document 0 has 80 tokens, and the longest of training had 4"),
    ):
        with pytest.warns(SkipchainWarning, match=told):
            fitted.predict(given_)


# The paper ---------------------------------------------------------------------------------------


def test_a_confident_parent_outvotes_the_local_model():
    """UEFA is an organisation at first; "the UEFA Cup" is none, but uniform mixing says so.

    Rosenberg, Klein and Taskar (2007), section 5.1.1: the local model gives MISC 0.96, the earlier
    mention ORG 0.99, and its edge passes that on.
    """
    org, misc = 0, 1
    dag = Dag.of_parents([[-1], [-1, 0]], [["local"], ["local", "same"]], ("local", "same"))
    scores = np.log([[0.99, 0.01], [0.04, 0.96], [0.5, 0.5]])  # two local ones, one of the edge
    tables = np.zeros((2, 2, 2))
    tables[1] = np.log([[0.995, 0.005], [0.05, 0.95]])

    def second(weights):
        dag.check_weights(np.array(weights))
        edges = mixture.MixtureEdges(
            dag.order, dag.indptr, dag.parents, dag.edge_types, dag.rows, np.array(weights)
        )
        block = mixture.block_scores((0, 2), np.array([0, -2]), scores, mixture.pair_tables(tables))
        out = np.empty((2, 2))
        mixture.sweep(block, edges, out)
        return out[1]

    uniform = second(dag.uniform_weights())
    passed_on = 0.99 * 0.995 + 0.01 * 0.05
    assert uniform[org] == pytest.approx(0.5 * 0.04 + 0.5 * passed_on)
    assert uniform.argmax() == org
    assert second([1.0, 0.7, 0.3]).argmax() == misc  # a near and certain model counts more


@pytest.mark.data("conll2003")
def test_pairs_of_conll2003():
    from skipchain.datasets.registry import data_set

    train = data_set("conll2003").read("train")
    (rule,) = parse_rules("same_word")
    pairs = rule.fit(train).pairs(train)
    assert 23_000 <= len(pairs) < 24_000
    words = train.words.codes
    assert (words[pairs[:, 0]] == words[pairs[:, 1]]).all()
    assert (train.document_of(pairs[:, 0]) == train.document_of(pairs[:, 1])).all()
