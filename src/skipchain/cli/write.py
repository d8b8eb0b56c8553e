"""Predictions written in the formats of ``skipchain tag``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from skipchain.corpus import Column
from skipchain.io.files import write_text
from skipchain.io.jsonl import links_from

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.tagged import Prediction


def write_tagged(prediction: Prediction, output: str, format: str, *, overwrite: bool) -> None:
    """Write a prediction with whatever was asked of it."""
    corpus = prediction.corpus
    if format == "jsonl":
        write_text(output, _jsonl(prediction), overwrite=overwrite)
    elif format == "html":
        confidences = None if prediction.confidences is None else prediction.confidences.tolist()
        corpus.write(output, "html", confidences=confidences, overwrite=overwrite)
    elif format in ("conll", "tsv", "csv"):
        _columns(prediction).write(output, format, overwrite=overwrite)
    elif format == "inline":
        lines = corpus.n_documents > 1  # several documents in one file: one a line
        corpus.write(output, "inline", lines=lines, overwrite=overwrite)
    else:
        corpus.write(output, format, overwrite=overwrite)


def _columns(prediction: Prediction) -> Corpus:
    """The corpus with a column for each thing asked for beside the label.

    The probabilities of n-best labellings go into a comment before each sentence.
    """
    corpus = prediction.corpus
    if prediction.marginals is not None:
        codes = prediction.codes
        probabilities = prediction.marginals[range(corpus.n_tokens), codes] * (codes >= 0)
        corpus = corpus.with_column(
            "probability", Column.encode([f"{p:.4f}" for p in probabilities])
        )
    if prediction.nbest is not None:
        deepest = max((len(ranked) for ranked in prediction.nbest), default=0)
        for rank in range(1, deepest):
            labels = prediction.nbest_labels(rank)
            corpus = corpus.with_column(f"label_{rank + 1}", labels)
        notes = dict(corpus.notes)
        for first, ranked in zip(corpus.sentences.tolist(), prediction.nbest, strict=False):
            shown = " ".join(f"{p:.6f}" for p in ranked.probabilities)
            notes[first] = (*notes.get(first, ()), f"# probabilities of labellings: {shown}")
        corpus = replace(corpus, notes=notes)
    return corpus


def _jsonl(prediction: Prediction) -> str:
    """One object a sentence: tokens, labels, spans, and what else was asked for."""
    corpus = prediction.corpus
    words, labels = corpus.words.tolist(), corpus.labels.tolist()
    spans = _spans_by_sentence(prediction)
    documents = _document_of_sentence(corpus)
    bases = _document_starts(corpus)
    alternatives = []
    if prediction.nbest is not None:
        deepest = max((len(ranked) for ranked in prediction.nbest), default=0)
        alternatives = [prediction.nbest_labels(rank).tolist() for rank in range(deepest)]
    lines = []
    for number, (first, last) in enumerate(pairwise(corpus.sentences.tolist())):
        record: dict[str, Any] = {"tokens": words[first:last], "labels": labels[first:last]}
        if prediction.spans is not None:
            record["spans"] = spans[number]
        if corpus.starts is not None and corpus.ends is not None:
            record["starts"] = corpus.starts[first:last].tolist()
            record["ends"] = corpus.ends[first:last].tolist()
        if prediction.marginals is not None:
            record["marginals"] = [
                {label: round(p, 6) for label, p in zip(prediction.labels, row, strict=True)}
                for row in prediction.marginals[first:last].tolist()
            ]
        if prediction.nbest is not None:
            record["nbest"] = [
                {"probability": round(float(p), 6), "labels": alternatives[rank][first:last]}
                for rank, p in enumerate(prediction.nbest[number].probabilities)
            ]
        record |= links_from(corpus, number, number + 1, bases[number])
        if documents is not None:
            record["document"] = documents[number]
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def _spans_by_sentence(prediction: Prediction) -> list[list[dict[str, Any]]]:
    corpus = prediction.corpus
    grouped: list[list[dict[str, Any]]] = [[] for _ in range(len(corpus))]
    if prediction.spans is None:
        return grouped
    sentence = (corpus.sentences[1:].searchsorted(prediction.spans.starts, side="right")).tolist()
    for k, ((start, stop, label), number) in enumerate(
        zip(prediction.spans, sentence, strict=True)
    ):
        first = int(corpus.sentences[number])
        entry: dict[str, Any] = {"start": start - first, "end": stop - first, "label": label}
        if prediction.confidences is not None:
            entry["confidence"] = round(float(prediction.confidences[k]), 6)
        grouped[number].append(entry)
    return grouped


def _document_starts(corpus: Corpus) -> list[int]:
    """For each sentence the first token of its document, from which links count."""
    starts = corpus.sentences[corpus.documents[:-1]].tolist()
    sizes = (corpus.documents[1:] - corpus.documents[:-1]).tolist()
    return [start for start, size in zip(starts, sizes, strict=True) for _ in range(size)]


def _document_of_sentence(corpus: Corpus) -> list[str | int] | None:
    if corpus.n_documents < 2 and corpus.names is None:
        return None
    names: Sequence[str | int] = corpus.names or range(corpus.n_documents)
    sizes = (corpus.documents[1:] - corpus.documents[:-1]).tolist()
    return [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
