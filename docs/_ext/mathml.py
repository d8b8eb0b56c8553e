"""Equations as MathML, which browsers draw themselves: without scripts, and without a network."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

# What docutils sets otherwise than TeX does, written so that both agree.
DIALECT = (
    # The index of an accented letter would be put below the letter, as that of a sum.
    (r"(\\(?:hat|tilde|bar) *(?:\{[^{}]*\}|\\[a-zA-Z]+|[a-zA-Z]))", r"{\1{}}"),
    # A prime would be an apostrophe.
    (r"'", r"^{\\prime}"),
    # There would be no space between a function's name and its argument.
    (r"\\(exp|log)(?=\s*(?:[a-zA-Z0-9{]|\\(?!(?:[bB]igg?l?|left)\b)[a-zA-Z]))", r"\\\1\\,"),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make ``mathml`` known as a name for ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (_write_inline, None), (_write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(tex: str, as_block: bool = False) -> str:
    """An equation of TeX as an element ``math``; `MathError` where that cannot be done."""
    for pattern, written in DIALECT:
        tex = re.sub(pattern, written, tex)
    element = str(tex2mathml(tex, as_block=as_block))
    # Sums in the rows of an aligned equation are as large as those of other equations.
    return element.replace('class="ams-align">', 'class="ams-align" displaystyle="true">')


def _write_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_converted(node, as_block=False))
    raise nodes.SkipNode


def _write_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">\n{_converted(node, as_block=True)}\n</div>\n')
    raise nodes.SkipNode


def _converted(node: nodes.Element, as_block: bool) -> str:
    tex = node.astext()
    try:
        return mathml(tex, as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("equation %s: %s", tex, error, location=node)
        return f"<code>{escape(tex)}</code>"
