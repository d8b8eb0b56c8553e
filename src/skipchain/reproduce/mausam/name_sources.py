"""The name tagger's sources: n-grams counted here, and published lists under SKIPCHAIN_DATA.

The lists are read where they lie and are no part of the package: the licence of some is the GPL,
that of others is not stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skipchain.corpus import Corpus
from skipchain.datasets.registry import VARIABLE, data_folder, data_set
from skipchain.errors import CorpusError
from skipchain.io.temporary import scratch_folder
from skipchain.nametagger import gender
from skipchain.resources.ngrams import NgramStore
from skipchain.resources.ngrams.store import common_words

GENDERS, ANIMACY = ("masculine", "feminine", "neutral", "plural"), ("animate", "inanimate")
STEMS = ("male", "female", "neutral", "plural")
FIRST_NAMES = (
    "gender-animacy/namegender.combine.txt.gz",
    "gazetteers/nltk-names/male.txt",
    "gazetteers/nltk-names/female.txt",
)
LISTS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "lists of animacy (Ji and Lin)": ("gender-animacy/{}.unigrams.txt.gz", ANIMACY, ANIMACY),
    "lists of gender (dcoref)": ("gender-animacy/{}.unigrams.txt.gz", STEMS, GENDERS),
    "lists of gender (cort)": ("gender-animacy/cort-{}.list.gz", STEMS, GENDERS),
    "first names": ("{}", FIRST_NAMES, ("masculine",) * 3),
}
"""Files of the data folder: their pattern, what fills it, and the property that each stands for."""
SENTENCES = 15  # of a document, where a corpus has none
NEWS = 20_000  # sentences of gmb whose contexts are learnt


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """Statistics of raw text: properties by pattern, words that are no names, the text itself."""

    patterns: Mapping[str, gender.PropertyCounts]
    common: frozenset[str]
    raw: tuple[Corpus, ...]
    tokens: int


def count_text(train: Corpus, quick: bool) -> TextStatistics:
    """Count the n-grams of the training text without its labels, and of more news and web text."""
    gmb = data_set("gmb").read("all")
    more = [gmb[:3000]] if quick else [gmb, data_set("ud-ewt").read("train")]
    # labels that are names go; parts of speech stay
    more = [corpus.without_labels() if corpus.scheme else corpus for corpus in more]
    texts = [train.without_labels(), *more]
    with scratch_folder() as folder:
        store = NgramStore.count(texts, folder / "store", orders=5)
        patterns = dict(zip(gender.PATTERNS, gender.count_properties(store), strict=True))
        common = common_words(store)
    raw = texts[0], _in_documents(texts[1][:NEWS])
    return TextStatistics(patterns, common, raw, sum(corpus.n_tokens for corpus in texts))


def read_lists() -> list[gender.PropertyCounts]:
    """The published lists, in the order in which they are added."""
    counts = gender.read_gender_counts(_file("gender-animacy/bergsma-lin-gender_filtered.txt.gz"))
    lists = [replace(counts, name="counts of gender (Bergsma and Lin)")]
    for name, (pattern, stems, properties) in LISTS.items():
        paths = [_file(pattern.format(stem)) for stem in stems]
        lists.append(gender.read_phrases(list(zip(paths, properties, strict=True)), name))
    return lists


def _in_documents(corpus: Corpus) -> Corpus:
    """The corpus in documents of a few sentences."""
    documents = np.append(np.arange(0, len(corpus), SENTENCES), len(corpus))
    plain = replace(corpus, names=None, texts=None, starts=None, ends=None, links=None)
    return replace(plain, documents=documents)


def _file(path: str) -> Path:
    file = data_folder() / path
    if not file.exists():
        raise CorpusError(f"there is no {path} in {data_folder()}, which {VARIABLE} names")
    return file
