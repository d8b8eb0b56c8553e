"""Pictures written into a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from skipchain.cli.options import say

if TYPE_CHECKING:
    from skipchain.report.pictures import Picture


def write_pictures(
    pictures: Iterable[Picture], folder: Path, stem: str, *, overwrite: bool
) -> tuple[tuple[str, str], ...]:
    """Write each picture as ``STEM-NAME.png``: files and captions; none without matplotlib."""
    from skipchain.io.files import atomic_write
    from skipchain.report.pictures import install_hint, matplotlib_available, png

    wanted = tuple(pictures)
    if wanted and not matplotlib_available():
        say(install_hint())
        return ()
    for picture in wanted:
        with atomic_write(folder / _file(stem, picture), binary=True, overwrite=overwrite) as out:
            out.write(png(picture))
    return tuple((_file(stem, picture), picture.caption) for picture in wanted)


def _file(stem: str, picture: Picture) -> str:
    return f"{stem}-{picture.name}.png"
