"""Lists of phrases in files: one phrase a line, or CLASS and phrase with a tab between them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from skipchain.annotators.lexicon import ALL, FOLDED, Lexicon, PhraseTrie
from skipchain.arrays import Arrays, offsets_of
from skipchain.errors import ReadError, SkipchainError
from skipchain.io.files import COMPRESSED_ENDINGS, atomic_write, display_path, raw_bytes, read_text
from skipchain.io.tokenizer import cut_chunks

LONGEST_LINE = 1_000
ENDINGS = (*COMPRESSED_ENDINGS, ".bz2", ".lst", ".txt", ".tsv", ".list", ".csv")
CACHE_VARIABLE = "SKIPCHAIN_CACHE"  # names the folder of cached lexicons; "" caches nothing


def read_lexicon(
    paths: str | Path | Sequence[str | Path],
    *,
    column: str = "lexicon",
    case: str = FOLDED,
    matches: str = ALL,
) -> Lexicon:
    """A lexicon from files of phrases, or from all files of a folder.

    A file of plain phrases is one list, named by the file; with ``CLASS<TAB>phrase`` on each line,
    each class is a list. Files may be packed (gz, xz). Phrases are cut into tokens as running text
    is. What has been read once is cached in the folder that the environment variable
    ``SKIPCHAIN_CACHE`` names (by default ``~/.cache/skipchain``).
    """
    files = _files([paths] if isinstance(paths, (str, Path)) else paths)
    digest = hashlib.sha256(f"2 {case}".encode())
    for path in files:
        data = raw_bytes(path)
        digest.update(f"{list_name(path)} {len(data)} ".encode())
        digest.update(data)
    cache = _cached(digest.hexdigest())
    settings = {"column": column, "case": case, "matches": matches}
    if cache is not None and (cached := _load(cache, settings)) is not None:
        return cached
    lists: dict[str, list[str]] = {}
    for path in files:
        _add_phrases(lists, read_text(path), path)
    lexicon = tokenized_lexicon(lists, **settings)
    if cache is not None:
        _store(lexicon, cache)
    return lexicon


def list_name(path: str | Path) -> str:
    """The name of the list in a file of plain phrases.

    >>> list_name("lists/known_country.lst.xz")
    'known_country'
    """
    name = os.path.basename(path)
    while True:
        stem, ending = os.path.splitext(name)
        if ending not in ENDINGS or not stem:
            return "_".join(name.split())
        name = stem


def _files(paths: Sequence[str | Path]) -> list[Path]:
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            members = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] != ".")
            if not members:
                raise ReadError("there is no list of phrases in the folder", path=path)
            files.extend(members)
        else:
            files.append(path)
    return files


def _add_phrases(lists: dict[str, list[str]], text: str, path: Path) -> None:
    lines = text.removesuffix("\n").split("\n")
    if not text:
        raise ReadError("the list of phrases is empty", path=display_path(path))
    classes = "\t" in lines[0]
    name, tab = list_name(path), "\t"
    for number, line in enumerate(lines, 1):
        phrase, fault = line.strip("\r"), None
        if len(phrase) > LONGEST_LINE:
            fault = (
                f"the line has {len(phrase):,} characters, which is no phrase; wanted one phrase a "
                f"line, of at most {LONGEST_LINE:,}"
            )
        if classes:
            name, tab, phrase = phrase.partition("\t")
            name = "_".join(name.split())
        if not fault and not (tab and name):
            fault = "the line has no class; wanted CLASS, a tab and a phrase, as on line 1"
        if not fault and not phrase.strip():
            fault = "the line is empty; wanted a phrase, or no line"
        if fault:
            raise ReadError(fault, path=display_path(path), line=number)
        lists.setdefault(name, []).append(phrase)


def tokenized_lexicon(
    lists: Mapping[str, Sequence[str]],
    *,
    column: str = "lexicon",
    case: str = FOLDED,
    matches: str = ALL,
) -> Lexicon:
    """A lexicon of phrases that are cut into tokens as running text is.

    >>> from skipchain import Corpus
    >>> corpus = Corpus.of([["St.", "John", "'s"]])
    >>> tokenized_lexicon({"place": ["St. John's"]}).find(corpus)[1]
    array([3], dtype=int32)
    """
    entries = [(k, p) for k, phrases in enumerate(lists.values()) for p in phrases if p.strip()]
    text = "\n".join(phrase for _, phrase in entries)
    starts, ends = cut_chunks(text)
    words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    sizes = offsets_of(len(phrase) + 1 for _, phrase in entries)
    offsets = np.searchsorted(np.array(starts, np.int64), sizes)
    last = offsets[1:] - 1  # a full stop behind a phrase does not belong to it
    stops = np.array([words[k] == "." for k in last.tolist()], np.bool_)
    kept = np.ones(len(words), np.bool_)
    kept[last[stops & (np.diff(offsets) > 1)]] = False
    words = list(compress(words, kept.tolist()))
    owners = np.array([k for k, _ in entries], np.int32)
    phrases = PhraseTrie.of(words, offsets_of(kept)[offsets], owners, case)
    return Lexicon(tuple(lists), phrases, column, case, matches)


def _cached(digest: str) -> Path | None:
    folder = os.environ.get(CACHE_VARIABLE)
    if folder == "":
        return None
    try:
        base = Path(folder) if folder else Path.home() / ".cache" / "skipchain"
    except RuntimeError:  # a user without a home
        return None
    return base / f"lexicon-{digest[:40]}.safetensors"


def _load(path: Path, settings: dict[str, str]) -> Lexicon | None:
    """The cached lexicon; None where there is none, or a damaged one."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: Arrays = load_file(path)
        names = arrays.pop("names").tobytes().decode().split("\n")
        return Lexicon.from_config({**settings, "names": names}, arrays)
    except (OSError, ValueError, KeyError, SafetensorError):
        return None


def _store(lexicon: Lexicon, path: Path) -> None:
    """Cache the lexicon; where that is not possible, it is read anew next time."""
    from safetensors.numpy import save

    names = np.frombuffer("\n".join(lexicon.names).encode(), np.uint8)
    arrays = lexicon.arrays() | {"names": names}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, binary=True, overwrite=True) as file:
            file.write(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    except (OSError, SkipchainError):
        return
