"""What the name tagger may know: n-grams counted here, and published lists under SKIPCHAIN_DATA.

The lists are read where they lie and are no part of the package: the licence of some is the GPL,
that of others is not stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from skipchain.corpus import Corpus
from skipchain.datasets.registry import VARIABLE, data_folder, data_set
from skipchain.errors import CorpusError
from skipchain.nametagger.gender import (
    PATTERNS,
    PropertyCounts,
    count_properties,
    read_gender_counts,
    read_phrases,
)
from skipchain.resources.ngrams import NgramStore
from skipchain.resources.ngrams.store import common_words

GENDERS = ("masculine", "feminine", "neutral", "plural")
SENTENCES = 15  # of a document, where a corpus has none
NEWS = 20_000  # sentences of gmb whose contexts are learnt


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """What raw text tells: properties by pattern, words that are no names, and the text itself."""

    patterns: Mapping[str, PropertyCounts]
    common: frozenset[str]
    raw: tuple[Corpus, ...]
    tokens: int


def count_text(train: Corpus, quick: bool) -> TextStatistics:
    """Count the n-grams of the training text without its labels, and of more news and web text."""
    more = [data_set("gmb").read("all"), *(data_set(own).read("train") for own in ("ud-ewt",))]
    if quick:
        more = [more[0][:3000]]
    texts = [train.without_labels(), *(_unlabelled(own) for own in more)]
    with TemporaryDirectory() as folder:
        store = NgramStore.count(texts, Path(folder) / "store", orders=5)
        found = count_properties(store)
        common = common_words(store)
    news = _cut(texts[1][:NEWS])
    return TextStatistics(
        dict(zip(PATTERNS, found, strict=True)),
        common,
        (texts[0], news),
        sum(own.n_tokens for own in texts),
    )


def read_lists() -> list[PropertyCounts]:
    """The published lists, in the order in which they are added."""
    folder = "gender-animacy"
    files = {
        "lists of gender (dcoref)": ("male", "female", "neutral", "plural"),
        "lists of gender (cort)": ("cort-male", "cort-female", "cort-neutral", "cort-plural"),
    }
    found = [
        read_gender_counts(_file(f"{folder}/bergsma-lin-gender_filtered.txt.gz")),
        read_phrases(
            [
                (_file(f"{folder}/animate.unigrams.txt.gz"), "animate"),
                (_file(f"{folder}/inanimate.unigrams.txt.gz"), "inanimate"),
            ],
            "lists of animacy (Ji and Lin)",
        ),
    ]
    for name, own in files.items():
        ending = "list.gz" if own[0].startswith("cort") else "unigrams.txt.gz"
        lists = [
            (_file(f"{folder}/{file}.{ending}"), kind)
            for file, kind in zip(own, GENDERS, strict=True)
        ]
        found.append(read_phrases(lists, name))
    first = [(_file(f"{folder}/namegender.combine.txt.gz"), "masculine")] + [
        (_file(f"gazetteers/nltk-names/{kind}.txt"), "masculine") for kind in ("male", "female")
    ]
    found.append(read_phrases(first, "first names"))
    return [replace(found[0], name="counts of gender (Bergsma and Lin)"), *found[1:]]


def _unlabelled(corpus: Corpus) -> Corpus:
    """The corpus without labels that are names; parts of speech stay."""
    return corpus if corpus.scheme is None else corpus.without_labels()


def _cut(corpus: Corpus) -> Corpus:
    """The corpus in documents of a few sentences."""
    return replace(
        corpus,
        names=None,
        texts=None,
        starts=None,
        ends=None,
        links=None,
        documents=np.append(np.arange(0, len(corpus), SENTENCES), len(corpus)),
    )


def _file(path: str) -> Path:
    """A file of the data folder."""
    found = data_folder() / path
    if not found.exists():
        raise CorpusError(f"there is no {path} in {data_folder()}, which {VARIABLE} names")
    return found
