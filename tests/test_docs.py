"""Documentation and package: nothing public is left out, nothing is named that is not there."""

import pkgutil
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

import skipchain
from docs._ext import reference

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = {DOCS / "cli.md"}  # by docs/_ext/reference.py, as everything in docs/api
PAGES = [
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if page not in MADE and not {"_build", "api"} & set(page.relative_to(DOCS).parts)
    ),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
]


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def public_packages() -> list[str]:
    found = ["skipchain"]
    for module in pkgutil.walk_packages(skipchain.__path__, "skipchain."):
        if module.ispkg and hasattr(import_module(module.name), "__all__"):
            found.append(module.name)
    return found


# The API ---------------------------------------------------------------------------------------


def shown_objects() -> dict[str, object]:
    return {
        name: found for page in reference.shown_names().values() for name, found in page.items()
    }


def test_public_packages_are_found():
    assert {"skipchain", "skipchain.corpus.schemes", "skipchain.edges"} <= set(public_packages())


@pytest.mark.parametrize("package", public_packages())
def test_no_public_name_is_left_out(package):
    shown = shown_objects()
    codes = {id(found) for found in shown.values() if reference._is_code(found)}
    for name in import_module(package).__all__:
        found = getattr(import_module(package), name)
        assert f"{package}.{name}" in shown or id(found) in codes, name


def test_every_object_is_shown_once():
    codes = [id(found) for found in shown_objects().values() if reference._is_code(found)]
    assert len(codes) == len(set(codes))


def test_every_estimator_solver_and_annotator_is_shown():
    from skipchain.learn.solvers import Solver
    from skipchain.modelfile.annotators import ANNOTATOR_CLASSES
    from skipchain.models.registry import model_kinds

    shown = list(shown_objects().values())
    annotators = [getattr(import_module(path), name) for path, name in ANNOTATOR_CLASSES.values()]
    solvers = [own for kind in Solver.__subclasses__() for own in (kind, *kind.__subclasses__())]
    estimators = [kind.load() for kind in model_kinds().values()]
    wanted = [*estimators, skipchain.Factored, *solvers, *annotators]
    assert [found for found in wanted if found not in shown] == []


def test_what_is_shown_stands_on_its_page():
    pages = reference.api_pages()
    for area, names in reference.shown_names().items():
        lines = pages[f"{area}.md"].splitlines()
        for name in names:
            kinds = ("autoclass", "autofunction", "py:data")
            directives = {f".. {kind}:: {name}" for kind in kinds}
            assert directives & set(lines), name
        assert f"(./{area}.md)" in pages["index.md"]


def test_a_name_without_a_page_is_an_error(monkeypatch):
    kept = tuple(area for area in reference.AREAS if area.file != "metrics")
    monkeypatch.setattr(reference, "AREAS", kept)
    with pytest.raises(LookupError, match="no area"):
        reference.shown_names()


def test_pages_are_written_once_and_leftovers_removed(tmp_path):
    reference.write_pages(tmp_path)
    (tmp_path / "api" / "gone.md").write_text("")
    before = (tmp_path / "cli.md").stat().st_mtime_ns
    reference.write_pages(tmp_path)
    assert (tmp_path / "cli.md").stat().st_mtime_ns == before
    assert not (tmp_path / "api" / "gone.md").exists()


# The commands ----------------------------------------------------------------------------------


COMMANDS = dict(reference.commands(reference.root_command()))


def section(path: str) -> str:
    """The part of the page that belongs to one command."""
    found = re.search(
        rf"^#+ {re.escape(path)}\n(.*?)(?=^#|\Z)", reference.cli_page(), re.MULTILINE | re.DOTALL
    )
    assert found, path
    return found[1]


@pytest.mark.parametrize("path", COMMANDS)
def test_no_option_is_left_out(path):
    text = section(path)
    for parameter in COMMANDS[path].params:
        written = parameter.opts if parameter.param_type_name == "option" else []
        placeholder = reference._placeholder(parameter)
        for name in [*written, *parameter.secondary_opts] or [placeholder]:
            assert f"`{name}`" in text, name
        assert reference._plain(parameter.help or "") in text, parameter.name
    assert reference._plain(COMMANDS[path].help or "") in text


def examples() -> list[tuple[str, str]]:
    """The commands of all pages, continued lines joined, each with the page it is on."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        found += [
            (title(page), line) for line in re.findall(r"^\$ (?:.*\| )?(skipchain .*)", text, re.M)
        ]
    return found


@pytest.mark.parametrize(("page", "example"), examples())
def test_options_of_examples_exist(page, example):
    words = shlex.split(example.split(" #")[0].split(" | ")[0].split(" > ")[0])
    path = "skipchain"
    for word in words[1:]:
        if f"{path} {word}" not in COMMANDS:
            break
        path = f"{path} {word}"
    known = {"--help", "--version"}
    known.update(name for parameter in COMMANDS[path].params for name in parameter.opts)
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert given <= known, example
    assert path != "skipchain" or given or "COMMAND" in words, example


# Links, names, pictures ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if re.match(r"[a-z]+:", target) or not re.search(r"\.\w+$", target):
            continue
        place = (page.parent / target).resolve()
        made = place in MADE or place.parent == DOCS / "api"
        assert made or place.exists(), target


def exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for name in parts[size:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_names_of_the_package_exist(page):
    if page.name == "CHANGELOG.md":
        pytest.skip("names earlier paths")
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"(?<![\w/.~-])skipchain(?:\.[A-Za-z_]\w*)+", text))
    missing = [name for name in names if not exists(name) and not name.endswith((".skip", ".md"))]
    assert missing == []


def test_decisions_are_listed():
    listed = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    for page in (DOCS / "decisions").glob("0*.md"):
        assert f"({page.name})" in listed, page.name
        assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}: ")


def test_pictures_are_small_and_shown():
    shown = (DOCS / "gallery.md").read_text(encoding="utf-8")
    pictures = sorted((DOCS / "images" / "gallery").glob("*.png"))
    assert len(pictures) >= 8
    assert all(f"(images/gallery/{picture.name})" in shown for picture in pictures)
    sizes = [picture.stat().st_size for picture in (DOCS / "images").rglob("*.png")]
    assert max(sizes) <= 80_000
    assert sum(sizes) <= 700_000


def test_continuous_integration_runs_the_same_commands():
    local = re.findall(r"^make \w+", (ROOT / ".ci" / "run").read_text(), re.M)
    remote = re.findall(r"run: (make \w+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert remote == local


def test_citation_names_this_version():
    assert f"version: {skipchain.__version__}\n" in (ROOT / "CITATION.cff").read_text()
