"""Files that are tagged in blocks and at once, with one result: small blocks of mutated files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from hardening.fuzz.samples import training_corpus
from hardening.fuzz.tagging import WrongOutput
from skipchain import CRF, MEMM, Corpus, Tagger, read, scan, tagged_file
from skipchain.errors import SkipchainError
from skipchain.io.conll import format_conll
from skipchain.io.conllu import format_conllu
from skipchain.io.jsonl import format_jsonl
from skipchain.io.opennlp import format_opennlp
from skipchain.io.scanning import blocks
from skipchain.io.scanning import scan as scanning
from skipchain.lookup import column_file

FORMATS = ("conll", "tsv", "conllu", "jsonl", "text", "opennlp")
TARGETS = ("conll", "conll", "tsv", "csv", "jsonl", "conllu", "inline", "opennlp")
PREFIX = "blocks of "
LOOKS_AT_ALL = "be taken for"
"""In refusals of columns that reading would mistake: in blocks, only the first is looked at."""
OTHER_SEPARATOR = "but the first line has"
"""In refusals of a row of another width: of a file that is read at once, white space of any kind
may separate the columns then; in blocks, what separates them is known from the first."""


def _sample() -> Corpus:
    corpus = training_corpus(90)
    columns = {name: corpus.column(name) for name in ("word", "label")}
    return Corpus(columns, corpus.sentences, corpus.documents, corpus.scheme)


def _plain_text(corpus: Corpus) -> str:
    return " ".join(" ".join(sentence.words) for sentence in corpus)


def texts() -> dict[str, str]:
    """A text of several blocks in each format that can be cut."""
    corpus = _sample()
    made: dict[str, Callable[[Corpus], str]] = {
        "conll": format_conll,
        "tsv": partial(format_conll, separator="\t"),
        "conllu": format_conllu,
        "jsonl": format_jsonl,
        "text": _plain_text,
        "opennlp": format_opennlp,
    }
    return {PREFIX + format: made[format](corpus) for format in FORMATS}


@cache
def taggers() -> tuple[Tagger, ...]:
    """A model of sentences that may go over bytes, and one that looks at documents."""
    corpus = _sample()
    plain, document = CRF("word[-1..1]\nshape", epochs=1), MEMM("word\nhistory(lower)", epochs=1)
    return Tagger(plain.fit(corpus), 1), Tagger(document.fit(corpus), 1)


def tag_both_ways(path: Path, rng: Random, format: str) -> None:
    """Tag a file in small blocks and at once; both write the same, or both refuse."""
    tagger, to = rng.choice(taggers()), rng.choice(TARGETS)
    how: dict[str, Any] = {"format": format, "to": to, "overwrite": True}
    if to in ("conll", "jsonl") and rng.random() < 0.2:
        how |= {"nbest": 2, "marginals": True}
    with small_blocks(rng.choice((7, 64, 997)), rng.choice((150, 600))):
        found = _tagged(tagger, path, path.with_name("found"), how)
        _check_scan(path, format)
    with small_blocks(1 << 20, 1 << 20):
        wanted = _tagged(tagger, path, path.with_name("wanted"), how)
    if isinstance(wanted, str) and (isinstance(found, str) or LOOKS_AT_ALL in wanted):
        raise SkipchainError("refused")
    if isinstance(found, str) and format == "tsv" and OTHER_SEPARATOR in found:
        raise SkipchainError("refused")
    if isinstance(found, str) or isinstance(wanted, str):
        how_taken = "refused" if isinstance(found, str) else "taken"
        raise WrongOutput(f"{to}: {how_taken} in blocks only")
    if found != wanted:
        raise WrongOutput(f"{to}: another file in blocks")


@contextmanager
def small_blocks(chunk: int, size: int) -> Iterator[None]:
    """Files are read by so many bytes, and cut into blocks of such a size."""
    places = [
        (blocks, "CHUNK", chunk), (blocks, "WINDOW", size // 2), (blocks, "NEAR", 2 * size),
        (tagged_file, "HEAD", 4 * size), (tagged_file, "BLOCK", size),
        (tagged_file, "LARGEST_BLOCK", size), (scanning, "HEAD", 4 * size),
        (scanning, "SMALLEST", 1), (column_file, "SMALL", 0),
    ]  # fmt: skip
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, value in places:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


def _tagged(tagger: Tagger, path: Path, target: Path, how: dict[str, Any]) -> bytes | str:
    """What is written; where the file is refused, why."""
    try:
        tagger.tag_file(path, target, **how)
    except SkipchainError as error:
        if target.exists():
            raise WrongOutput("a file is left by what was refused") from None
        return str(error)
    found = target.read_bytes()
    target.unlink()
    return found


def _check_scan(path: Path, format: str) -> None:
    """A scan has the words of the corpus, wherever both can be read."""
    with suppress(SkipchainError):
        wanted = read(path, format, scheme="none")
        parts = list(scan(path, format, scheme="none", block=20))
        words = [word for part in parts for word in part.words.tolist()]
        if words != wanted.words.tolist() or sum(map(len, parts)) != len(wanted):
            raise WrongOutput("a scan has other sentences")
