"""Options that several commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

import typer

from skipchain.cli.separators import format_separated, separator_named
from skipchain.cli.waiting import LINE, each_file, waiting, watched_alone
from skipchain.errors import SkipchainError, SkipchainWarning, UnreadLabelsWarning
from skipchain.report.printable import printable

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.models.base.model import AnyModel
    from skipchain.tagger import Tagger

# The groups of options in the help
DATA, MODEL, KNOWLEDGE, LEARNING, OUTPUT = "data", "model", "knowledge", "learning", "output"
CLUSTER = "cluster"


def option(group: str, help: str, *names: str, **settings: Any) -> Any:
    """An option in one of the groups of the help; ``settings`` are those of `typer.Option`."""
    return typer.Option(*names, help=help, rich_help_panel=group, **settings)


Files = Annotated[
    list[str], typer.Argument(metavar="TRAIN...", help="Labelled files ('-': stdin).")
]
OneModel = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="A model file; without one, the English model that comes with the package.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    option(
        DATA,
        "The input's format (conll, tsv, csv, conllu, jsonl, inline, opennlp, brat, text), by "
        "default recognised.",
        "--from",
        metavar="FORMAT",
    ),
]
Columns = Annotated[
    str | None,
    option(
        DATA,
        "Names of a column file's columns, such as word,pos,chunk,label ('_' skips one).",
        metavar="NAMES",
    ),
]
Separator = Annotated[
    str | None,
    option(
        DATA,
        "What stands between columns: tab, space (any white space), comma or semicolon; by default "
        "recognised.",
        metavar="NAME",
    ),
]
Label = Annotated[
    str | None,
    option(
        DATA,
        "For CoNLL-U: the column that gives the labels, such as xpos; by default upos.",
        metavar="COLUMN",
    ),
]
Scheme = Annotated[
    str | None,
    option(
        DATA,
        "The labels' scheme: io, iob1, iob2, ioe1, ioe2, bioes, bilou, bare (no prefixes), none "
        "(labels of single tokens); by default inferred.",
    ),
]
Repair = Annotated[
    bool | None,
    option(
        DATA,
        "Mend labels that break their scheme, however many, or leave all as they are; by default "
        "fewer than 1 in 1,000 are mended, and more are an error.",
        "--repair/--no-repair",
        show_default=False,
    ),
]
Charset = Annotated[
    str | None,
    option(
        DATA,
        "The input's character set, such as latin-1 or cp1252; by default utf-8, or what a "
        "byte-order mark says. What is written is in utf-8.",
        metavar="NAME",
    ),
]
Map = Annotated[
    str | None,
    option(
        DATA,
        "Give types other names, in gold and predicted labels, such as MISC=O,PERSON=PER (O "
        "leaves a type out).",
        "--map",
        metavar="A=B,C=O",
    ),
]
Only = Annotated[
    str | None,
    option(
        DATA,
        "Leave out all types but these, such as PER,LOC (with --map, the new names).",
        "--only",
        metavar="A,B",
    ),
]
MaxBytes = Annotated[
    str | None,
    option(
        DATA,
        "How large a file may be, unpacked, such as 500M or 8G; by default 2G.",
        metavar="SIZE",
    ),
]
Dev = Annotated[
    list[str] | None, option(DATA, "Labelled file to score while training.", metavar="DEV")
]
Decoder = Annotated[
    str | None,
    typer.Option(
        help="How labels are found. Chains: viterbi, posterior, greedy, beam (a high order with "
        "many labels: beam, greedy); mop-memm and rbm-crf: legal, posterior; skip-chain-crf, iohmm "
        "and hrf: legal, posterior, viterbi; with factors first gibbs, icm, mean-field, two-pass. "
        "The first is the default."
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(metavar="N", help="With factors: sweeps of --decoder gibbs; by default 200."),
]
Moves = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="With factors: what --decoder gibbs draws at a time, segment or token; by default as "
        "the model was trained (segment).",
    ),
]
Beam = Annotated[
    int | None, typer.Option(metavar="K", help="The width of --decoder beam; by default 10.")
]
Features = Annotated[
    str | None,
    option(
        MODEL,
        "A standard set (ner, chunk, pos, citation …), or a file of templates, or of CRF++ "
        "or Wapiti patterns; by default ner-words, which is ner with words alone, for hmm word.",
    ),
]
Without = Annotated[
    list[str] | None,
    option(
        MODEL,
        "A column that features do not see, such as pos; may be repeated, or several with commas "
        "between them.",
        "--without",
        metavar="COLUMN",
    ),
]
LearnAs = Annotated[
    str | None,
    option(
        MODEL,
        "Learn spans in this scheme (none: as they are), by default bioes; predictions come "
        "back in the scheme of the data.",
        "--learn-as",
        metavar="SCHEME",
    ),
]
Assignments = Annotated[
    list[str] | None,
    option(
        MODEL,
        "A setting of whichever part has it, such as min_count=2; may be repeated. Where "
        "several parts have it: model.NAME, solver.NAME, factors.NAME or recipe.NAME.",
        "--set",
        metavar="NAME=VALUE",
    ),
]
Seed = Annotated[int | None, option(LEARNING, "Where random numbers begin; by default 0.")]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Threads to use; by default all cores.")
]
LearningThreads = Annotated[
    int | None, option(LEARNING, "Threads to use; by default all cores.", metavar="N")
]
ClusterAddress = Annotated[
    str | None,
    option(
        CLUSTER,
        "Work on a Ray cluster: ray://HOST:PORT, or auto for the one of this machine, which is "
        "started where there is none.",
        "--cluster",
        metavar="ADDRESS",
    ),
]
ClusterWorkers = Annotated[
    int | None,
    option(
        CLUSTER,
        "How many processes work on the cluster, by default 2, each with --threads (1).",
        "--workers",
        metavar="N",
        min=1,
    ),
]
Overwrite = Annotated[bool, option(OUTPUT, "Replace an output file that exists.", "--overwrite")]
Json = Annotated[bool, option(OUTPUT, "Print the answer as JSON.", "--json")]


def hush(quiet: bool) -> bool:
    """Leave out warnings, too, where a command is to be quiet."""
    if quiet:
        simplefilter("ignore", SkipchainWarning)
    return quiet


Quiet = Annotated[
    bool, option(OUTPUT, "Say nothing on stderr but errors.", "--quiet", "-q", callback=hush)
]


def model_and_file(first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """The model (None: the one that comes with the package) and the file that arguments name.

    One argument alone is the model if it is a model file or is called like one, else the file.
    """
    if first is None or second is not None or names_model(first):
        return first, second
    return None, first


def names_model(path: str) -> bool:
    """Whether a path is called like a model file, whatever it is, or is one."""
    from skipchain.modelfile import is_model_file

    return path.endswith(".skip") or is_model_file(path)


def load_tagger(
    model: str | None, threads: int | None, samples: int | None, moves: str | None
) -> Tagger:
    """The tagger that options describe."""
    from skipchain.tagger import load

    tagger = load(model, threads=threads)
    if samples is not None:
        tagger = tagger.with_samples(samples)
    return tagger if moves is None else tagger.with_moves(moves)


def decoding(decoder: str | None, beam: int | None) -> dict[str, Any]:
    """The arguments of a tagger that say how to decode."""
    if beam is None:
        return {"decoder": decoder}
    if decoder != "beam":
        raise SkipchainError(f"--beam needs --decoder beam; {decoder or 'viterbi'} has no beam")
    return {"decoder": decoder, "beam": beam}


def given_options(learn_as: str | None = None, **options: Any) -> dict[str, Any]:
    """The options that were given, by the names that estimators have for them."""
    found = {name: value for name, value in options.items() if value is not None}
    if learn_as is not None:
        found["encoding"] = None if learn_as == "none" else learn_as
    return found


def read_corpora(
    paths: list[str],
    *,
    format: str | None,
    columns: str | None,
    scheme: str | None,
    label: str | None = None,
    separator: str | None = None,
    charset: str | None = None,
    max_bytes: str | None = None,
    repair: bool | None = None,
    quiet: bool = True,
    labelled: bool = False,
    replaced: bool = False,
    otherwise: str | None = None,
    keeping: AnyModel | None = None,
) -> Corpus:
    """All files as one corpus; how each was read is told unless ``quiet``.

    Files without labels are refused where they must be ``labelled``; labels that are to be
    ``replaced`` are in no scheme. Labels of no scheme are ``bare`` where ``otherwise`` says so.
    ``keeping`` is the model that replaces them, if it does not keep that column.
    """
    from skipchain.io.formats import read_told
    from skipchain.label_columns import with_kept_column

    options: dict[str, Any] = {
        "columns": column_names(columns),
        "scheme": scheme,
        "repair": repair,
        "charset": charset,
        "max_bytes": parse_size(max_bytes),
    }
    if label is not None:
        options["label"] = label
    if separator is not None:
        options["separator"] = separator_named(separator)
    corpora = []
    with waiting("reading", quiet=quiet) as activity, watched_alone(activity, paths):
        for path in each_file(paths, activity):
            own = format_separated(path, format, options.get("separator"))
            with labels_wanted() if labelled else nullcontext():
                corpus, reading = read_told(path, own, **options)
            if keeping is not None:
                corpus = with_kept_column(corpus, keeping)
                reading = replace(reading, columns=(*corpus.columns,))
            if labelled:
                require_labels(corpus, path, reading.format)
            if otherwise == "bare" and scheme is None:
                corpus = as_in(corpus, otherwise)
            corpora.append(corpus)
            if not quiet:
                given = scheme is not None
                told = about_labels(corpus, scheme_given=given, replaced=replaced)
                say(f"{shown(path)}: {reading}{told}")
    return corpora[0] if len(corpora) == 1 else joined(corpora, paths, quiet=quiet)


@contextmanager
def labels_wanted() -> Iterator[None]:
    """What is not read, and may be meant for labels, is an error where labels are needed."""
    with catch_warnings():
        simplefilter("error", UnreadLabelsWarning)
        try:
            yield
        except UnreadLabelsWarning as warning:
            raise SkipchainError(str(warning)) from None


def unread(scheme: str | None, repair: bool | None) -> str | None:
    """The scheme of labels that nobody asks for: none, unless options are about them."""
    from skipchain.corpus.schemes import NO_SCHEME

    return NO_SCHEME if scheme is None and repair is None else scheme


def as_in(corpus: Corpus, scheme: str | None) -> Corpus:
    """Labels without prefixes as spans or not, as they are in the data that they belong to."""
    if not corpus.labelled or (corpus.scheme or "bare", scheme or "bare") != ("bare", "bare"):
        return corpus
    return replace(corpus, scheme=scheme)


def column_names(columns: str | None) -> tuple[str, ...] | None:
    """The names that --columns gives."""
    return None if columns is None else tuple(name.strip() for name in columns.split(","))


def parse_size(text: str | None) -> int | None:
    """The number of bytes that --max-bytes gives.

    >>> parse_size("500"), parse_size("2 MiB"), parse_size("8G"), parse_size(None)
    (500, 2097152, 8589934592, None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,17}) ?([kmgt]?)(?:i?b)?", text.strip(), re.I | re.A)
    if match is None:
        raise SkipchainError(f"--max-bytes takes a size such as 500M or 8G, got {text!r}")
    return int(match[1]) << 10 * " kmgt".index(match[2].lower() or " ")


def joined(corpora: list[Corpus], paths: list[str], *, quiet: bool = True) -> Corpus:
    """One corpus of all; where single files suggest different schemes, all of them decide.

    Where no scheme fits all, each is converted from its own to that of the first. Columns that not
    all of them have are left out. Both are told unless ``quiet``.
    """
    from skipchain.corpus import Corpus
    from skipchain.corpus.schemes import infer_scheme

    corpora = common_columns(corpora, paths, quiet=quiet)
    schemes = [corpus.scheme for corpus in corpora]
    if len(set(schemes)) == 1:
        return Corpus.concatenate(corpora)
    plain = Corpus.concatenate([replace(corpus, scheme=None) for corpus in corpora])
    found = infer_scheme(plain.labels, plain.sentences).scheme
    if found is not None or {*schemes} <= {None, "bare"}:
        return replace(plain, scheme=found)
    if None in schemes or "bare" in schemes:
        pairs = zip(paths, schemes, strict=True)
        listed = ", ".join(f"{path} ({own or 'none'})" for path, own in pairs)
        raise SkipchainError(f"the files' labels follow no common scheme: {listed}; use --scheme")
    return Corpus.concatenate(_in_one_scheme(corpora, paths, quiet=quiet))


def common_columns(corpora: list[Corpus], paths: list[str], *, quiet: bool) -> list[Corpus]:
    """The corpora with the columns that all of them have, in the order of the first."""
    from skipchain.corpus.corpus import LABEL

    common = [name for name in corpora[0].columns if all(name in c.columns for c in corpora)]
    if not quiet:
        for path, corpus in zip(paths, corpora, strict=True):
            if left := [name for name in corpus.columns if name not in common]:
                say(f"{shown(path)}: left out, as not all files have it: {', '.join(left)}")
    return [
        replace(
            corpus,
            columns={name: corpus.columns[name] for name in common},
            scheme=corpus.scheme if LABEL in common else None,
        )
        for corpus in corpora
    ]


def _in_one_scheme(corpora: list[Corpus], paths: list[str], *, quiet: bool) -> list[Corpus]:
    """The corpora with their labels in the scheme of the first that can write all spans."""
    from skipchain.corpus.schemes import convert
    from skipchain.corpus.schemes.scheme import TABLE

    schemes = [str(corpus.scheme) for corpus in corpora]
    wanted = next((own for own in schemes if not TABLE[own].merges), schemes[0])
    written = []
    for path, corpus, own in zip(paths, corpora, schemes, strict=True):
        if own != wanted and not quiet:
            say(f"{shown(path)}: the labels are converted from {own} to {wanted}")
        labels = convert(corpus.labels, corpus.sentences, own, wanted)
        written.append(corpus.with_labels(labels, wanted))
    return written


def shown(path: str) -> str:
    """A file as messages name it."""
    from skipchain.io.files import display_path

    return str(display_path(path))


def about_labels(corpus: Corpus, *, scheme_given: bool, replaced: bool = False) -> str:
    """What is known of the labels of a corpus: their scheme, and why it was taken."""
    from skipchain.corpus.schemes import UNKNOWN, infer_scheme

    if not corpus.labelled:
        return "; no labels"
    if replaced:
        return "; labels are replaced"
    if scheme_given:
        return f"; scheme {corpus.scheme or 'none'}"
    reason = f"labels {UNKNOWN!r} are not known"
    if UNKNOWN not in corpus.labels.values:
        found = infer_scheme(corpus.labels, corpus.sentences)
        reason = found.reason
        if corpus.scheme == "bare" != found.scheme:
            reason = "as the model has learnt its labels"
    fields = corpus.scheme is None and may_be_fields(corpus.labels.values)
    return f"; scheme {corpus.scheme or 'none'} ({reason})" + FIELDS * fields


FIELDS = "; where runs of one label are spans, name it: --scheme bare"
"""What to do with labels such as street and city, beside O."""


def may_be_fields(labels: Sequence[str]) -> bool:
    """Whether labels without prefixes, beside O, may be names of fields.

    >>> may_be_fields(["O", "street"]), may_be_fields(["O", "B-PER"]), may_be_fields(["DT"])
    (True, False, False)
    """
    from skipchain.corpus.schemes import UNKNOWN
    from skipchain.corpus.schemes.labels import split

    named = [label for label in labels if label not in ("O", UNKNOWN)]
    return "O" in labels and bool(named) and not any(split(label)[0] for label in named)


LABELLING = {
    "jsonl": 'its lines need "labels" beside "tokens", or "spans" beside "text"',
    "text": "it is plain text; columns are read with --from conll --columns word,label",
}
"""How a file of a format comes to have labels."""


def require_labels(corpus: Corpus, path: str, format: str) -> None:
    """Refuse a corpus without labels, and say where they would be."""
    if not corpus.labelled:
        named = "name the label column with --columns, such as word,label"
        there = f"its columns are {', '.join(corpus.columns)}"
        advice = LABELLING.get(format, named)
        raise SkipchainError(f"{shown(path)} has no labels ({format}; {there}); {advice}")


def say(message: str) -> None:
    """A line on stderr, where it does not mix with the answer."""
    LINE.above(printable(message))


def print_json(value: Any) -> None:
    """A value as JSON on stdout, in UTF-8 whatever the locale."""
    from skipchain.io.files import STDIO, write_text

    write_text(STDIO, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
