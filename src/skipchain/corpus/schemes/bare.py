"""Labels without prefixes: whether runs of one label are spans, or each label is of its token."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column

# Runs at least so long on average are spans: references have 4 tokens a field, parts of speech 1.1.
MIN_RUN = 2.0

# Fields come once in a record, parts of speech again and again. The number of runs by the number of
# different labels of a sentence is at most 1.06 in addresses, names of persons and companies and
# references, and at least 1.5 in parts of speech (UD-EWT, CoNLL-2000, the Penn Treebank).
MAX_RECURRENCE = 1.25

# Tag sets by which even a few sentences are known for parts of speech.
UNIVERSAL_TAGS = """
ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN PRT PUNCT SCONJ SYM VERB X .
"""  # Universal Dependencies; also Petrov, Das and McDonald (2012)
PENN_TAGS = """
CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD
VBG VBN VBP VBZ WDT WP WP$ WRB # $ . , : ; ? ! ( ) `` '' " ' -LRB- -RRB- HYPH NFP ADD AFX GW XX
"""  # Marcus, Santorini and Marcinkiewicz (1993), and what UD-EWT and OntoNotes add
TAG_SETS = tuple(frozenset(tags.split()) for tags in (UNIVERSAL_TAGS, PENN_TAGS))


def judge_bare(column: Column, offsets: Ints) -> tuple[bool, str]:
    """Whether runs of labels that have no prefixes are spans, and why.

    >>> judge_bare(Column.encode(["street", "street", "city"]), np.array([0, 3]))
    (True, 'no label has a prefix, and each comes once in a sentence: runs of one label are spans')
    >>> judge_bare(Column.encode(["DT", "NN", "VBZ"]), np.array([0, 3]))
    (False, 'the labels are parts of speech: they mark no spans')
    """
    if any(not column.values[code].strip() for code in column.used().tolist()):
        return False, "some labels are empty: they mark no spans"
    if is_tag_set(column.values[code] for code in column.used().tolist()):
        return False, "the labels are parts of speech: they mark no spans"
    lengths = np.diff(offsets)
    if lengths.max(initial=0) < 2:
        return False, "no sentence has two tokens: the labels mark no spans"
    first = np.ones(len(column), bool)
    first[1:] = column.codes[1:] != column.codes[:-1]
    first[offsets[:-1][lengths > 0]] = True
    runs = int(first.sum())
    mean = len(column) / runs
    if mean >= MIN_RUN:
        return True, f"no label has a prefix, and runs of one label have {mean:.1f} tokens: bare"
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    distinct = len(np.unique(sentence * len(column.values) + column.codes))
    if runs <= MAX_RECURRENCE * distinct:
        told = (
            "each comes once in a sentence"
            if runs == distinct
            else (f"each comes {runs / distinct:.2f} times in a sentence that has it")
        )
        return True, f"no label has a prefix, and {told}: runs of one label are spans"
    return False, (
        f"labels without prefixes come {runs / distinct:.1f} times in a sentence, for "
        f"{mean:.1f} tokens: they mark no spans"
    )


def is_tag_set(labels: Iterable[str]) -> bool:
    """Whether labels are parts of speech of a well-known tag set; ``NN|IN`` is two of them.

    >>> is_tag_set(["NOUN", "VERB"]), is_tag_set(["NN", "DT|IN"]), is_tag_set(["street", "city"])
    (True, True, False)
    """
    tags = {part for label in labels for part in (label.split("|") if label != "|" else [label])}
    return any(tags <= known for known in TAG_SETS)
