"""``skipchain compare``: models side by side on the same data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings

from skipchain.cli import options
from skipchain.cli.options import option
from skipchain.errors import SkipchainError
from skipchain.features.presets import DEFAULT_SET
from skipchain.report.grid import Grid, split_to_width

if TYPE_CHECKING:
    from rich.table import Table

    from skipchain.comparison import Comparison

ALL = "crf,memm,maxent,perceptron,hmm"
NAME = "comparison"
SIGNS = {
    f"{NAME}.json": b'{\n  "metric": ',
    f"{NAME}.md": b"# Comparison\n",
    f"{NAME}-results.png": b"Software\0skipchain",
}
"""What tells the files that the command writes, besides those of each model, from others."""
WORDS = ("model", "decoder")  # columns that are no figures
WIDE = 10_000  # for files and pipes


def compare(
    files: options.Files,
    test: Annotated[
        list[str], option(options.DATA, "Labelled file to measure the models on.", metavar="TEST")
    ],
    dev: options.Dev = None,
    models: Annotated[
        str | None,
        option(
            options.MODEL,
            "The models, the first being what the others are compared with, such as "
            f"crf,memm:order=2,l2=0.5,mop-memm:edges=previous+same_word; by default {ALL}.",
            metavar="LIST",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        option(
            options.MODEL,
            "One more model, such as crf:dependent=true; may be repeated.",
            metavar="SPEC",
        ),
    ] = None,
    features: Annotated[
        str,
        option(
            options.MODEL,
            "For all models: a standard set (ner, chunk, pos, citation …), or a file of "
            "templates, or of CRF++ or Wapiti patterns; ner-words is ner with words alone.",
        ),
    ] = DEFAULT_SET,
    without: options.Without = None,
    learn_as: options.LearnAs = None,
    assignments: Annotated[
        list[str] | None,
        option(
            options.MODEL,
            "A setting of all models that have it, such as min_count=2; may be repeated.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None,
    seed: options.Seed = None,
    decoders: Annotated[
        str | None,
        option(
            options.MODEL,
            "Compare these decoders, too, for models that have them: viterbi, posterior, "
            "greedy, beam, legal.",
            metavar="LIST",
        ),
    ] = None,
    beam: Annotated[
        int | None,
        option(options.MODEL, "The width of the decoder beam; by default 10.", metavar="K"),
    ] = None,
    output: Annotated[
        str | None,
        option(
            options.OUTPUT,
            "Keep everything in this folder: table, picture, models, and what is done when "
            "the command is interrupted and given again.",
            "--output",
            "-o",
            metavar="DIR",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    charset: options.Charset = None,
    repair: options.Repair = None,
    map_types: options.Map = None,
    only: options.Only = None,
    max_bytes: options.MaxBytes = None,
    threads: options.LearningThreads = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train several models on the same data and show what each achieves and costs.

    Ctrl-C keeps the models that are done in the folder; the same command then goes on.
    """
    from skipchain.assembly import shared_settings
    from skipchain.cli import fail
    from skipchain.cli.columns import RICHER, check_left_out, columns_left_out, tell_needs
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.mapping import apply_map, check_map
    from skipchain.cli.progress import training_display
    from skipchain.cli.signals import INTERRUPTED, SIGNALS
    from skipchain.comparison import Entry
    from skipchain.comparison import compare as measure
    from skipchain.corpus import LabelMap

    names = LabelMap.parse(map_types, only)
    listed = ALL if models is None and not model else models or ""
    entries = Entry.parse_list(listed) + [Entry.of(text) for text in model or []]
    wanted = [name.strip() for name in (decoders or "").split(",") if name.strip()]
    if beam is not None and "beam" not in wanted:
        raise SkipchainError("--beam needs beam among the --decoders")
    if output is not None:
        _check(output, overwrite)
    how: dict[str, Any] = {
        "format": format, "columns": columns, "separator": separator, "label": label,
        "scheme": scheme, "charset": charset, "repair": repair, "max_bytes": max_bytes,
        "quiet": quiet,
    }  # fmt: skip
    data = {
        what: options.read_corpora(paths, **how, labelled=True)
        for what, paths in (("train", files), ("test", test), ("dev", dev))
        if paths
    }
    training = data["train"]
    left_out = columns_left_out(without)
    check_left_out(left_out, training)
    data = {what: options.as_in(corpus, training.scheme) for what, corpus in data.items()}
    check_map(names, data)
    data = apply_map(names, data, quiet=quiet)
    training = data["train"]
    shared = {
        "features": features,
        **shared_settings(
            assignments or (), options.given_options(learn_as, threads=threads, seed=seed)
        ),
    }
    if not quiet:
        estimators = [entry.estimator(shared, left_out) for entry in entries]
        reads = set().union(*(own.reads(training) for own in estimators))
        tell_needs(reads, training, RICHER if features == DEFAULT_SET else None)
    try:
        with catch_warnings(action="ignore") if quiet else nullcontext():
            run = partial(
                measure,
                entries,
                training,
                data["test"],
                dev=data.get("dev"),
                decoders=wanted,
                folder=output,
                overwrite=overwrite,
                say=None if quiet else options.say,
                display=None if quiet else training_display,
                notice=None if quiet else compile_notice,
                without=left_out,
                **({} if beam is None else {"beam": beam}),
                **shared,
            )
            comparison = SIGNALS.catch(run)
    except KeyboardInterrupt:
        kept = (
            "nothing is kept without --output"
            if output is None
            else f"what is done is kept in {output}, and the same command goes on from there"
        )
        fail(f"interrupted; {kept}", INTERRUPTED)
    if output is not None:
        _write(comparison, output, quiet)
    if json:
        options.print_json(comparison.as_dict())
    else:
        _print(comparison)


def _check(output: str, overwrite: bool) -> None:
    """Refuse a folder with files of others under the names of ours, before any work is done."""
    from pathlib import Path

    from skipchain.io.files import check_own_target

    if not Path(output).is_dir():
        return
    for name, sign in SIGNS.items():
        check_own_target(Path(output, name), partial(_holds, sign), overwrite=overwrite)


def _holds(sign: bytes, start: bytes) -> bool:
    return sign in start


def _write(comparison: Comparison, output: str, quiet: bool) -> None:
    import json
    from pathlib import Path

    from skipchain.cli.plots import write_pictures
    from skipchain.io.files import write_text

    folder = Path(output)
    shown = write_pictures([comparison.picture()], folder, NAME, overwrite=True)
    answer = json.dumps(comparison.as_dict(), ensure_ascii=False, indent=2) + "\n"
    write_text(folder / f"{NAME}.json", answer, overwrite=True)
    write_text(folder / f"{NAME}.md", comparison.markdown(shown), overwrite=True)
    if not quiet:
        files = [f"{NAME}.md", f"{NAME}.json", *(file for file, _ in shown)]
        options.say(f"written: {', '.join(str(folder / file) for file in files)}")


def _print(comparison: Comparison) -> None:
    """The tables, cut into several where the terminal is too narrow for one."""
    from skipchain.report.terminal import Terminal

    wide = None if sys.stdout is not None and sys.stdout.isatty() else WIDE
    console = Terminal(width=wide)
    console.print(comparison.about())
    for part in split_to_width(comparison.table(), console.width):
        console.print()
        console.print(_table(part, _styles(comparison)))
    if comparison.decoders:
        headings, rows = comparison.decoder_scores()
        console.print()
        console.print(_table((headings, rows), [""] * len(rows)))


def _table(grid: Grid, styles: Sequence[str]) -> Table:
    """A grid for the terminal; ``styles`` are for the cells that say how rows differ."""
    from rich.table import Table

    from skipchain.comparison.comparison import P_VALUE, VERSUS
    from skipchain.report.terminal import styled

    headings, rows = grid
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in WORDS else "right", no_wrap=True)
    for cells, style in zip(rows, styles, strict=True):
        pairs = zip(headings, cells, strict=True)
        table.add_row(*(styled((c, style if h in (VERSUS, P_VALUE) else "")) for h, c in pairs))
    return table


def _styles(comparison: Comparison) -> list[str]:
    """A colour for each difference that is hardly chance."""
    styles = []
    for result in comparison.results:
        test = result.significance
        sure = test is not None and test.p_value < 0.05
        styles.append("" if test is None or not sure else "green" if test.difference > 0 else "red")
    return styles
