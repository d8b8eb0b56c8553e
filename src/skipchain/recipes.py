"""Recipes: features and the knowledge that they need, put together for a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skipchain import pretrained
from skipchain.annotators.document import DocumentContext
from skipchain.annotators.lexicon import Lexicon
from skipchain.annotators.phrase_lists import read_lexicon
from skipchain.annotators.truecase import Truecase
from skipchain.annotators.words import ClusterColumn, VectorColumn
from skipchain.checks import nearest
from skipchain.errors import ParameterError
from skipchain.features.annotator import Annotator
from skipchain.features.templates import Templates
from skipchain.modelfile import load_model
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.model import AnyModel
from skipchain.models.registry import make_estimator
from skipchain.models.stacking import StackedPredictions
from skipchain.resources.clusters import Clusters
from skipchain.resources.vectors import Vectors

KNOWLEDGE, FULL = "ner-knowledge", "ner-full"
SYNTAX = ("pos", "chunk")
"""What the set ``ner-full`` reads of the data besides words, and plain text does not have."""
RECIPES = {
    KNOWLEDGE: "names: local features, lexicons, clusters, and what the document says",
    FULL: "all of ner-knowledge, and what a stacked model says of a word through its document",
}


def recipe(
    name: str = "ner-full",
    *,
    lexicons: Lexicon | str | Path | Sequence[str | Path] | None = None,
    clusters: Clusters | str | Path | None = None,
    vectors: Vectors | str | Path | None = None,
    features: str | Path | Templates | None = None,
    first: BaseEstimator | AnyModel | None = None,
    folds: int = 5,
    **settings: Any,
) -> Templates:
    """The features of a recipe, for any estimator: ``CRF(recipe("ner-full", lexicons="lists"))``.

    Parameters
    ----------
    name
        ``ner-knowledge`` or ``ner-full``.
    lexicons
        Files of phrases (see `read_lexicon`), folders of them, or a lexicon. None: the names and
        places that come with skipchain; an empty list: no lexicon.
    clusters, vectors
        A file of word clusters (see `Clusters`) and one of word vectors.
    features
        Templates, which may read all columns of the annotators; by default those of the set
        ``ner-full`` without parts of speech and chunks, so that the model can tag plain text.
        ``ner-full`` itself reads these too, where the data have them.
    first, folds
        The estimator of the stacked model (by default a CRF with the same features), and the number
        of folds by which it is cross-fitted; or a model that is fitted already, to other data.
    settings
        Settings of the stacked model.

    Examples
    --------
    >>> from skipchain import CRF
    >>> from skipchain.datasets.harbour import harbour
    >>> train, test = harbour().split(0.75)
    >>> found = CRF(recipe("ner-knowledge"), epochs=8).fit(train)
    >>> found.score(test) > 0.6
    True
    """
    if name not in RECIPES:
        raise ParameterError(f"there is no recipe {name!r}; {nearest(name, RECIPES)}")
    if settings and (name != FULL or first is not None):
        raise ParameterError(
            f"{next(iter(settings))} is a setting of the base model that ner-full stacks, and "
            + (f"{name} makes none" if first is None else "that model is given")
        )
    annotators: list[Annotator] = []
    if lexicons is None:
        annotators.append(builtin_lexicon())
    elif isinstance(lexicons, (Lexicon, str, Path)) or lexicons:
        annotators.append(lexicons if isinstance(lexicons, Lexicon) else read_lexicon(lexicons))
    counts: Mapping[str, int] = {}
    if clusters is not None:
        known = clusters if isinstance(clusters, Clusters) else Clusters.read(clusters)
        annotators.append(ClusterColumn(known))
        counts = dict(zip(known.words.tolist(), known.counts.tolist(), strict=True))
    text = words_only() if features is None else Templates.of(features)
    if vectors is not None:
        found = vectors if isinstance(vectors, Vectors) else Vectors.read(vectors)
        annotators.append(VectorColumn(found))
        text = Templates.parse(f"{text.text}\nvector(embedding)")
    annotators.append(DocumentContext(truecase=Truecase.of(counts)))
    if name == FULL:
        first = first or make_estimator("crf", text, **settings)
        annotators.append(StackedPredictions(first, folds))
    return replace(text, annotators=tuple(annotators))


def words_only() -> Templates:
    """The set ``ner-full`` as recipes have it where nothing is said: of the data it reads words.

    >>> sorted(words_only().reads(["word", "pos", "chunk", "label"]))
    ['word']
    """
    return Templates.of("ner-full").without(*SYNTAX)


def builtin_lexicon() -> Lexicon:
    """The names and places that come with skipchain, inside its English model.

    Their origin and licences stand in the model's card.

    >>> builtin_lexicon().names
    ('country', 'state', 'city', 'first', 'last')
    """
    templates = load_model(pretrained.path()).features.templates
    return next(annotator for annotator in templates.annotators if isinstance(annotator, Lexicon))
