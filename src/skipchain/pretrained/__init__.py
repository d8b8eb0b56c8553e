"""The pretrained model of English names that comes with the package, and where its file is.

How it was built stands in ``scripts/build_english.py``; loading it belongs to
`skipchain.modelfile`.
"""

from __future__ import annotations

from pathlib import Path


def path() -> Path:
    """The file of the pretrained English model; README.md in the same folder is its model card.

    >>> path().name, path().with_name("README.md").is_file()
    ('english.skip', True)
    """
    return Path(__file__).with_name("english.skip")
