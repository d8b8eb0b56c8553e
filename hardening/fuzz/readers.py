"""Small sound inputs of every reader, mutated and read: corpora, resources, settings as text."""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from hardening.fuzz import blockwise
from hardening.fuzz.samples import training_corpus
from hardening.fuzz.tagging import LOADED, REFUSED
from hardening.fuzz.texts import REGEXES, edited_text
from skipchain import Corpus, read
from skipchain.errors import SkipchainError
from skipchain.io import write
from skipchain.parallel import Workers

CONLLU = """# newdoc id = a
# sent_id = 1
# text = Ada slept.
1-2\tAdas\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tAda\tAda\tPROPN\tNNP\tNumber=Sing\t2\tnsubj\t_\tNER=B-PER
2\tslept\tsleep\tVERB\tVBD\t_\t0\troot\t_\tNER=O|SpaceAfter=No
2.1\tx\tx\tVERB\tVBD\t_\t_\t_\t2:conj\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\tNER=O

1\tBo\tBo\tPROPN\tNNP\t_\t0\troot\t_\tNER=B-PER
"""
JSONL = "\n".join(
    json.dumps(own)
    for own in (
        {"tokens": ["Ada", "slept"], "labels": ["B-PER", "O"], "document": "a"},
        {"words": ["Bo"], "labels": ["O"], "pos": ["NNP"]},
        {"text": "Ada Lee slept.", "spans": [{"start": 0, "end": 7, "label": "PER"}]},
        {"text": "Bo", "entities": [[0, 2, "PER"]], "links": [[0, 1]]},
    )
)
TEXTS: dict[str, str] = {
    "conll": "-DOCSTART- -X- O O\n\nAda NNP I-NP B-PER\nLee NNP I-NP I-PER\nslept VBD I-VP O\n\n"
    "Bo NNP I-NP B-PER\n. . O O\n",
    "conllu": CONLLU,
    "jsonl": JSONL,
    "inline": "<DOC>\n<s><PER>Ada &amp; Lee</PER> slept in <LOC type='x'>York</LOC>.</s>\n</DOC>\n",
    "opennlp": "<START:person> Ada Lee <END> slept in <START:place> York <END> .\n\n"
    "<START> x <END>\n",
    "text": "Ada Lee (b. 1990) slept in New York. Dr. Bo didn't.\n\nThen… https://a.b/c?d=e\n",
    "crfsuite": "B-PER\tw=Ada\tlen:0.5\ta\\:b:1e3\nO\tw=slept\n\nO\tw=x:2\n",
    "lexicon": "city\tNew York\ncity\tOslo\nperson\tAda Lee\n",
    "phrases": "New York\nOslo\nAda Lee\n",
    "seeds": "city\tNew York\nday\tMonday\nOslo\n",
    "clusters": "00\tthe\t7\n010\tcat\t3\n0111\tOslo\t1\n",
    "vectors": "3 3\ncat 1 0.5 -2\ndog 0 1e-3 4\nNew York 1 2 3\n",
    "templates": "word[-1..1]\nngrams(2, 3)\nshape[-1] & shape\nbag(lower, -2..2)\n"
    'match("^[A-Z]")\nfind("[a-z]+")[1]\n'
    "suffix(lower, 2) & pos?\nlabel[-1] & pos\nvalue(size)\nvector(place)",
    "patterns": "U00:%x[-2,0]\nU01:%x[-1,0]/%x[0,1]\n"
    '*02:%t[0,0,"^[A-Z]"]\nU3:%m[0,0,"[a-z]+$"]\nB\n',
    "rules": "previous, same(suffix(2), recent=2, max_documents=9), same_word, siblings(most=3)",
    "groups": "4:0..3; 2:-1,0,8|x",
    "factors": "consistency; last_word(PER); forbidden(PER, ORG); agreement(LOC, lower)",
    "specification": 'memm:order=2,l2=0.5,features="word",steps="1, 500:3"',
    "brat": "T1\tPER 0 3\tAda\nT2\tLOC 13 17;18 22\tYork East\n"
    "R1\tlives Arg1:T1 Arg2:T2\n#1\tNote T1 x\n",
    "detect": "Ada B-PER\nslept O\n",
    **blockwise.texts(),
}
CHARSETS = ("latin-1", "utf-16-be", "shift-jis", "iso2022-jp", "cp037", "utf-32", "hz", "rot13")
BRAT_TEXT = "Ada lives in York, East.\n"
FILES = ("conll", "conllu", "jsonl", "inline", "opennlp", "text")
SPECIAL = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n\n", b"\t",
    b"\t\t", b" ", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0", b"\x0c", b"\x1b[31m", b"&#0;",
    b"&#x110000;", b"&amp", b"&lt;!--", b"<!--", b"]]>", b"<![CDATA[", b"</", b"<x", b"\\", b"\\u",
    b'\\ud800', b'"', b"{", b"[", b"NaN", b"-Infinity", b"1e400", b"1e999999999", b"9" * 30,
    b"9" * 5000, b"-1", b"0x10", b"\xd9\xa3", b"_", b"-DOCSTART-", b"# newdoc", b"1-1", b"3-1",
    b"1.5", b"<START", b"<END>", b"<START:", b":", b"B-", b"I-X", b"E-PER", b"[" * 2000,
    b'{"a":' * 2000, b"x" * 100_000, b"\xf0\x9d\x94\xb8", b"e\xcc\x81", b"%x[0,9]", b"%x[0",
)  # fmt: skip


@dataclass(frozen=True)
class ReaderCase:
    """An input of a reader, and what was done to it."""

    kind: str
    data: bytes
    packed: str
    recipe: str


def reader_case(rng: Random) -> ReaderCase:
    """A mutated input of one of the readers; some are packed, and damaged after that."""
    kind = rng.choice(sorted(TEXTS))
    data, recipe = TEXTS[kind].encode(), []
    for _ in range(rng.choice((1, 1, 2, 4))):
        data, done = _mutated(rng, kind, data)
        recipe.append(done)
    if rng.random() < 0.05:
        charset = rng.choice(("utf-16", "utf-32"))  # both with a mark
        data = data.decode("utf-8", "replace").encode(charset)
        if rng.random() < 0.5:
            data = data[: rng.randrange(len(data))]
        recipe.append(f"in {charset}, {len(data)} bytes")
    packed = rng.choice((".gz", ".xz")) if rng.random() < 0.08 else ""
    if packed:
        data = gzip.compress(data, 1, mtime=0) if packed == ".gz" else lzma.compress(data, preset=0)
        if rng.random() < 0.7:
            at = rng.randrange(len(data))
            cut = rng.random() < 0.3
            data = data[:at] if cut else data[:at] + rng.randbytes(1) + data[at + 1 :]
            recipe.append(f"{packed}: {'cut' if cut else 'byte'} at {at}")
    return ReaderCase(kind, data, packed, f"reader {kind}: {'; '.join(recipe)}")


def attack_reader(rng: Random, case: ReaderCase, folder: Path) -> str:
    """Read the input; what is not a `SkipchainError` goes through."""
    path = folder / f"input{case.packed}"
    path.write_bytes(case.data)
    try:
        found = READERS[case.kind](path, rng)
    except SkipchainError:
        return REFUSED
    if isinstance(found, Corpus) and rng.random() < 0.4:
        with contextlib.suppress(SkipchainError):
            write(found, folder / "output", rng.choice((*FILES, "html")), overwrite=True)
    return LOADED


def _mutated(rng: Random, kind: str, data: bytes) -> tuple[bytes, str]:
    at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    end = min(end, at + 40)
    how = rng.choice(("insert", "insert", "replace", "cut", "double", "fields", "text", "text"))
    if how == "insert":
        sign = rng.choice(SPECIAL)
        return data[:at] + sign + data[at:], f"{sign[:20]!r} at {at}"
    if how == "replace":
        sign = rng.choice(SPECIAL)
        return data[:at] + sign + data[end:], f"{sign[:20]!r} for {at}:{end}"
    if how == "cut":
        return data[:at] + data[end:], f"without {at}:{end}"
    if how == "double":
        return data[:end] + data[at:], f"{at}:{end} twice"
    if how == "fields":
        lines = data.split(b"\n")
        number = rng.randrange(len(lines))
        sign = b"\t" if b"\t" in lines[number] else b" "
        fields = lines[number].split(sign)
        rng.shuffle(fields)
        lines[number] = sign.join(fields[: rng.randrange(len(fields) + 2)])
        return b"\n".join(lines), f"fields of line {number + 1}"
    text = data.decode("utf-8", "surrogateescape")
    if kind == "patterns" and rng.random() < 0.3:
        text = text.replace("[a-z]+$", rng.choice(REGEXES))
    name = {"templates": "text", "rules": "edges"}.get(kind, kind)
    text = edited_text(rng, text, name)
    return text.encode("utf-8", "surrogatepass"), "text"


# Readers -----------------------------------------------------------------------------------------

CORPUS = training_corpus(10)


def _plain(path: Path) -> str:
    from skipchain.io.files import read_text

    return read_text(path)


def _read_as(format: str | None) -> Callable[[Path, Random], Any]:
    def read_corpus(path: Path, rng: Random) -> Any:
        options: dict[str, Any] = {}
        if rng.random() < 0.3:
            options["scheme"] = rng.choice(("iob1", "iob2", "bioes", "io"))
        if rng.random() < 0.1:
            options["charset"] = rng.choice(CHARSETS)
        return read(path, format, **options)

    return read_corpus


def _brat(path: Path, rng: Random) -> Any:
    from skipchain.io.files import read_bytes

    folder = path.parent / "brat"
    folder.mkdir(exist_ok=True)
    data = read_bytes(path)
    swapped = rng.random() < 0.2  # the text is what was mutated
    (folder / "a.txt").write_bytes(data if swapped else BRAT_TEXT.encode())
    (folder / "a.ann").write_bytes(TEXTS["brat"].encode() if swapped else data)
    return read(folder if rng.random() < 0.5 else folder / "a.ann", "brat")


def _crfsuite(path: Path, rng: Random) -> Any:
    from skipchain.io import read_crfsuite

    return read_crfsuite(path)


def _lexicon(path: Path, rng: Random) -> Any:
    from skipchain.annotators.phrase_lists import read_lexicon

    case, matches = rng.choice(("exact", "folded", "light")), rng.choice(("all", "longest"))
    return read_lexicon(path, case=case, matches=matches).columns(CORPUS, Workers(1))


def _seeds(path: Path, rng: Random) -> Any:
    from skipchain.resources.gazetteer import read_seeds

    return read_seeds([path])


def _clusters(path: Path, rng: Random) -> Any:
    from skipchain.resources.clusters import Clusters

    return Clusters.read(path).column(CORPUS, lower=True)


def _vectors(path: Path, rng: Random) -> Any:
    from skipchain.annotators.words import VectorColumn
    from skipchain.resources.vectors import Vectors

    return VectorColumn(Vectors.read(path)).columns(CORPUS, Workers(1))


def _templates(path: Path, rng: Random) -> Any:
    """The templates, put to work on a corpus, where they are not too many."""
    from skipchain.features.templates import Templates
    from skipchain.features.vocabulary import Vocabulary

    templates = Templates.of(path, columns=("word", "pos")).for_corpus(CORPUS)
    if len(templates.templates) <= 100:
        Vocabulary.fit(CORPUS, templates)
    return templates


def _rules(path: Path, rng: Random) -> Any:
    from skipchain.edges.rule_text import parse_rules

    return [rule.pairs(CORPUS) for rule in parse_rules(_plain(path))]


def _groups(path: Path, rng: Random) -> Any:
    from skipchain.models.rbm.groups import parse_unit_groups

    return parse_unit_groups(_plain(path))


def _factors(path: Path, rng: Random) -> Any:
    from skipchain.models.document.factors.text import parse_factors

    return parse_factors(_plain(path))


def _specification(path: Path, rng: Random) -> Any:
    from skipchain.models.specification import Specification

    return Specification.parse(_plain(path))


READERS: dict[str, Callable[[Path, Random], Any]] = {
    **{format: _read_as(format) for format in FILES},
    "detect": _read_as(None),
    "brat": _brat,
    "crfsuite": _crfsuite,
    "lexicon": _lexicon,
    "phrases": _lexicon,
    "seeds": _seeds,
    "clusters": _clusters,
    "vectors": _vectors,
    "templates": _templates,
    "patterns": _templates,
    "rules": _rules,
    "groups": _groups,
    "factors": _factors,
    "specification": _specification,
    **{
        kind: partial(blockwise.tag_both_ways, format=kind.removeprefix(blockwise.PREFIX))
        for kind in blockwise.texts()
    },
}
