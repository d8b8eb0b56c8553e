"""Recipes: features and the knowledge that they need, put together for a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skipchain import pretrained as boxed
from skipchain.annotators.document import DocumentContext
from skipchain.annotators.lexicon import Lexicon
from skipchain.annotators.phrase_lists import read_lexicon
from skipchain.annotators.truecase import Truecase
from skipchain.annotators.words import ClusterColumn, VectorColumn
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

RECIPES = {
    "ner-knowledge": "names: local features, lexicons, clusters, and what the document says",
    "ner-full": "the same, and what a first model says of a word through its document",
}


def recipe(
    name: str = "ner-full",
    *,
    lexicons: Lexicon | str | Path | Sequence[str | Path] | None = None,
    clusters: Clusters | str | Path | None = None,
    vectors: Vectors | str | Path | None = None,
    features: str | Path | None = None,
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
        Other templates than those of the set ``ner-full``; they may read all columns of the
        sources.
    first, folds
        The estimator of the first model (a CRF with the same features, unless told), and the parts
        in which it is cross-fitted; or a model that has learnt already, from other data.
    settings
        Of the first model.

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
        raise ParameterError(f"there is no recipe {name!r}; there are {', '.join(RECIPES)}")
    if settings and (name != "ner-full" or first is not None):
        raise ParameterError(
            f"{next(iter(settings))} is a setting of the first model that ner-full makes, and "
            + (f"{name} makes none" if first is None else "that model is given")
        )
    annotators: list[Annotator] = []
    if lexicons is None:
        annotators.append(builtin_lexicon())
    elif isinstance(lexicons, (Lexicon, str, Path)) or lexicons:
        annotators.append(lexicons if isinstance(lexicons, Lexicon) else read_lexicon(lexicons))
    truecase = Truecase.of({})
    if clusters is not None:
        found = clusters if isinstance(clusters, Clusters) else Clusters.read(clusters)
        annotators.append(ClusterColumn(found))
        counts = zip(found.words.tolist(), found.counts.tolist(), strict=True)
        truecase = Truecase.of(dict(counts))
    text = Templates.of(features or "ner-full")
    if vectors is not None:
        found_vectors = vectors if isinstance(vectors, Vectors) else Vectors.read(vectors)
        annotators.append(VectorColumn(found_vectors))
        text = Templates.parse(f"{text.text}\nvector(embedding)")
    annotators.append(DocumentContext(truecase=truecase))
    if name == "ner-full":
        annotators.append(
            StackedPredictions(first or make_estimator("crf", text, **settings), folds)
        )
    return replace(text, annotators=tuple(annotators))


def builtin_lexicon() -> Lexicon:
    """The names and places that come with skipchain, inside its English model.

    Their origin and licences stand in the model's card.

    >>> builtin_lexicon().names
    ('country', 'state', 'city', 'first', 'last')
    """
    templates = load_model(boxed.path()).features.templates
    return next(source for source in templates.annotators if isinstance(source, Lexicon))
