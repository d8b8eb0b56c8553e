"""Published tables measured anew: one module each, published and measured side by side.

>>> list(TABLES)
['maxent', 'labelbias', 'faq', 'search', 'encodings', 'mop-ner', 'mop-joint', 'mop-webkb', 'toy1',
 'toy2', 'toy3', 'cora', 'cora-units', 'thesis', 'gibbs-viterbi', 'consistency-counts',
 'nonlocal-conll', 'nonlocal-seminars', 'ner-knowledge', 'name-tagger', 'solvers', 'induction']
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

# Folder (one a publication) and description of each; modules are imported when they are run.
TABLES = {
    "maxent": ("xu", "worked examples of maximum entropy: constraints, overlap, interaction"),
    "labelbias": ("xu", "a generated case where a MEMM fails and a CRF does not"),
    "faq": ("xu", "segments of FAQ files: ME-stateless, TokenHMM, FeatureHMM, MEMM (needs data)"),
    "search": ("mausam", "greedy, beam and Viterbi search with one MEMM on names (needs data)"),
    "encodings": ("mausam", "IO, IOB1, IOB2 and BIOES: accuracy and training time (needs data)"),
    "mop-ner": ("rosenberg", "MEMM, mixtures of parents, CRF, skip-chain CRF (needs data)"),
    "mop-joint": ("rosenberg", "what joint training of mixtures is worth, on thirds (needs data)"),
    "mop-webkb": ("rosenberg", "MaxEnt and mixtures of parents on linked pages (needs data)"),
    "toy1": ("stewart", "an ambiguous input: ten models, with and without hidden variables"),
    "toy2": ("stewart", "larger label structures: ten models, and how hidden states overfit"),
    "toy3": ("stewart", "two bits of memory: LR, CRF, IOHMM, HRF, RBM-CRF"),
    "cora": ("stewart", "fields of references: thirteen models, and a better CRF (needs data)"),
    "cora-units": ("stewart", "hidden units beside a CRF, by held-out references (needs data)"),
    "thesis": ("stewart", "toy1, toy2, toy3 and cora: all tables of one thesis (needs data)"),
    "gibbs-viterbi": ("finkel", "annealed Gibbs sampling finds what Viterbi finds (needs data)"),
    "consistency-counts": ("finkel", "how often names keep their type (needs data)"),
    "nonlocal-conll": ("finkel", "names that keep their type, by Gibbs sampling (needs data)"),
    "nonlocal-seminars": ("finkel", "fields that agree, by Gibbs sampling (needs data)"),
    "ner-knowledge": ("mausam", "names with lexicons, clusters and documents (needs data)"),
    "name-tagger": ("mausam", "persons without labelled data (needs data)"),
    "solvers": ("stewart", "GIS, gradient descent, CG, L-BFGS, Newton, SGD (needs data)"),
    "induction": ("mausam", "templates found from single views, and made by hand (needs data)"),
}


def check_name(name: str) -> None:
    """Refuse the name of a table that does not exist."""
    if name not in TABLES:
        raise SkipchainError(f"there is no table {name!r}; there are {', '.join(TABLES)}")


def reproduce(name: str, run: Run | None = None) -> Table:
    """Measure one table; ``run`` says how (by default in full, and in silence)."""
    check_name(name)
    folder, _ = TABLES[name]
    module = import_module(f"skipchain.reproduce.{folder}.{name.replace('-', '_')}")
    table: Table = module.measure(run or Run())
    return table
