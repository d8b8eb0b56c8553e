"""The published figures of references in Stewart's thesis: Tables 6.15, A.2 and A.3 to A.6."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Ints
from skipchain.reproduce.labelling import parse_figures

FIELDS = {
    "pu": "publisher", "no": "note", "ti": "title", "jo": "journal", "bo": "booktitle",
    "au": "author", "in": "institution", "vo": "volume", "te": "tech", "lo": "location",
    "da": "date", "pg": "pages", "ed": "editor",
}  # fmt: skip
"""The fields by their abbreviations, in the order of the confusion matrices."""

SYSTEMS = (
    "LR", "MEMM", "IMEMM", "CRF", "ICRF", "IOHMM", "RBM(1)", "RBM(2)", "RBM(3)",
    "RBM-LR(1)", "RBM-LR(2)", "RBM-CRF(1)", "RBM-CRF(2)",
)  # fmt: skip
# fmt: off
SECONDS = parse_figures(SYSTEMS, """
seconds 8.4e4 1.2e4 3.6e4 3.6e5 4.0e4 8.1e5 1.6e5 2.5e5 2.9e5 1.8e4 4.2e4 1.5e4 4.4e4
""")["seconds"]
"""Table 6.15: seconds of training, without those of a base model."""
FIGURES = parse_figures(SYSTEMS, """
author            92.06 97.21 97.13 99.29 99.11 92.14 91.08 92.93 95.07 95.66 95.01 99.23 99.29
booktitle         78.86 88.65 88.35 91.86 91.48 83.70 54.71 36.38 42.91 87.69 88.47 92.48 91.88
date              98.50 93.17 98.50 98.25 99.00 97.77 97.52 97.01 96.50 98.01 98.50 98.50 98.01
editor            53.97 70.39 73.95 90.91 91.98 32.94  4.65 47.49 52.63 70.48 55.56 90.91 90.91
institution       71.72 74.14 77.31 86.15 84.85 73.53 40.78 52.83 61.40 83.82 81.16 86.15 86.15
journal           61.40 74.72 76.02 90.29 82.93 70.00 47.81 54.00 62.05 81.93 80.12 90.03 89.97
location          80.85 64.71 74.29 83.98 83.06 80.90 72.61 70.81 74.39 84.66 82.54 82.87 82.87
note              47.76 36.84 75.00 56.00 57.97 19.61  8.51 16.33 28.57 53.12 55.38 62.16 77.78
pages             95.02 88.61 95.38 97.28 96.55 96.53 95.31 92.72 88.51 95.02 94.66 97.66 97.66
publisher         72.58 53.85 67.23 85.04 79.03 66.67 70.97 58.12 67.92 72.18 76.56 82.81 85.71
tech              64.10 63.77 70.27 68.42 61.76 66.67 23.53 42.42 50.00 62.34 63.29 69.33 68.42
title             89.01 94.83 95.79 96.45 95.70 90.33 78.90 75.79 81.17 92.78 93.15 96.60 97.79
volume            93.67 88.75 90.68 95.60 94.41 90.80 88.62 87.01 89.44 92.59 93.17 95.60 95.60
average F1        76.89 76.13 83.07 87.66 85.99 73.97 59.62 63.37 68.51 82.33 81.35 88.03 89.39
token accuracy    85.08 89.35 91.34 94.49 93.66 86.25 75.66 73.67 76.77 90.33 90.11 94.66 95.05
instance accuracy 16.00 56.67 50.00 66.00 63.33 24.67 21.33 21.33 29.33 39.33 42.00 66.00 65.33
""")
# fmt: on
"""Table A.2 without its column CRF*, in percent; Table 6.17 has some of its systems."""
PENG_MCCALLUM = {
    "author": 99.4, "booktitle": 93.7, "date": 98.9, "editor": 87.7,
    "institution": 94.0, "journal": 91.3, "location": 87.2, "note": 80.8,
    "pages": 98.6, "publisher": 76.1, "tech": 86.7, "title": 98.3,
    "volume": 97.8, "average F1": 91.5, "token accuracy": 95.37, "instance accuracy": 77.33,
}  # fmt: skip
"""The column CRF* of Table A.2: Peng and McCallum (2004), whose system induces features."""

_CONFUSED = {
    "LR": """
          45    0    2    2    3    9    1    0    0    3    0    0    0
           0   16   11    5    6    1    0    0    5    1    0    0    0
           2    1  960   14   63   25    7    0    2    1    1    1    1
           4    1    8  101   48    3    4    1    1    0    0    0    0
           5    2   73   26  511    5    5    3    3    3    2    0    4
           1    0   14    2    0  812    0    0    0    3    0    0    6
           1    0    0    2    6    3   52    0    0    6    0    0    0
           0    0    0    0    1    0    0   74    1    0    0    3    0
           0    1    5    1    2    3    1    0   25    0    0    2    1
           1    1    4    0    3    4    5    0    0   76    0    0    0
           0    0    0    1    0    0    0    0    0    0  197    2    0
           0    0    0    1    3    0    0    1    0    0    0  124    0
           0    0    2    3    8   61    0    0    0    1    0    0   51
    """,
    "RBM-LR(2)": """
          49    0    5    0    3    3    1    0    0    3    0    1    0
           0   18   10    5    5    0    0    0    6    1    0    0    0
           1    0 1026    4   28   14    2    1    2    0    0    0    0
           2    0   10  129   25    0    3    1    1    0    0    0    0
           6    0   48    5  568    1    0    3    4    3    1    1    2
           0    1    6    0    0  829    0    0    0    1    0    0    1
           1    0    0    0    5    2   56    0    0    6    0    0    0
           0    0    0    1    0    0    0   75    0    0    0    3    0
           0    0    9    1    0    1    1    0   25    0    1    2    1
           4    1    3    0    2    1    5    0    0   78    0    0    0
           0    0    0    1    0    0    0    0    0    0  197    2    0
           0    0    1    1    1    0    0    1    0    0    1  124    0
           0    0    7    4    5   56    0    1    0    3    0    0   50
    """,
    "CRF": """
          54    0    1    3    2    0    0    1    0    3    0    1    0
           0   21   15    0    0    0    0    0    7    0    0    0    2
           0    4 1061    0   12    1    0    0    0    0    0    0    0
           0    0    0  158   11    0    0    2    0    0    0    0    0
           3    0   29   14  587    0    0    0    0    5    0    0    4
           0    3    1    0    0  834    0    0    0    0    0    0    0
           0    0    9    0    0    2   56    0    0    2    1    0    0
           0    0    0    1    1    0    0   76    0    0    1    0    0
           0    0    0    2   10    0    0    1   26    0    1    1    0
           5    0    4    1    4    0    4    0    0   76    0    0    0
           0    0    0    0    0    0    0    0    2    1  197    0    0
           0    2    2    0    0    0    0    0    0    0    0  125    0
           0    0    0    0    9    5    0    0    0    0    1    1  110
    """,
    "RBM-CRF(2)": """
          54    0    2    3    1    0    0    1    0    3    0    1    0
           0   35    1    0    0    0    0    0    7    0    0    0    2
           0    4 1061    0   12    1    0    0    0    0    0    0    0
           0    0    0  157   12    0    0    2    0    0    0    0    0
           2    1   21   14  594    0    0    0    0    5    1    0    4
           0    3    0    0    0  835    0    0    0    0    0    0    0
           0    0    0    0    8    2   56    0    0    3    1    0    0
           0    0    0    1    1    0    0   76    0    0    1    0    0
           0    0    1    2    9    0    0    1   26    0    1    1    0
           4    0    4    1    5    0    4    0    0   75    1    0    0
           0    0    0    0    0    0    0    0    2    1  197    0    0
           0    2    2    0    0    0    0    0    0    0    0  125    0
           1    0    0    0    9    6    0    0    0    0    0    0  110
    """,
}
CONFUSION_TABLES = {"LR": "A.3", "RBM-LR(2)": "A.4", "CRF": "A.5", "RBM-CRF(2)": "A.6"}


def confusion(system: str) -> Ints:
    """One of Tables A.3 to A.6: rows are gold fields, columns predicted ones. [L, L]

    >>> table = confusion("LR")
    >>> f"{100 * table.trace() / table.sum():.2f}", FIGURES["token accuracy"]["LR"]
    ('85.08', 85.08)
    """
    cells = np.array(_CONFUSED[system].split(), np.int64)
    return cells.reshape(len(FIELDS), len(FIELDS))
