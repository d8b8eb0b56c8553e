"""Settings of the documentation; built with ``make docs``."""

from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

from skipchain import __version__

project = "skipchain"
author = "The skipchain developers"
copyright = "The skipchain developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
default_role = "literal"

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False

# Every example of the pages runs: sphinx-build -b doctest docs docs/_build/doctest
doctest_default_flags = ELLIPSIS | NORMALIZE_WHITESPACE
doctest_test_doctest_blocks = ""  # docstrings are tested by pytest
doctest_global_setup = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
"""

html_theme = "furo"
html_title = f"skipchain {__version__}"
html_copy_source = False
