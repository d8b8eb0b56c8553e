"""Options that several commands share."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.tagger import Tagger

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
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="The input's format (conll, conllu, jsonl, inline, opennlp, brat, text); "
        "recognised by ending and content unless told.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names of a column file's columns, such as word,pos,chunk,label ('_' skips one).",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="For CoNLL-U: the column that gives the labels, such as xpos; upos unless told.",
    ),
]
Scheme = Annotated[
    str | None,
    typer.Option(
        help="The labels' scheme: io, iob1, iob2, ioe1, ioe2, bioes, bilou; inferred unless told."
    ),
]
Decoder = Annotated[
    str | None,
    typer.Option(
        help="viterbi, posterior, greedy or beam; viterbi unless told (order 3: beam). For "
        "mop-memm: legal (the best that the scheme allows) or posterior; legal unless told. For "
        "iohmm and hrf: legal, posterior or viterbi; legal unless told. With factors also gibbs, "
        "icm, mean-field and two-pass; gibbs unless told."
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(metavar="N", help="With factors: sweeps of --decoder gibbs; 200 unless told."),
]
Beam = Annotated[
    int | None, typer.Option(metavar="K", help="The width of --decoder beam; 10 unless told.")
]
Features = Annotated[
    str | None,
    typer.Option(
        help="A standard set (ner, chunk, pos, citation …), or a file of templates, or of CRF++ "
        "or Wapiti patterns (ner; for hmm word)."
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Learn spans in this scheme; predictions keep the data's own.")
]
MinCount = Annotated[int, typer.Option(help="Leave out rarer features.")]
Constraints = Annotated[
    str,
    typer.Option(help="Exclude label sequences that the scheme forbids: decoding, training, none."),
]
Dev = Annotated[
    list[str] | None, typer.Option(metavar="DEV", help="Labelled file to score while training.")
]
Seed = Annotated[int | None, typer.Option(help="Where random numbers begin (0).")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output file that exists.")]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Threads to use; all cores unless told.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on stderr but errors.")]


def model_and_file(first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """The model (None: the one that comes with the package) and the file that arguments name.

    One argument alone is the model if it is a model file or is called like one, else the file.
    """
    from skipchain.modelfile import is_model_file

    if first is None or second is not None or first.endswith(".skip") or is_model_file(first):
        return first, second
    return None, first


def decoding(decoder: str | None, beam: int | None) -> dict[str, Any]:
    """The arguments by which a tagger is told how to decode."""
    if beam is None:
        return {"decoder": decoder}
    if decoder != "beam":
        raise SkipchainError(f"--beam needs --decoder beam; {decoder or 'viterbi'} has no beam")
    return {"decoder": decoder, "beam": beam}


def with_samples(tagger: Tagger, samples: int | None) -> Tagger:
    """The tagger with so many sweeps of sampling; refused where it does not sample."""
    from skipchain.models.document.model import FactoredModel
    from skipchain.tagger import Tagger

    if samples is None:
        return tagger
    model = tagger.model
    if not isinstance(model, FactoredModel):
        raise SkipchainError(
            f"--samples is for models with factors, and {model.kind} has none; train it with "
            "--consistency"
        )
    return Tagger(model.with_samples(samples), tagger.threads)


def shared_settings(
    encoding: str | None, min_count: int, constraints: str, threads: int | None, seed: int | None
) -> dict[str, Any]:
    """The settings that every command which trains has, as estimators take them."""
    found = {
        "encoding": None if encoding == "none" else encoding,
        "min_count": min_count, "constraints": constraints, "threads": threads,
    }  # fmt: skip
    return found if seed is None else {**found, "seed": seed}


def read_corpora(
    paths: list[str],
    *,
    format: str | None,
    columns: str | None,
    scheme: str | None,
    label: str | None = None,
    quiet: bool = True,
) -> Corpus:
    """All files as one corpus; an inferred scheme is said on stderr."""
    from skipchain.io import read

    names = None if columns is None else tuple(name.strip() for name in columns.split(","))
    own = {} if label is None else {"label": label}
    corpora = []
    for path in paths:
        corpus = read(path, format, columns=names, scheme=scheme, **own)
        corpora.append(corpus)
        if not quiet:
            say(f"{path}: {describe(corpus, told=scheme is not None)}")
    return corpora[0] if len(corpora) == 1 else joined(corpora, paths)


def joined(corpora: list[Corpus], paths: list[str]) -> Corpus:
    """One corpus of all; where the files alone suggest different schemes, they tell together."""
    from skipchain.corpus import Corpus
    from skipchain.corpus.schemes import infer_scheme

    schemes = [corpus.scheme for corpus in corpora]
    if len(set(schemes)) > 1:
        plain = [replace(corpus, scheme=None) for corpus in corpora]
        corpus = Corpus.concatenate(plain)
        found = infer_scheme(corpus.labels, corpus.sentences).scheme
        if found is None:
            told = ", ".join(f"{p} ({s or 'none'})" for p, s in zip(paths, schemes, strict=True))
            raise SkipchainError(f"the files' labels follow no common scheme: {told}; use --scheme")
        return replace(corpus, scheme=found)
    return Corpus.concatenate(corpora)


def describe(corpus: Corpus, *, told: bool) -> str:
    """One line on a corpus, with the scheme and why it was taken."""
    from skipchain.corpus.corpus import plural
    from skipchain.corpus.schemes import UNKNOWN, infer_scheme

    counts = ((corpus.n_documents, "document"), (len(corpus), "sentence"))
    sizes = ", ".join(plural(count, noun) for count, noun in (*counts, (corpus.n_tokens, "token")))
    sizes += f"; columns {', '.join(corpus.columns)}"
    if not corpus.labelled:
        return sizes
    if told:
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
    print(message, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """A value as JSON on stdout, in UTF-8 whatever the locale."""
    from skipchain.io.files import STDIO, write_text

    write_text(STDIO, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
