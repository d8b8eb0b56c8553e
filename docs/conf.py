"""Settings of the documentation; built with ``make docs``."""

import re
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path

from skipchain import __version__

project = "skipchain"
author = "The skipchain developers"
copyright = "The skipchain developers"
version = release = __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

extensions = [
    "myst_nb",  # Markdown, and notebooks as they are stored
    "mathml",  # docs/_ext: equations that need no script
    "offline",  # docs/_ext: fails where a page would load something from elsewhere
    "reference",  # docs/_ext: pages of the API and of the commands, made from the package
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
default_role = "literal"

nb_execution_mode = "off"  # docs/_ext/notebooks.py runs them
nb_merge_streams = True

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
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
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["equations.css"]


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings write |x| for a magnitude, which reStructuredText would read as a substitution."""
    lines[:] = [line if "``" in line else line.replace("|", r"\|") for line in lines]


def shorten_types(app, what, name, obj, options, signature, returns):
    """Arrays and defaults of signatures as a reader would write them."""
    if signature is None:
        return None
    array = r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?numpy\.(\w+)\]\]"
    texts = [signature.replace("<factory>", "{}"), returns]
    return tuple(text and re.sub(array, r"NDArray[\1]", text) for text in texts)


def setup(app):
    app.connect("autodoc-process-signature", shorten_types)
    app.connect("autodoc-process-docstring", escape_bars)
