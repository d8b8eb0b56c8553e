"""Pages as they are built: equations without scripts, and nothing that needs a network."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from docutils.utils.math import MathError

from docs._ext.mathml import mathml
from docs._ext.offline import loaded_from_elsewhere

DOCS = Path(__file__).parents[2] / "docs"


def build(folder: Path, text: str) -> subprocess.CompletedProcess:
    """One page, built with the settings of the documentation."""
    (folder / "pages").mkdir()
    (folder / "pages" / "index.md").write_text(text, encoding="utf-8")
    extensions = "extensions=myst_parser,mathml,offline,sphinx.ext.autodoc"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", DOCS]
    command += ["-D", extensions, folder / "pages", folder / "built"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def compact(tex: str, **options) -> str:
    return "".join(line.strip() for line in mathml(tex, **options).splitlines())


# Equations -------------------------------------------------------------------------------------


def test_the_index_of_an_accented_letter_stands_beside_it():
    index = "<mi>t</mi>"
    for tex in (r"\hat y_t", r"\tilde{y}_t", r"\bar\alpha_t"):
        found = compact(tex)
        assert "munder" not in found
        assert found.endswith(f"{index}</msub></math>"), found


def test_a_prime_is_a_prime():
    assert "<mi>y</mi><mi>′</mi>" in compact("y'")
    assert "<msubsup><mi>y</mi><mi>t</mi><mi>′</mi></msubsup>" in compact("y'_t")


@pytest.mark.parametrize(
    ("tex", "spaced"),
    [
        (r"\log Z", True),
        (r"\exp \operatorname{score}(x)", True),
        (r"\log(x)", False),
        (r"\exp \Bigl( x \Bigr)", False),
        (r"\exp \left( x \right)", False),
    ],
)
def test_a_function_and_its_argument_have_a_space_between_them(tex, spaced):
    assert ("<mspace" in compact(tex)) is spaced


def test_sums_in_aligned_rows_are_as_large_as_others():
    rows = compact(r"\begin{aligned} a &= \sum_x b \\ c &= d \end{aligned}", as_block=True)
    assert '<mtable class="ams-align" displaystyle="true">' in rows


def test_a_command_that_is_not_known_is_an_error():
    with pytest.raises(MathError, match="oops"):
        mathml(r"\oops")


@pytest.mark.slow
def test_a_page_has_mathml_and_no_script_for_it(tmp_path):
    done = build(tmp_path, "# Page\n\nOf $x_t$:\n\n$$\n\\log Z = \\sum_t \\log s_t\n$$\n")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "built" / "index.html").read_text(encoding="utf-8")
    assert page.count("<math ") == 2
    assert 'display="block"' in page
    assert "MathJax.js" not in page
    assert "mathjax@" not in page
    assert "equations.css" in page
    assert list(loaded_from_elsewhere(tmp_path / "built")) == []


@pytest.mark.slow
def test_an_equation_that_cannot_be_written_fails_the_build(tmp_path):
    done = build(tmp_path, "# Page\n\nOf $\\oops < 1$.\n")
    assert done.returncode != 0
    assert "index.md:3" in done.stderr
    assert 'Unknown LaTeX command "\\oops"' in done.stderr
    page = (tmp_path / "built" / "index.html").read_text(encoding="utf-8")
    assert "<code>\\oops &lt; 1</code>" in page


# Network ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_page_that_loads_a_script_from_elsewhere_fails_the_build(tmp_path):
    script = '<script src="https://cdn.example.org/x.js"></script>'
    done = build(tmp_path, f"# Page\n\n{script}\n")
    assert done.returncode != 0
    assert "index.html: loads https://cdn.example.org/x.js" in done.stderr


@pytest.mark.parametrize(
    "loaded",
    [
        '<script async src="https://x.org/a.js"></script>',
        "<script src='//x.org/a.js'></script>",
        '<img alt="x" src="http://x.org/a.png">',
        '<link rel="stylesheet" type="text/css" href="https://x.org/a.css" />',
        '<link href="https://x.org/a.css" rel="stylesheet">',
        '<link rel="preconnect" href="https://x.org">',
        '<style>@import "https://x.org/a.css";</style>',
        '<style>p { background: url("https://x.org/a.png") }</style>',
    ],
)
def test_what_a_browser_fetches_is_found(tmp_path, loaded):
    (tmp_path / "page.html").write_text(loaded)
    [(path, address)] = loaded_from_elsewhere(tmp_path)
    assert path.name == "page.html"
    assert "//x.org" in address


@pytest.mark.parametrize(
    "harmless",
    [
        '<a href="https://x.org">',
        '<script src="_static/a.js"></script>',
        '<link rel="canonical" href="https://x.org">',
        '<p data-src="https://x.org">',
        "<style>p { background: url(data:image/png;base64,AA) }</style>",
    ],
)
def test_what_is_only_named_is_not(tmp_path, harmless):
    (tmp_path / "page.html").write_text(harmless)
    assert list(loaded_from_elsewhere(tmp_path)) == []


def test_styles_are_looked_at_too(tmp_path):
    (tmp_path / "a.css").write_text("@import url(https://x.org/fonts.css);")
    [(path, address)] = loaded_from_elsewhere(tmp_path)
    assert (path.name, address) == ("a.css", "https://x.org/fonts.css")
