"""Published tables measured anew: one module each, published and measured side by side.

>>> list(TABLES)
['maxent', 'labelbias', 'faq', 'search', 'encodings', 'mop-ner', 'mop-webkb', 'toy1', 'toy2',
 'toy3', 'cora', 'thesis', 'gibbs-viterbi', 'consistency-counts', 'nonlocal-conll',
 'nonlocal-seminars', 'ner-knowledge', 'name-tagger']
>>> reproduce("maxent").verdict
'Every probability equals the published fraction within 0.001.'
"""

from __future__ import annotations

from importlib import import_module

from skipchain.errors import SkipchainError
from skipchain.report.pictures import Picture
from skipchain.reproduce.run import Run
from skipchain.reproduce.table import Row, Table

__all__ = ["TABLES", "Picture", "Row", "Run", "Table", "check_name", "reproduce"]

# The modules are imported when they are run.
TABLES = {
    "maxent": "worked examples of maximum entropy: constraints, overlap, interaction",
    "labelbias": "a generated case where a MEMM fails and a CRF does not",
    "faq": "segments of FAQ files: ME-stateless, TokenHMM, FeatureHMM, MEMM (needs data)",
    "search": "greedy, beam and Viterbi search with one MEMM on names (needs data)",
    "encodings": "IO, IOB1, IOB2 and BIOES: accuracy and time of training (needs data)",
    "mop-ner": "MEMM, mixtures of parents, CRF and skip-chain CRF on names (needs data)",
    "mop-webkb": "maximum entropy and mixtures of parents on linked pages (needs data)",
    "toy1": "an ambiguous input: ten models, with and without hidden variables",
    "toy2": "larger structures in the labels: the same, and how hidden states overfit",
    "toy3": "two bits of memory: LR, CRF, IOHMM, HRF, RBM-CRF",
    "cora": "fields of references: the thirteen models of a thesis, and a better CRF (needs data)",
    "thesis": "toy1, toy2, toy3 and cora together: all tables of one thesis (needs data)",
    "gibbs-viterbi": "annealed sampling finds what Viterbi finds (needs data)",
    "consistency-counts": "how often names keep their type in a document (needs data)",
    "nonlocal-conll": "names that keep their type, by sampling across documents (needs data)",
    "nonlocal-seminars": "fields of announcements that agree, by sampling (needs data)",
    "ner-knowledge": "names with lexicons, clusters and whole documents (needs data)",
    "name-tagger": "persons without labelled data, by gender and animacy (needs data)",
}

FOLDERS = {
    "maxent": "xu",
    "labelbias": "xu",
    "faq": "xu",
    "search": "mausam",
    "encodings": "mausam",
    "mop-ner": "rosenberg",
    "mop-webkb": "rosenberg",
    "toy1": "stewart",
    "toy2": "stewart",
    "toy3": "stewart",
    "cora": "stewart",
    "thesis": "stewart",
    "gibbs-viterbi": "finkel",
    "consistency-counts": "finkel",
    "nonlocal-conll": "finkel",
    "nonlocal-seminars": "finkel",
    "ner-knowledge": "mausam",
    "name-tagger": "mausam",
}
"""The publication whose folder has the module of each table."""


def check_name(name: str) -> None:
    """Refuse a table that there is not."""
    if name not in TABLES:
        raise SkipchainError(f"there is no table {name!r}; there are {', '.join(TABLES)}")


def reproduce(name: str, run: Run | None = None) -> Table:
    """Measure one table; ``run`` says how (a full run in silence unless told)."""
    check_name(name)
    module = import_module(f"skipchain.reproduce.{FOLDERS[name]}.{name.replace('-', '_')}")
    table: Table = module.measure(run or Run())
    return table
