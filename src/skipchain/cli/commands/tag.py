"""``skipchain tag``: label text or tokens with a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli import options
from skipchain.cli.options import option
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.tagger import Tagger

FORMATS = ("conll", "conllu", "jsonl", "brat", "html", "inline", "opennlp")
SPAN_FORMATS = ("brat", "html", "inline", "opennlp")
FREE = ("_", "?")  # labels that leave a token free under --force


def tag(
    model: options.OneModel = None,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="What to tag; by default stdin.", show_default=False),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Tag this text instead of a file.")] = None,
    output: Annotated[
        str,
        option(options.OUTPUT, "Where to write ('-': stdout).", "--output", "-o", metavar="OUT"),
    ] = "-",
    to: Annotated[
        str | None,
        option(
            options.OUTPUT,
            f"Output format: {', '.join(FORMATS)}; by default that of the ending, on stdout conll.",
            "--format",
            "--to",
            metavar="FORMAT",
        ),
    ] = None,
    decoder: options.Decoder = None,
    beam: options.Beam = None,
    samples: options.Samples = None,
    moves: options.Moves = None,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="Add probabilities: of the label (conll), of all labels (jsonl), of spans (html).",
        ),
    ] = False,
    nbest: Annotated[
        int,
        typer.Option(metavar="K", help="Add the K best labellings (conll, jsonl), up to 10,000."),
    ] = 0,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Keep the labels that the input has; the model fills in those written _ or ?.",
        ),
    ] = False,
    format: options.Format = None,
    columns: options.Columns = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    max_bytes: options.MaxBytes = None,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Label a file, standard input or a given text.

    One argument that is not a model file is the file to tag: skipchain tag story.txt
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.write import write_tagged
    from skipchain.io.files import STDIO, check_target
    from skipchain.io.text import parse_plain
    from skipchain.models.base.model import MAX_NBEST
    from skipchain.tagger import load

    model, named_file = options.model_and_file(model, file)
    wanted = _output_format(to, output)
    how = options.decoding(decoder, beam)
    if not 0 <= nbest <= MAX_NBEST:
        raise SkipchainError(f"--nbest must be from 1 to {MAX_NBEST:,}, got {nbest:,}")
    if nbest and wanted not in ("conll", "jsonl"):
        raise SkipchainError(f"--nbest can be written as conll or jsonl, not as {wanted}")
    if marginals and wanted not in ("conll", "jsonl", "html"):
        raise SkipchainError(f"--marginals can be written as conll, jsonl or html, not as {wanted}")
    if text is not None and named_file not in (None, STDIO):
        reason = f"{named_file} is no model, so it is the file to tag; " if file is None else ""
        raise SkipchainError(f"{reason}give a file or --text, not both")
    source = named_file or STDIO
    if output != "-" and wanted != "brat":
        check_target(output, overwrite)
    tagger = load(model, threads=threads)
    if samples is not None:
        tagger = tagger.with_samples(samples)
    if moves is not None:
        tagger = tagger.with_moves(moves)
    tagger.model.check_decoder(**how)
    if text is not None:
        if not text.strip():
            raise SkipchainError("--text is empty; there is nothing to tag")
        corpus = parse_plain(text.rstrip("\n") + "\n")  # as a file would end
    else:
        if source == STDIO and sys.stdin is not None and sys.stdin.isatty():
            options.say("reading from the terminal; end with Ctrl-D")
        corpus = options.read_corpora(
            [source],
            format=format,
            columns=columns,
            label=label,
            scheme=scheme,
            max_bytes=max_bytes,
        )
    forced = _forced(corpus, tagger, source) if force else None
    with compile_notice():
        prediction = tagger.predict(
            corpus.without_labels() if corpus.labelled else corpus,
            **how,
            forced=forced,
            confidences=tagger.model.encoding is not None
            and (marginals or wanted == "html")
            # where spans have no probabilities, those of labels do, but a page shows only spans
            and (tagger.model.has_span_probabilities or (marginals and wanted == "html")),
            probabilities=marginals and wanted in ("conll", "jsonl"),
            nbest=nbest,
        )
    if prediction.spans is None and wanted in SPAN_FORMATS:
        raise SkipchainError(
            f"the model's labels mark no spans; write them as conll or jsonl, not {wanted}"
        )
    write_tagged(tagger, prediction, output, wanted, overwrite=overwrite)


def _output_format(asked: str | None, output: str) -> str:
    """The format that was asked for, else that of the ending; what goes to stdout is columns."""
    from skipchain.io.files import STDIO
    from skipchain.io.formats import format_to_write

    if asked is None and output == STDIO:
        return "conll"
    wanted = format_to_write(output, labelled=True) if asked is None else asked
    if wanted not in FORMATS:
        raise SkipchainError(f"cannot write {wanted!r}; the formats are {', '.join(FORMATS)}")
    return wanted


def _forced(corpus: Corpus, tagger: Tagger, file: str) -> list[str | None]:
    """The labels that the input gives, in the model's scheme; None where it gives none."""
    if not corpus.labelled:
        raise SkipchainError(
            f"--force needs labels in the input, but {file} has only {', '.join(corpus.columns)}"
        )
    return [None if label in FREE else label for label in corpus.labels.tolist()]
