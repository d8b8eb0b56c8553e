"""What a Python prompt and a notebook show of models, corpora and what taggers give."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from skipchain import CRF, Corpus, MoPMEMM, Tagger, load
from skipchain.datasets.harbour import harbour
from skipchain.models.registry import make_estimator
from skipchain.report import decisions
from skipchain.report.pictures import png
from skipchain.report.sheet import WIDTH
from skipchain.report.terminal import Terminal
from skipchain.tagged import Entity, TaggedText

TRAIN, TEST = harbour().split(0.75)
EVIL = '<script>alert("x")</script>'
LONGEST = 200  # characters of what a prompt shows


@pytest.fixture(scope="module")
def tagger():
    return Tagger(CRF("word\nshape", solver="lbfgs", max_iterations=9).fit(TRAIN).model_)


@pytest.fixture(scope="module")
def prediction(tagger):
    return tagger.predict(TEST, confidences=True, probabilities=True, nbest=2)


def one_line(value):
    assert repr(value) == str(value)
    assert "\n" not in repr(value)
    assert len(repr(value)) <= LONGEST
    return repr(value)


class Balance(HTMLParser):
    """Follows the tags of HTML; each must be closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def notebook(value):
    """What a notebook shows, which must be readable on any ground."""
    html = value._repr_html_()
    page = Balance(html)
    assert "script" not in page.seen
    # no ground and no ink of its own but translucent ones and those of the page
    assert set(re.findall(r"(?<![-\w])color: ([^;]+);", html)) <= {"inherit"}
    assert all(
        own == "none" or own.startswith("hsla") for own in re.findall(r"background: ([^;]+);", html)
    )
    return page


def test_a_tagger_is_one_line(tagger):
    assert one_line(tagger).startswith("Tagger(crf, 17 labels (iob2), ")
    assert one_line(replace(tagger, threads=2)).endswith(", threads=2)")
    assert one_line(load()).startswith("Tagger(")
    shown = notebook(tagger).text
    assert "B-LOC" in shown
    assert "word, shape" in shown


@pytest.mark.parametrize("kind", ["crf", "mop-memm", "rbm-crf", "iohmm", "hmm"])
def test_every_model_and_estimator_is_one_line(kind):
    estimator = make_estimator(kind, "word").for_warmup().fit(TRAIN[:20])
    assert f"({kind}, " in one_line(estimator.model_)
    assert one_line(estimator)
    assert notebook(estimator.model_).text.startswith(repr(estimator.model_))


def test_a_model_with_factors_is_one_line():
    assert one_line(load().model).startswith("FactoredModel(factored, ")


def test_a_model_without_templates_is_shown():
    crf = CRF(solver="lbfgs").fit([[{"w": "a"}, {"w": "b"}]] * 3, [["X", "Y"]] * 3)
    assert one_line(crf.model_).startswith("ChainModel(crf, 2 labels, ")
    assert "templates" not in notebook(crf.model_).text


def test_long_parameters_are_cut():
    lines = "\n".join(f"word[{k}]" for k in range(-40, 40))
    assert len(repr(CRF(lines, l2=0.5))) < 300
    assert repr(CRF(lines, l2=0.5)).endswith("l2=0.5)")


def test_what_a_corpus_and_its_parts_look_like(prediction):
    spans = TRAIN.spans()
    for value in (TRAIN, TRAIN[0], TRAIN[1:1], TRAIN.words, TRAIN.words[:0], spans, TEST[3]):
        one_line(value)
    page = notebook(TRAIN)
    assert "327 sentences" in page.text
    assert page.seen.count("tr") == 1 + 12 + 1  # headings, the first rows, an ellipsis
    assert notebook(Corpus.of([["Ada"]])).seen.count("tr") == 2
    assert "<script>" in notebook(Corpus.of([[EVIL]])).text


def test_a_prediction_says_what_it_has(tagger, prediction):
    assert one_line(prediction).endswith("spans, confidences, marginals, n-best labellings)")
    assert one_line(tagger.predict(TEST)).endswith("spans)")
    assert "spans" in notebook(prediction).text


def test_tagged_text_is_one_line_and_pills_in_a_notebook(tagger):
    found = tagger.tag("Mayor Ingrid Aske\nmet Tomas Brandt in Ostley. " * 40)
    assert one_line(found).startswith("TaggedText('Mayor Ingrid Aske met Tomas")
    page = notebook(found)
    assert page.seen.count("mark") == len(found.entities)
    assert one_line(tagger.tag("")) == "TaggedText('', 0 tokens, 0 entities)"
    assert one_line(found.entities[0]).startswith("Entity(start=")


def test_text_of_others_is_escaped():
    evil = Entity(0, len(EVIL), '"><b>', EVIL, 0.5)
    tagged = TaggedText(EVIL + " & more", ((0, len(EVIL)),), ("B-X",), (evil,))
    page = notebook(tagged)
    assert page.seen == ["p", "mark", "small"]
    assert page.text == EVIL + '"><b>' + " & more"


def test_labels_that_mark_no_spans_are_shown_token_by_token():
    tagged = TaggedText("Ada ran", ((0, 3), (4, 7)), ("NNP", "VBD"), ())
    assert notebook(tagged).text == "AdaNNP ranVBD"
    assert notebook(replace(tagged, labels=("O", "O"))).text == "Ada ran"


def test_what_else_is_met_at_a_prompt(tagger):
    crf = CRF("word", solver="lbfgs").fit(TRAIN[:20])
    vocabulary = tagger.model.features
    for value in (crf.result_, vocabulary, vocabulary.templates):
        assert len(repr(value)) <= LONGEST
        assert "\n" not in repr(value)
    annotators = load().model.features.templates.annotators
    assert max(len(repr(own)) for own in annotators) <= 2 * LONGEST


# Explanations ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explained(tagger):
    """An explanation of each kind: of a chain, of factors, of linked labels."""
    text = "Ada left. Mayor Ingrid Aske met Tomas Brandt in Ostley."
    mop = Tagger(MoPMEMM("word", orderings="forward").for_warmup().fit(TRAIN).model_)
    return [own.explain(text, "Tomas") for own in (tagger, load(), mop)]


def test_print_of_an_explanation_is_the_table_of_the_command(explained, monkeypatch, capsys):
    for found in explained:
        console = Terminal(width=WIDTH)
        found.sheet().print(console)
        on_terminal = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert str(found).splitlines() == on_terminal
        assert len(on_terminal) > 3
        assert "total" in str(found)


def test_an_explanation_is_a_table_in_a_notebook(explained):
    for found in explained:
        page = notebook(found)
        assert "table" in page.seen
        assert "Tomas" in page.text


def test_an_explanation_is_one_line_and_counts_its_token_in_both_ways(explained):
    for found in explained:
        assert "\n" not in repr(found)
        assert len(repr(found)) <= LONGEST
        assert (found.token, found.sentence, found.place) == (7, 1, 4)
        assert str(found).startswith("token 7 (token 4 of sentence 1), Tomas: ")


def test_a_token_of_a_sentence_is_that_of_the_input(tagger):
    corpus = TEST[:9]
    for own in (tagger, load()):
        inside = own.explain(corpus, 2, sentence=5)
        assert inside.token == int(corpus.sentences[5]) + 2
        assert str(own.explain(corpus, inside.token)) == str(inside)


def test_in_the_first_sentence_both_ways_of_counting_are_one(tagger):
    assert str(tagger.explain("Ada left. Bo ran.", 1)).startswith("token 1, left: ")


def test_the_rest_of_a_long_table_is_summed_up(explained):
    for found in explained:
        assert len(str(found.sheet(1)).splitlines()) <= len(str(found).splitlines())
    assert "more" in str(explained[0].sheet(1))


# Pictures ----------------------------------------------------------------------------------------


def drawn(picture):
    """The figure of a picture, and all that is written on it."""
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=picture.size)
    picture.draw(figure)
    texts = figure.findobj(pytest.importorskip("matplotlib.text").Text)
    return figure, [text.get_text() for text in texts]


def test_an_explanation_is_drawn_with_what_it_prints(explained):
    found = explained[0]
    figure, texts = drawn(found.picture())
    assert "token 7, Tomas: B-PER" in texts
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == pytest.approx([part.difference for part in found.contributions])
    assert {part.name for part in found.contributions} <= set(texts)


def test_parents_are_drawn_with_their_shares(explained):
    found = explained[2]
    figure, texts = drawn(found.picture())
    total = sum(bar.get_width() for bar in figure.axes[0].patches)
    assert total == pytest.approx(sum(found.probabilities))
    assert {f"{parent.name} ({parent.kind})" for parent in found.parents} <= set(texts)


def test_what_does_not_fit_into_a_picture_is_summed_up():
    parts = [(f"reason {k}", 1.0) for k in range(30)]
    figure, texts = drawn(decisions.weighed("title", ("A", "B"), parts))
    assert "… 18 more" in texts
    assert sum(bar.get_width() for bar in figure.axes[0].patches) == 30.0
    parents = [(f"parent {k}", (0.1, 0.0)) for k in range(10)]
    _, texts = drawn(decisions.shared("title", ("A", "B"), parents))
    assert "… 4 more" in texts


def test_words_with_dollars_and_escapes_can_be_drawn():
    name = r"word=$\oops$"
    parts = [(name, 1.0), ("word=\x1b", -1.0)]
    for picture in (
        decisions.weighed(name, (name, name), parts),
        decisions.shared(name, (name, name), [(name, (0.5, 0.5))]),
    ):
        assert picture._repr_png_().startswith(b"\x89PNG")


def test_a_picture_shows_itself_in_a_notebook(explained, monkeypatch):
    pytest.importorskip("matplotlib")
    picture = explained[0].picture()
    assert picture._repr_png_() == png(picture)
    monkeypatch.setattr("skipchain.report.pictures.matplotlib_available", lambda: False)
    assert picture._repr_png_() is None
    assert "Tomas" in repr(picture)
