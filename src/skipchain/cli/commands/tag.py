"""``skipchain tag``: label text or tokens with a model."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli import options
from skipchain.cli.on_cluster import check_cluster, cluster_labeller
from skipchain.cli.options import option
from skipchain.errors import ParameterError, SkipchainError
from skipchain.report.printable import one_line
from skipchain.watching import watched

if TYPE_CHECKING:
    from skipchain.cli.targets import Target
    from skipchain.cli.waiting import Activity
    from skipchain.corpus import Corpus
    from skipchain.io.columns.reading import Reading
    from skipchain.tagged_file import FileProgress, Watcher
    from skipchain.tagger import Tagger

FORMATS = ("conll", "tsv", "csv", "conllu", "jsonl", "brat", "html", "inline", "opennlp")
SPAN_FORMATS = ("brat", "html", "inline", "opennlp")
FREE = ("_", "?")  # labels that leave a token free under --force


def tag(
    model: options.OneModel = None,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="What to tag; by default stdin. Several files need -o FOLDER.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Tag this text instead of a file.")] = None,
    output: Annotated[
        str,
        option(
            options.OUTPUT,
            "Where to write ('-': stdout); a folder, into which files go under their own names.",
            "--output",
            "-o",
            metavar="OUT",
        ),
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
            help="Add probabilities: of the label (conll, tsv, csv), of all labels (jsonl), of "
            "spans (html).",
        ),
    ] = False,
    nbest: Annotated[
        int,
        typer.Option(
            metavar="K", help="Add the K best labellings (conll, tsv, csv, jsonl), up to 10,000."
        ),
    ] = 0,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Keep the labels that the input has; the model fills in those written _ or ?.",
        ),
    ] = False,
    to_scheme: Annotated[
        str | None,
        option(
            options.OUTPUT,
            "Write labels in this scheme; by default in that of the data learnt from.",
            metavar="SCHEME",
        ),
    ] = None,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    charset: options.Charset = None,
    repair: options.Repair = None,
    max_bytes: options.MaxBytes = None,
    threads: options.Threads = None,
    cluster: options.ClusterAddress = None,
    workers: options.ClusterWorkers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Label files, standard input or a given text.

    A first argument that is not a model file is a file to tag: skipchain tag story.txt
    """
    from skipchain.cli import targets
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.waiting import waiting
    from skipchain.io.files import STDIO, check_target
    from skipchain.io.text import parse_plain
    from skipchain.tagged import Question
    from skipchain.tagged_file import answered
    from skipchain.tagged_output import write_tagged

    model, given = _model_and_files(model, files or [], output)
    several = targets.is_folder_target(output, given, to)
    wanted = None if several and to is None else _output_format(to, output)
    how = options.decoding(decoder, beam)
    _check_given(text, given, named=bool(files))
    going: list[Target] = []
    if several:
        going = targets.check_targets(given, output, to, FORMATS, overwrite=overwrite)
    elif output != STDIO and wanted != "brat":
        check_target(output, overwrite)
    for format_asked in {wanted, *(target.format for target in going)}:
        _check_extras(format_asked, nbest, marginals)
    blocks = text is None and not (force or scheme or repair is not None or separator)
    check_cluster(cluster, workers, blocks=blocks)
    tagger = _checked(options.load_tagger(model, threads, samples, moves), to_scheme, how)

    def tag_one(source: str, output: str, wanted: str, watch: Watcher | None = None) -> None:
        if tagger.model.encoding is None and wanted in SPAN_FORMATS:
            raise _no_spans(tagger, wanted)
        if blocks:
            _tell_terminal(source, quiet=quiet)
            told: list[Reading] = []
            reading = tagger.tag_file(
                source,
                output,
                to=wanted,
                **how,
                marginals=marginals,
                nbest=nbest,
                scheme=to_scheme,
                format=format,
                columns=options.column_names(columns),
                label=label,
                charset=charset,
                max_bytes=options.parse_size(max_bytes),
                overwrite=overwrite,
                told=None if quiet else partial(_tell, source, told),
                watch=watch,
                labeller=labeller,
            )
            if told and told[0] != reading:
                options.say(f"{options.shown(source)}: {reading.sizes}")
            return
        if text is not None:
            corpus = parse_plain(text.rstrip("\n") + "\n")  # as a file would end
        else:
            _tell_terminal(source, quiet=quiet)
            corpus = options.read_corpora(
                [source],
                format=format,
                columns=columns,
                separator=separator,
                label=label,
                charset=charset,
                scheme=scheme if force else options.unread(scheme, repair),
                repair=repair,
                max_bytes=max_bytes,
                quiet=quiet,
                replaced=not force,
                keeping=None if force or columns or label else tagger.model,
            )
        forced = _forced(corpus, tagger, source) if force else None
        question = Question(wanted, **how, marginals=marginals, nbest=nbest, scheme=to_scheme)
        found = answered(tagger, corpus, question, forced)
        write_tagged(found, output, wanted, overwrite=overwrite)

    _tell_probabilities(tagger, quiet=quiet or not (marginals or nbest))
    with (
        compile_notice(quiet=quiet),
        cluster_labeller(cluster, workers, threads, tagger, quiet=quiet) as labeller,
    ):
        if several:
            _tag_all(going, output, tag_one, quiet=quiet)
        elif wanted is not None:
            seen = output == STDIO and sys.stdout is not None and sys.stdout.isatty()
            # labels that appear say enough
            with waiting("tagging", quiet=quiet or seen) as activity, watched(activity.progress):
                source = given[0] if given else STDIO
                tag_one(source, output, wanted, partial(_watch, activity))


def _tell_terminal(source: str, *, quiet: bool) -> None:
    """Say that input is awaited, where somebody is to type it."""
    from skipchain.io.files import STDIO

    if source == STDIO and not quiet and sys.stdin is not None and sys.stdin.isatty():
        options.say("reading from the terminal; end with Ctrl-D")


def _checked(tagger: Tagger, to_scheme: str | None, how: Mapping[str, Any]) -> Tagger:
    """The tagger, if it can decode so and write labels in that scheme."""
    tagger.model.check_decoder(**how)
    tagger.model.output_in(to_scheme)
    return tagger


def _watch(activity: Activity, progress: FileProgress) -> None:
    """Say how much is tagged, how quickly, and where that is known how much there is to do."""
    if progress.size is None:
        activity.count(f"tagging: {_counted(progress)}")
    else:
        activity.progress(progress.done, progress.size, _counted(progress))


def _counted(progress: FileProgress) -> str:
    """How many tokens are tagged, and how quickly."""
    speed = progress.tokens / max(progress.seconds, 1e-9)
    return f"{progress.tokens:,} tokens, {speed:,.0f} tokens/s"


def _tell_probabilities(tagger: Tagger, *, quiet: bool) -> None:
    """Say so where probabilities are none that were learnt as such."""
    if not quiet and not getattr(tagger.model, "probabilistic", True):
        options.say(
            f"probabilities of a {tagger.model.kind} are its scores, normalised: good for ranking, "
            "but not fitted to say how likely labels are (a crf's are)"
        )


def _no_spans(tagger: Tagger, wanted: str) -> SkipchainError:
    """The error for a format of spans, where labels mark none."""
    fault = f"the model's labels mark no spans; write them as conll or jsonl, not {wanted}"
    advice = "; where runs of one are spans, train it with --scheme bare"
    return SkipchainError(fault + advice * options.may_be_fields(tagger.model.labels))


def _tell(source: str, told: list[Reading], reading: Reading) -> None:
    """Say how the file was read that is tagged."""
    from skipchain.corpus.corpus import LABEL

    told.append(reading)

    labels = "labels are replaced" if LABEL in reading.columns else "no labels"
    options.say(f"{options.shown(source)}: {reading}; {labels}")


def _check_given(text: str | None, given: list[str], *, named: bool) -> None:
    """Refuse a text beside a file, one without words, and one in the place of a file."""
    from skipchain.io.files import STDIO

    if text is None:
        file = given[0] if len(given) == 1 else STDIO
        if " " in file and not os.path.lexists(file):  # other faults show when it is read
            advice = f"a text is tagged with --text {shlex.quote(file)}"
            raise SkipchainError(f"{file}: there is no such file; {advice}")
        return
    if given not in ([], [STDIO]):
        if not named and not os.path.lexists(given[0]):
            raise _nothing_there(given[0])
        reason = "" if named else f"{given[0]} is no model, so it is the file to tag; "
        raise SkipchainError(f"{reason}give a file or --text, not both")
    if not text.strip():
        raise SkipchainError("--text is empty; there is nothing to tag")


def _model_and_files(
    first: str | None, files: list[str], output: str
) -> tuple[str | None, list[str]]:
    """The model (None: the one that comes with the package) and the files that arguments name.

    Of two arguments the first is the model, unless what is written can only be a folder.
    """
    from skipchain.io.files import STDIO
    from skipchain.io.formats import ENDINGS, ending

    one_target = output == STDIO or os.path.isfile(output) or ending(output) in ENDINGS
    if first is None or options.names_model(first):
        return first, files
    if len(files) == 1 and one_target:
        if os.path.isfile(first):
            raise SkipchainError(
                f"{first}: not a skipchain model; several files to tag need a folder: -o FOLDER"
            )
        return first, files
    if files and not os.path.exists(first):
        raise _nothing_there(first)
    return None, [first, *files]


def _nothing_there(path: str) -> SkipchainError:
    """The error for a first argument that may have been meant for a model or a file to tag."""
    return SkipchainError(f"{path}: there is no such file, neither a model nor one to tag")


def _tag_all(
    going: Sequence[Target],
    folder: str,
    tag_one: Callable[[str, str, str, Watcher], None],
    *,
    quiet: bool,
) -> None:
    """Tag all files; those that cannot be are told, and the others are written."""
    from skipchain.cli.waiting import waiting
    from skipchain.corpus.corpus import plural
    from skipchain.io.files import make_folder

    make_folder(folder)
    done, whole, faults = 0, sum(target.size for target in going), 0

    def watch(progress: FileProgress) -> None:
        part = min(progress.done, target.size)
        activity.progress(done + part, whole, f"{at}, {_counted(progress)}")

    with waiting("tagging", quiet=quiet) as activity:
        for number, target in enumerate(going):
            at = f"{number} of {len(going)} files, {target.source}"
            activity.progress(done, whole, at)
            try:
                tag_one(target.source, target.path, target.format, watch)
            except SkipchainError as error:
                faults += 1
                options.say(f"skipchain: {one_line(str(error))}")
            done += target.size
    if faults:
        written = f"the others are in {folder}" if faults < len(going) else "nothing is written"
        raise SkipchainError(f"{plural(faults, 'file')} of {len(going)} not tagged; {written}")
    if not quiet:
        options.say(f"{plural(len(going), 'file')} written to {folder}")


def _check_extras(wanted: str | None, nbest: int, marginals: bool) -> None:
    """Refuse what the output format cannot show."""
    from skipchain.models.base.model import MAX_NBEST
    from skipchain.tagged_output import check_format

    if not 0 <= nbest <= MAX_NBEST:
        raise SkipchainError(f"--nbest must be from 1 to {MAX_NBEST:,}, got {nbest:,}")
    if wanted is None:  # each file has its own
        return
    try:
        check_format(wanted, nbest=nbest, marginals=marginals)
    except ParameterError as error:
        raise SkipchainError(f"--{error}") from None


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
