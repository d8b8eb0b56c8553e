"""The whole journey on real data, small: read, train, save, load, tag, score."""

from __future__ import annotations

import pytest

from skipchain import CRF, evaluate, load, save
from skipchain.datasets.registry import data_set

pytestmark = pytest.mark.data("conll2003")


@pytest.mark.slow
def test_a_tagger_of_newswire_names(tmp_path):
    train = data_set("conll2003").read("train")
    test = data_set("conll2003").read("testa")[:800]
    crf = CRF("ner", max_iterations=40).fit(train[:3000])
    save(crf, tmp_path / "m.skip")
    found = load(tmp_path / "m.skip").predict(test, confidences=True)
    scores = evaluate(test, found.corpus)
    assert 100 * crf.score(test) == pytest.approx(scores.f1)
    assert scores.f1 > 75.0
    # the model knows how sure it is: what it is sure of is more often right
    gold = set(test.spans().tolist())
    right = [span in gold for span in found.spans.tolist()]
    sure = found.confidences > 0.9
    assert sum(r for r, s in zip(right, sure, strict=True) if s) / sure.sum() > 0.9
    assert sum(r for r, s in zip(right, sure, strict=True) if not s) / (~sure).sum() < 0.8
