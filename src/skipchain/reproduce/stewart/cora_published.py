"""The published figures of references in Stewart's thesis: Tables 6.15, A.2 and A.3 to A.6."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Ints
from skipchain.reproduce.stewart import published

FIELDS = {
    "pu": "publisher", "no": "note", "ti": "title", "jo": "journal", "bo": "booktitle",
    "au": "author", "in": "institution", "vo": "volume", "te": "tech", "lo": "location",
    "da": "date", "pg": "pages", "ed": "editor",
}  # fmt: skip
"""The fields by their abbreviations, in the order of the confusion matrices."""
SECONDS = published("6.15")["seconds"]
"""Table 6.15: seconds of training, without those of a base model."""
_A2 = published("A.2")
FIGURES = {metric: {name: row[name] for name in SECONDS} for metric, row in _A2.items()}
"""Table A.2 without its column CRF*, in percent; Table 6.17 has some of its systems."""
PENG_MCCALLUM = {metric: row["CRF*"] for metric, row in _A2.items()}
"""The column CRF* of Table A.2: Peng and McCallum (2004), whose system induces features."""
CONFUSION_TABLES = {"LR": "A.3", "RBM-LR(2)": "A.4", "CRF": "A.5", "RBM-CRF(2)": "A.6"}


def confusion(system: str) -> Ints:
    """One of Tables A.3 to A.6: rows are gold fields, columns predicted ones. [L, L]

    >>> table = confusion("LR")
    >>> f"{100 * table.trace() / table.sum():.2f}", FIGURES["token accuracy"]["LR"]
    ('85.08', 85.08)
    """
    table = published(CONFUSION_TABLES[system])
    return np.array([[table[gold][taken] for taken in FIELDS] for gold in FIELDS], np.int64)
