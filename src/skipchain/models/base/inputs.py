"""What users hand to a model: a corpus, sequences of words, of feature dicts, or matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import IN_MEMORY, Bools, Ints, Labels, Room, offsets_of
from skipchain.corpus import Column, Corpus, Sentence
from skipchain.corpus.schemes import UNKNOWN
from skipchain.errors import CorpusError, FeatureError
from skipchain.features.direct import NamedFeatures, NumberedFeatures, is_matrix, lengths_of
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers
from skipchain.scratch.folder import Scratch

Input = Corpus | Sequence[Any]
"""A corpus, or sequences of feature dicts, lists of features or matrices."""
Features = Vocabulary | NamedFeatures | NumberedFeatures


def as_input(given: Any) -> Input:
    """A corpus as it is (or put together again from its sentences), or a list of sequences.

    Tokens that are strings are words, so lists of them become a corpus; features given directly are
    a dict or a list for each token.

    >>> as_input([["Ada", "slept"], ["Bo", "ran"]])
    Corpus(1 document, 2 sentences, 4 tokens, columns word)
    >>> as_input([[["word=Ada", "capital"], ["word=slept"]]])
    [[['word=Ada', 'capital'], ['word=slept']]]
    """
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str):
        advice = (
            "skipchain.read(path) makes one of a file, and Tagger(model).tag takes running text"
        )
        raise CorpusError(f"wanted a Corpus, or a list of sequences, got str; {advice}")
    sequences = as_list(given, "a Corpus, or a list of sequences")
    if sequences and isinstance(sequences[0], Sentence):
        corpus = sequences[0].corpus
        if any(not isinstance(s, Sentence) or s.corpus is not corpus for s in sequences):
            raise CorpusError("sentences must come from one corpus")
        return corpus.take([sentence.index for sentence in sequences])
    for number, sequence in enumerate(sequences):
        if isinstance(sequence, str):
            advice = "one sentence is [['Ada', 'slept']], and Tagger(model).tag takes running text"
            raise CorpusError(f"sequence {number} is a string, not a list of words; {advice}")
        if not (is_matrix(sequence) or isinstance(sequence, Sized)):
            wanted = "a list of words, of feature dicts or of lists of features, or a matrix"
            kind = type(sequence).__name__
            raise CorpusError(f"sequence {number} is of type {kind}; wanted {wanted}")
    return Corpus.of(sequences) if _are_words(sequences) else sequences


def _are_words(sequences: list[Any]) -> bool:
    """Whether the first token that there is, is a string."""
    first = next(
        (sequence for sequence in sequences if not is_matrix(sequence) and len(sequence)), ""
    )
    return (
        isinstance(first, Sequence | np.ndarray)
        and not isinstance(first, str | bytes)
        and (isinstance(first[0], str))
    )


def as_list(given: Any, wanted: str) -> list[Any]:
    """What can be gone through, as a list; a string cannot be meant."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise CorpusError(f"wanted {wanted}, got {type(given).__name__}")
    return list(given)


def count_tokens(given: Input) -> int:
    """How many tokens there are to label."""
    if isinstance(given, Corpus):
        return given.n_tokens
    return sum(lengths_of(given))


def take_sequences(
    given: Input, labels: Any, sequences: Ints
) -> tuple[Corpus | list[Any], list[Any] | None]:
    """Some of the sequences, and their labels where they are given apart."""
    own = None if labels is None else [labels[k] for k in sequences.tolist()]
    if isinstance(given, Corpus):
        return given.take(sequences), own
    return [given[k] for k in sequences.tolist()], own


def fit_features(
    given: Input, templates: Templates | None, min_count: int, room: Room = IN_MEMORY
) -> tuple[Features, FeatureMatrix, Ints]:
    """Learn the features of the input, and encode it: features, rows, chain offsets.

    With a scratch folder for a room they are built in blocks.
    """
    if isinstance(given, Corpus):
        if templates is None:
            raise FeatureError("a corpus needs templates; give features='ner' or your own")
        if isinstance(room, Scratch):
            from skipchain.features.blocks.fitting import CorpusBlocks

            vocabulary, rows = CorpusBlocks(given, room).fit(templates, min_count)
        else:
            vocabulary, rows = Vocabulary.fit(given, templates, min_count)
        return vocabulary, rows, given.sentences
    if not len(given):
        raise CorpusError("there is no sequence to learn from")
    kind = NumberedFeatures if is_matrix(given[0]) else NamedFeatures
    return kind.fit(given, min_count)


def annotators_of(features: Features) -> tuple[Any, ...]:
    """What adds columns to a corpus for these features, and may look at its documents for them."""
    return features.templates.annotators if isinstance(features, Vocabulary) else ()


def bases_of(features: Features) -> list[Any]:
    """The models whose predictions are among the features."""
    bases = (getattr(own, "base", None) for own in annotators_of(features))
    return [base for base in bases if base is not None]


def encode(
    features: Features, given: Input, workers: Workers | None = None
) -> tuple[FeatureMatrix, Ints]:
    """Encode input of the kind the model was fitted on."""
    if isinstance(features, Vocabulary):
        if not isinstance(given, Corpus):
            if any(lengths_of(given)):
                raise FeatureError(
                    "the model was fitted on words; give it lists of words, or a Corpus, not "
                    "features"
                )
            given = Corpus.of([[] for _ in given])
        return features.encode(given, workers), given.sentences
    if isinstance(given, Corpus):
        raise FeatureError(
            "the model was fitted on features given directly, and has no templates to read words "
            "or a corpus; give it a dict or a list of features for each token"
        )
    if not len(given):
        return features.encode([])
    if is_matrix(given[0]) != isinstance(features, NumberedFeatures):
        wanted = "matrices" if isinstance(features, NumberedFeatures) else "feature dicts or lists"
        raise FeatureError(f"the model was fitted on {wanted}; got {type(given[0]).__name__}")
    return features.encode(given)


def label_column(given: Input, labels: Any) -> Column:
    """One label per token, from the corpus itself or from a list of labels per sequence."""
    if labels is None:
        if isinstance(given, Corpus):
            return given.labels
        raise CorpusError("labels are missing: give y, one list of labels per sequence")
    sequences = label_lists(labels)
    sizes = np.diff(chain_offsets(given)).tolist()
    if len(sequences) != len(sizes):
        raise CorpusError(f"{len(sizes)} sequences, but labels for {len(sequences)}")
    for number, (own, size) in enumerate(zip(sequences, sizes, strict=True)):
        if len(own) != size:
            raise CorpusError(f"sequence {number} has {size} tokens, but {len(own)} labels")
    flat = [label for own in sequences for label in own]
    for position, label in enumerate(flat):
        if not isinstance(label, str):
            raise CorpusError(f"token {position}: label {label!r} is not a string")
    return Column.encode(flat)


def label_lists(labels: Any) -> list[list[Any]]:
    """The labels of each sequence as a list of their own."""
    wanted = "one list of labels per sequence"
    lists = as_list(labels, f"y, {wanted}")
    for number, own in enumerate(lists):
        if not isinstance(own, Iterable):
            raise CorpusError(f"y has {own!r} for sequence {number}; wanted {wanted}")
    return [list(own) for own in lists]


@dataclass(frozen=True, slots=True)
class KnownLabels:
    """What is known of the tokens' labels.

    ``partial`` names the tokens without one label of their own (`UNKNOWN` in ``column``), and the
    labels they may have; an empty set stands for all.
    """

    column: Column
    offsets: Ints
    partial: Mapping[int, frozenset[str]]

    @property
    def names(self) -> tuple[str, ...]:
        """All labels, sorted."""
        sure = {self.column.values[code] for code in self.column.used().tolist()}
        if self.partial:
            sure.discard(UNKNOWN)
        return tuple(sorted(sure.union(*self.partial.values())))

    def to_codes(self, names: Sequence[str]) -> tuple[Labels, Bools | None]:
        """Labels as numbers (−1 where there is not one), and which each token may have. [N, L]"""
        number = {name: k for k, name in enumerate(names)}
        codes = np.array([number.get(value, -1) for value in self.column.values], np.int32)
        labels = codes[self.column.codes]
        if not self.partial:
            return labels, None
        allowed = labels[:, None] == np.arange(len(names))
        for token, own in self.partial.items():
            labels[token] = -1
            allowed[token] = True
            if own:
                allowed[token] = [name in own for name in names]
        return labels, allowed


def known_labels(given: Input, labels: Any) -> KnownLabels:
    """Labels of which some may be missing (None, ``_``) or sets of labels."""
    offsets = chain_offsets(given)
    if labels is None:
        column = label_column(given, None)
        partial: dict[int, frozenset[str]] = {}
        if UNKNOWN in column.values:
            where = column.codes == column.values.index(UNKNOWN)
            partial = {int(token): frozenset() for token in np.flatnonzero(where)}
        return KnownLabels(column, offsets, partial)
    sequences = label_lists(labels)
    partial = {}
    token = 0
    for own in sequences:
        for place, label in enumerate(own):
            if label is None or label == UNKNOWN:
                partial[token] = frozenset()
                own[place] = UNKNOWN
            elif isinstance(label, (set, frozenset)):
                if not label or not all(isinstance(one, str) for one in label):
                    raise CorpusError(
                        f"token {token}: {label!r} leaves no label; give a set of labels, or None "
                        "where any label may be"
                    )
                partial[token] = frozenset(label)
                own[place] = UNKNOWN
            token += 1
    return KnownLabels(label_column(given, sequences), offsets, partial)


def shared_numbers(old: Sequence[str], new: Sequence[str]) -> tuple[Ints, Ints]:
    """The numbers that names which two lists share have in each, in the order of the second.

    >>> shared_numbers(["a", "b", "c"], ["c", "d", "a"])
    (array([2, 0]), array([0, 2]))
    """
    known = {name: k for k, name in enumerate(old)}
    shared = [(known[name], k) for k, name in enumerate(new) if name in known]
    source, target = np.array(shared, np.int64).reshape(-1, 2).T
    return source, target


def chain_offsets(given: Input) -> Ints:
    """Where the sequences of the input begin. [C + 1]"""
    return given.sentences if isinstance(given, Corpus) else offsets_of(lengths_of(given))
