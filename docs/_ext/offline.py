"""Built pages need no network: what a page loads by itself lies beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

# What a browser fetches without being asked; links that a reader may follow are none of it.
LOADED = (
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)",
    r"<link\b(?=[^>]*\brel\s*=\s*[\"']?[^\"'>]*(?:stylesheet|icon|preload|preconnect))[^>]*?"
    r"\shref\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)",
)
LOADED_BY_STYLES = (
    r"url\(\s*[\"']?((?:https?:)?//[^\"')\s]+)",
    r"@import\s+[\"']((?:https?:)?//[^\"']+)",
)


class NetworkError(SphinxError):
    """A built page loads something from elsewhere."""

    category = "Pages that need a network"


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at what was built when a build has ended."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def loaded_from_elsewhere(folder: Path) -> Iterator[tuple[Path, str]]:
    """The addresses that pages and style sheets in a folder load, each with the file it is in."""
    for ending, patterns in ((".html", LOADED + LOADED_BY_STYLES), (".css", LOADED_BY_STYLES)):
        for path in sorted(folder.rglob(f"*{ending}")):
            text = path.read_text(encoding="utf-8")
            for pattern in patterns:
                yield from ((path, address) for address in re.findall(pattern, text, re.IGNORECASE))


def _check(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        for path, address in loaded_from_elsewhere(app.outdir):
            raise NetworkError(
                f"{path.relative_to(app.outdir)}: loads {address}; wanted nothing but files of "
                "these pages; is it a notebook's widget, or a setting of an extension?"
            )
