"""The benchmark compares the same work: both ways of writing its features agree."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.features import TEMPLATES, sentence_features
from skipchain import Corpus, Templates
from skipchain.examples import harbour
from skipchain.features.vocabulary import Vocabulary


def test_templates_and_python_give_the_same_features():
    story = harbour()[:60]
    tags = [[word[-2:].upper() for word in sentence.words] for sentence in story]
    corpus = Corpus.of([sentence.words for sentence in story], pos=tags)
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(TEMPLATES))
    names, flat = vocabulary.names(), rows.flat()
    ours = [{names[k] for k in flat.indices[a:b]} for a, b in pairwise(flat.indptr.tolist())]
    theirs = [
        set(token)
        for sentence, own in zip(story, tags, strict=True)
        for token in sentence_features(sentence.words, own)
    ]
    assert ours == theirs
