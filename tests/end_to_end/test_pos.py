"""Parts of speech on real data, small: an order-2 tagger with a dictionary."""

from __future__ import annotations

import pytest

from skipchain import CRF
from skipchain.datasets.registry import data_set

pytestmark = pytest.mark.data("ud-ewt")


@pytest.mark.slow
def test_a_tagger_of_web_text():
    train = data_set("ud-ewt").read("train")[:2000]
    dev = data_set("ud-ewt").read("dev")[:500]
    tagger = CRF("pos", order=2, dictionary=5, epochs=5).fit(train)
    assert tagger.score(dev) > 0.88
    assert tagger.predict(dev[:20], decoder="beam", beam=300) == tagger.predict(dev[:20])
