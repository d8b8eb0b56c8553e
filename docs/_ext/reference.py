"""The reference pages, made from the package: one page an area of the API, one page of commands.

Nothing public is listed by hand: areas name packages, and their ``__all__`` says what is shown.
`tests/test_docs.py` checks that no package, name, command or option is left out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Area:
    """One page of the API.

    Parameters
    ----------
    packages
        Packages and modules of which every name of ``__all__`` is shown.
    modules
        Modules without ``__all__`` of which every public class is shown.
    names
        Single objects, by their dotted names: functions of modules without ``__all__``.
    """

    file: str
    title: str
    text: str
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


AREAS = (
    Area(
        "estimators",
        "Estimators",
        "Every kind of model, with scikit-learn's methods. What each is for: "
        "[](../which-model.md); its equations: [](../models/index.md). Methods that all estimators "
        "have are listed with `CRF`.",
        modules=("skipchain.models.registry",),
        names=(
            "skipchain.models.registry.register",
            "skipchain.models.registry.model_kinds",
            "skipchain.models.registry.make_estimator",
            "skipchain.models.latent.selection.choose_states",
        ),
    ),
    Area(
        "solvers",
        "Solvers",
        "How weights are learnt: objects for the parameter `solver`; see [](../guide/learning.md).",
        modules=("skipchain.learn.solvers",),
    ),
    Area(
        "corpus",
        "Corpus and label schemes",
        "Text as columns over tokens, and how labels mark spans; see [](../guide/corpus.md) and "
        "[](../guide/schemes.md).",
        packages=("skipchain.corpus", "skipchain.corpus.schemes"),
    ),
    Area(
        "io",
        "Reading and writing",
        "File formats and the tokeniser; see [](../guide/formats.md).",
        packages=("skipchain.io",),
        modules=("skipchain.io.columns.reading",),
        names=("skipchain.io.formats.read_told", "skipchain.io.scanning.scan.scan"),
    ),
    Area(
        "features",
        "Features",
        "Templates, what they make of a corpus, and how they are found; see "
        "[](../guide/features.md) and [](../guide/induction.md).",
        modules=(
            "skipchain.features.templates",
            "skipchain.features.template",
            "skipchain.features.vocabulary",
            "skipchain.features.direct",
            "skipchain.features.tag_dictionary",
        ),
        packages=("skipchain.induction",),
        names=("skipchain.features.presets.PRESETS",),
    ),
    Area(
        "annotators",
        "Annotators",
        "What adds columns to a corpus before features are read from it; see "
        "[](../guide/knowledge.md).",
        modules=(
            "skipchain.features.annotator",
            "skipchain.annotators.lexicon",
            "skipchain.annotators.words",
            "skipchain.annotators.document",
            "skipchain.models.stacking",
        ),
        names=(
            "skipchain.annotators.phrase_lists.read_lexicon",
            "skipchain.annotators.phrase_lists.tokenized_lexicon",
            "skipchain.recipes.recipe",
            "skipchain.recipes.builtin_lexicon",
        ),
    ),
    Area(
        "resources",
        "Resources",
        "Knowledge from raw text and from files: clusters, vectors, n-gram counts, word lists, and "
        "taggers that need no labelled data; see [](../guide/clusters.md), [](../guide/ngrams.md) "
        "and [](../models/name-tagger.md).",
        packages=("skipchain.resources.ngrams",),
        modules=(
            "skipchain.resources.clusters",
            "skipchain.resources.vectors",
            "skipchain.resources.bigrams",
            "skipchain.resources.gazetteer",
            "skipchain.nametagger.tagger",
            "skipchain.nametagger.lookup",
            "skipchain.nametagger.gender",
            "skipchain.nametagger.evidence",
        ),
        names=(
            "skipchain.resources.brown.induce",
            "skipchain.resources.brown.mutual_information",
            "skipchain.resources.gazetteer.harvest",
            "skipchain.nametagger.gender.count_properties",
            "skipchain.nametagger.gender.read_gender_counts",
            "skipchain.nametagger.gender.read_phrases",
        ),
    ),
    Area(
        "edges",
        "Edges",
        "Which tokens are linked, for models of whole documents; see [](../guide/edges.md).",
        packages=("skipchain.edges",),
        names=("skipchain.models.graph.mixture.exact_marginals",),
    ),
    Area(
        "factors",
        "Factors",
        "What holds in a whole document, for `Factored`; see [](../models/factored.md).",
        packages=("skipchain.models.document.factors",),
        modules=("skipchain.models.document.annealing",),
    ),
    Area(
        "cluster",
        "Clusters",
        "Training and tagging on a Ray cluster, and tagging in the batches of Ray Data, Spark and "
        "Dask; see [](../scale/cluster.md), [](../scale/ray-data.md), [](../scale/spark.md) and "
        "[](../scale/dask.md).",
        packages=("skipchain.cluster",),
    ),
    Area(
        "metrics",
        "Metrics",
        "What evaluation counts; see [](../guide/evaluation.md).",
        packages=("skipchain.metrics",),
    ),
    Area(
        "comparison",
        "Comparisons and published tables",
        "Several models on the same data, settings found by trying them, and published tables "
        "measured anew; see [](../guide/compare.md), [](../guide/selection.md) and "
        "[](../guide/reproduce.md).",
        packages=("skipchain.comparison", "skipchain.selection", "skipchain.reproduce"),
    ),
    Area(
        "datasets",
        "Data sets",
        "The built-in corpus, public data sets by name, and synthetic problems.",
        packages=("skipchain.datasets.synthetic",),
        modules=("skipchain.datasets.registry", "skipchain.datasets.readers.webpage"),
        names=(
            "skipchain.datasets.harbour.harbour",
            "skipchain.datasets.harbour.story",
            "skipchain.datasets.registry.data_set",
            "skipchain.datasets.registry.data_folder",
            "skipchain.datasets.readers.webpage.parse_webpage",
            "skipchain.datasets.readers.webpage.address",
        ),
    ),
    Area(
        "tagger",
        "Tagger and explanations",
        "A fitted model at work on text, and why it chose a label; see [](../guide/decoding.md) "
        "and [](../guide/explain.md).",
        modules=(
            "skipchain.tagger",
            "skipchain.tagged",
            "skipchain.models.base.model",
            "skipchain.models.base.output_labels",
            "skipchain.models.chain.model",
            "skipchain.models.chain.explain",
            "skipchain.models.graph.explain",
            "skipchain.models.document.explain",
        ),
        names=(
            "skipchain.tagger.load",
            "skipchain.models.chain.explain.explain",
            "skipchain.models.graph.explain.explain_parents",
            "skipchain.models.document.explain.explain_factors",
            "skipchain.chains.scores.NBestPaths",
        ),
    ),
    Area(
        "modelfile",
        "Model files",
        "What is written and read, and the model that comes with the package; see "
        "[](../guide/model-files.md).",
        packages=("skipchain.modelfile",),
        modules=("skipchain.modelfile.forms",),
        names=("skipchain.pretrained.path",),
    ),
    Area(
        "errors",
        "Errors",
        "Every error that a user can mend is a `SkipchainError`.",
        modules=("skipchain.errors",),
    ),
)

SHORT = 80  # characters of a constant that is shown with its value
TOP = "skipchain"
"""The package whose names are shown where they belong, under the short name."""


def api_pages() -> dict[str, str]:
    """The text of every page of the API, by file name."""
    shown = shown_names()
    return {
        "index.md": _overview(shown),
        **{f"{area.file}.md": _page(area, shown[area.file]) for area in AREAS},
    }


def shown_names() -> dict[str, dict[str, Any]]:
    """For each page the objects it shows, by dotted name; an object is shown once.

    A name of `skipchain` itself stands on the page to which its module belongs.
    """
    short = {f"{TOP}.{name}": getattr(import_module(TOP), name) for name in public_names(TOP)}
    pages: dict[str, dict[str, Any]] = {area.file: {} for area in AREAS}
    for name, found in short.items():
        pages[_home(found)][name] = found
    seen = {id(found) for found in short.values()}
    for area in AREAS:
        for name, found in _listed(area):
            if id(found) not in seen or not _is_code(found):
                pages[area.file][name] = found
                seen.add(id(found))
    return pages


def public_names(module: str) -> list[str]:
    """The names of a module's ``__all__``."""
    return list(import_module(module).__all__)


def _home(found: Any) -> str:
    """The page of an object that `skipchain` exports."""
    from skipchain.models.base.estimator import BaseEstimator

    if isinstance(found, type) and issubclass(found, BaseEstimator):
        return "estimators"
    for area in AREAS:
        if any(found is other for _, other in _listed(area)):
            return area.file
    raise LookupError(f"no area of AREAS has {found!r}; name its module or package there")


def _listed(area: Area) -> Iterator[tuple[str, Any]]:
    """What an area names, with the objects."""
    for package in area.packages:
        for name in public_names(package):
            yield f"{package}.{name}", getattr(import_module(package), name)
    for path in area.modules:
        module = import_module(path)
        for name, found in vars(module).items():
            own = inspect.isclass(found) and found.__module__ == path
            if own and not name.startswith("_"):
                yield f"{path}.{name}", found
    for path in area.names:
        module, name = path.rsplit(".", 1)
        yield path, getattr(import_module(module), name)


def _is_code(found: Any) -> bool:
    return inspect.isclass(found) or inspect.isroutine(found)


def _page(area: Area, shown: dict[str, Any]) -> str:
    """A page: the names in short, then each in full."""
    from skipchain.models.base.estimator import BaseEstimator

    lines = [f"# {area.title}", "", area.text, "", "| name | |", "|---|---|"]
    lines += [f"| `{name}` | {_first_sentence(found)} |" for name, found in shown.items()]
    lines += ["", "```{eval-rst}"]
    for name, found in shown.items():
        if inspect.isclass(found):
            lines += [f".. autoclass:: {name}", "   :members:", "   :show-inheritance:"]
            if issubclass(found, BaseEstimator) and name == f"{TOP}.CRF":
                lines += ["   :inherited-members:"]
        elif inspect.isroutine(found):
            lines += [f".. autofunction:: {name}"]
        else:
            # Not autodata, which would show the docstring of the constant's type.
            lines += [f".. py:data:: {name}", f"   :type: {type(found).__name__}"]
            if len(repr(found)) <= SHORT:
                lines += [f"   :value: {found!r}"]
        lines += [""]
    return "\n".join([*lines, "```", ""])


def _first_sentence(found: Any) -> str:
    """What a table says of an object."""
    if not _is_code(found):
        return ""
    text = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("``", "`").replace("|", r"\|")


def _overview(shown: dict[str, dict[str, Any]]) -> str:
    """The page that leads to the others."""
    lines = [
        "# API",
        "",
        "These pages are made from the package: what `__all__` names is public, and shown here.",
        "",
        "| page | names of `skipchain` | how many names |",
        "|---|---|---|",
    ]
    for area in AREAS:
        short = [f"`{name}`" for name in shown[area.file] if name.count(".") == 1]
        lines += [f"| [](./{area.file}.md) | {', '.join(short)} | {len(shown[area.file])} |"]
    lines += ["", "```{toctree}", ":hidden:", "", *(area.file for area in AREAS), "```", ""]
    return "\n".join(lines)


def root_command() -> Any:
    """The command ``skipchain`` with all others below it.

    Typer brings a click of its own in newer versions, so only attributes that both have are used.
    """
    from typer.main import get_command

    from skipchain.cli.app import app

    return get_command(app)


def commands(command: Any, path: str = "skipchain") -> Iterator[tuple[str, Any]]:
    """A command and those below it, each with what is typed to call it."""
    yield path, command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), f"{path} {name}")


def cli_page() -> str:
    """Every command with every argument and option."""
    lines = [
        "# Commands and options",
        "",
        "This page is made from the commands themselves, and says what `--help` says. How they are",
        "used, with examples: [](guide/command-line.md).",
        "",
    ]
    for path, command in commands(root_command()):
        lines += [f"{'#' * min(path.count(' ') + 2, 4)} {path}", "", _plain(command.help or ""), ""]
        lines += ["```text", _usage(path, command), "```", ""]
        for panel, parameters in _panels(command).items():
            lines += [
                f"**{panel[0].upper()}{panel[1:]}**",
                "",
                "| | default | meaning |",
                "|---|---|---|",
            ]
            lines += [_row(parameter) for parameter in parameters]
            lines += [""]
    return "\n".join(lines)


def _panels(command: Any) -> dict[str, list[Any]]:
    """The parameters by the group in which ``--help`` shows them."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        plain = "Arguments" if parameter.param_type_name == "argument" else "Options"
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or plain, []).append(
            parameter
        )
    return panels


def _usage(path: str, command: Any) -> str:
    """How a command is called, in one line."""
    below = ["COMMAND [ARGUMENTS]"] if hasattr(command, "list_commands") else []
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    places = [_placeholder(argument).replace("\\", "") for argument in arguments]
    return " ".join([path, *places, "[OPTIONS]", *below])


def _placeholder(parameter: Any) -> str:
    """What stands for the value of an argument or option, in a table."""
    name: str = parameter.metavar or parameter.name.upper()
    return name.replace("|", r"\|")


def _row(parameter: Any) -> str:
    """A line of a table: how it is written, its default, its help."""
    if parameter.param_type_name == "argument":
        written = f"`{_placeholder(parameter)}`"
    else:
        written = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
        if not parameter.is_flag:
            written += f" `{_placeholder(parameter)}`"
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    shown = "required" if parameter.required else f"`{default}`" if plain else ""
    return f"| {written} | {shown} | {_plain(getattr(parameter, 'help', None) or '')} |"


def _plain(text: str) -> str:
    """Help as Markdown in one line: bars, stars, brackets and angles are meant as they are."""
    text = " ".join(text.split())
    for sign in "|*<[_":
        text = text.replace(sign, "\\" + sign)
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", text)  # or dashes are joined


def write_pages(folder: Path) -> None:
    """Write what has changed, so that a second build has little to do."""
    pages = {f"api/{name}": text for name, text in api_pages().items()} | {"cli.md": cli_page()}
    (folder / "api").mkdir(exist_ok=True)
    for left in set((folder / "api").glob("*.md")) - {folder / name for name in pages}:
        left.unlink()
    for name, text in pages.items():
        target = folder / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
