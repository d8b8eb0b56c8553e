"""Options that several commands share."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.errors import SkipchainError
from skipchain.report.printable import printable

if TYPE_CHECKING:
    from skipchain.corpus import Corpus

# The groups of options in the help
DATA, MODEL, KNOWLEDGE, LEARNING, OUTPUT = "data", "model", "knowledge", "learning", "output"


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
        "The input's format (conll, conllu, jsonl, inline, opennlp, brat, text); by default "
        "recognised by ending and content.",
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
        DATA, "The labels' scheme: io, iob1, iob2, ioe1, ioe2, bioes, bilou; by default inferred."
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
        "or Wapiti patterns; by default ner, for hmm word.",
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
Overwrite = Annotated[bool, option(OUTPUT, "Replace an output file that exists.", "--overwrite")]
Json = Annotated[bool, option(OUTPUT, "Print the answer as JSON.", "--json")]
Quiet = Annotated[bool, option(OUTPUT, "Say nothing on stderr but errors.", "--quiet", "-q")]


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
    max_bytes: str | None = None,
    quiet: bool = True,
) -> Corpus:
    """All files as one corpus; an inferred scheme is said on stderr."""
    from skipchain.io import read

    names = None if columns is None else tuple(name.strip() for name in columns.split(","))
    limit = parse_size(max_bytes)
    options = {} if label is None else {"label": label}
    corpora = []
    for path in paths:
        corpus = read(path, format, columns=names, scheme=scheme, max_bytes=limit, **options)
        corpora.append(corpus)
        if not quiet:
            say(f"{path}: {describe(corpus, scheme_given=scheme is not None)}")
    return corpora[0] if len(corpora) == 1 else joined(corpora, paths)


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


def joined(corpora: list[Corpus], paths: list[str]) -> Corpus:
    """One corpus of all; where single files suggest different schemes, all of them decide."""
    from skipchain.corpus import Corpus
    from skipchain.corpus.schemes import infer_scheme

    schemes = [corpus.scheme for corpus in corpora]
    if len(set(schemes)) > 1:
        plain = [replace(corpus, scheme=None) for corpus in corpora]
        corpus = Corpus.concatenate(plain)
        found = infer_scheme(corpus.labels, corpus.sentences).scheme
        if found is None:
            pairs = zip(paths, schemes, strict=True)
            listed = ", ".join(f"{path} ({own or 'none'})" for path, own in pairs)
            raise SkipchainError(
                f"the files' labels follow no common scheme: {listed}; use --scheme"
            )
        return replace(corpus, scheme=found)
    return Corpus.concatenate(corpora)


def describe(corpus: Corpus, *, scheme_given: bool) -> str:
    """One line on a corpus, with the scheme and why it was taken."""
    from skipchain.corpus.corpus import plural
    from skipchain.corpus.schemes import UNKNOWN, infer_scheme

    counts = ((corpus.n_documents, "document"), (len(corpus), "sentence"))
    sizes = ", ".join(plural(count, noun) for count, noun in (*counts, (corpus.n_tokens, "token")))
    sizes += f"; columns {', '.join(corpus.columns)}"
    if not corpus.labelled:
        return sizes
    if scheme_given:
        return f"{sizes}; scheme {corpus.scheme}"
    reason = f"labels {UNKNOWN!r} are not known"
    if UNKNOWN not in corpus.labels.values:
        reason = infer_scheme(corpus.labels, corpus.sentences).reason
    return f"{sizes}; scheme {corpus.scheme or 'none'} ({reason})"


def require_labels(corpus: Corpus, what: str) -> None:
    """Refuse a corpus without labels."""
    if not corpus.labelled:
        raise SkipchainError(
            f"{what} has no labels (its columns are {', '.join(corpus.columns)}); "
            "name the label column with --columns, such as word,label"
        )


def say(message: str) -> None:
    """A line on stderr, where it does not mix with the answer."""
    print(printable(message), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """A value as JSON on stdout, in UTF-8 whatever the locale."""
    from skipchain.io.files import STDIO, write_text

    write_text(STDIO, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
