"""Limits that docs/security.md tells are those that the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from skipchain.annotators import words
from skipchain.arrays import LARGEST_WEIGHT
from skipchain.chains import decode
from skipchain.edges import ordering
from skipchain.features import label_ngrams, reader, regex, strings, template
from skipchain.io import unpack
from skipchain.modelfile import container, document, features, graph, latent, stored
from skipchain.modelfile.contents import MAX_LABELS
from skipchain.models.base import model
from skipchain.models.document import annealing, candidates
from skipchain.models.graph import belief
from skipchain.models.latent.scorer import MAX_STATES
from skipchain.models.rbm import gibbs, group
from skipchain.schema import arrays

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
GIB, MIB = 1 << 30, 1 << 20
LIMITS = [
    ("size of the file; of its header", container.MAX_FILE_BYTES // GIB, "{} GiB"),
    ("size of the file; of its header", container.MAX_HEADER_BYTES // MIB, "{} MiB"),
    ("brackets inside brackets", container.MAX_DEPTH, "{}"),
    ("| labels |", MAX_LABELS, "{:,}"),
    ("order of a MEMM", label_ngrams.HIGHEST_ORDER, "{}"),
    ("hidden states;", MAX_STATES, "{:,}"),
    ("hidden states;", latent.MAX_STATE_PAIRS, "{:,}"),
    ("hidden units of a group", group.MAX_UNITS, "{:,}"),
    ("hidden units of a group", group.MAX_OFFSET, "{:,}"),
    ("hidden units of a group", group.MAX_LINKS, "{:,}"),
    ("samples and chains of annealing", annealing.MAX_SAMPLES, "{:,}"),
    ("samples and chains of annealing", annealing.MAX_CHAINS, "{:,}"),
    ("samples and chains of annealing", annealing.MAX_SAMPLES_OF_CHAINS, "{:,}"),
    ("samples and chains of annealing", document.MAX_FACTOR_WORK, "{:,}"),
    ("strings that share letters", strings.MAX_CHARACTERS, "{:,}"),
    ("models inside models", stored.MAX_DEPTH, "{}"),
    ("a cluster's path", words.LONGEST_PATH, "{:,}"),
    ("tokens of a bag", template.MAX_BAG, "{:,}"),
    ("a regular expression;", template.MAX_PATTERNS, "{}"),
    ("tuples of values", reader.MAX_TUPLES, "{:,}"),
    ("tuples of values", reader.TUPLES_PER_TOKEN, "{:,}"),
    ("sampling steps of a model", gibbs.MAX_STEPS, "{:,}"),
    ("sampling steps of a model", gibbs.MAX_TOKEN_WORK, "{:,}"),
    ("orderings; edge rules", ordering.MAX_ORDERINGS, "{:,}"),
    ("orderings; edge rules", graph.MAX_RULES, "{}"),
    ("orderings; edge rules", belief.MAX_SWEEPS, "{:,}"),
    ("labellings of an uncertain segment", candidates.MAX_LABELLINGS, "{:,}"),
    ("a table of weights", arrays.TABLE_ENTRIES, "{:,}"),
    ("a table of weights", arrays.ENTRIES_PER_WEIGHT, "{:,}"),
    ("text of all templates", features.LONGEST_TEMPLATES, "{:,}"),
    ("text of all templates", template.LONGEST_LINE, "{:,}"),
    ("templates, one for each offset", template.MAX_TEMPLATES, "{:,}"),
    ("| offset |", template.MAX_OFFSET, "{:,}"),
    ("views joined by", template.MAX_ATOMS, "{}"),
    ("views joined by", template.MAX_NESTED, "{}"),
    ("combinations of values", template.MAX_COMBINATIONS, "{:,}"),
    ("a regular expression;", regex.LONGEST_PATTERN, "{:,}"),
    ("a regular expression;", regex.MAX_MEMORY // MIB, "{} MiB"),
    ("`--max-bytes`", unpack.MAX_BYTES // GIB, "{} GiB"),
    ("n-best lists", model.MAX_NBEST, "{:,}"),
    ("n-best lists", decode.MAX_WIDTH, "{:,}"),
]


@pytest.mark.parametrize(("row", "limit", "form"), LIMITS)
def test_a_limit_is_as_documented(row, limit, form):
    (text,) = [part for part in PAGE.read_text(encoding="utf-8").split("\n") if row in part]
    assert form.format(limit) in text


def test_the_size_of_weights_is_as_documented():
    assert LARGEST_WEIGHT == 1e15
    assert "| weights and other floats | 10¹⁵ in size |" in PAGE.read_text(encoding="utf-8")
