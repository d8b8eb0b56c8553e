"""A tagger: a model from a file, put to work on text or on a corpus."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from skipchain import pretrained
from skipchain.arrays import Ints, Labels
from skipchain.batches import BATCH, Batch, batches, check_stream, named_error
from skipchain.checks import check_integer
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import ParameterError, SkipchainError, SkipchainWarning
from skipchain.features.views import UserView
from skipchain.io.charsets import UTF8, check_charset
from skipchain.io.columns.reading import Reading
from skipchain.io.files import display_path
from skipchain.io.formats import check_readable, format_of_path, is_folder, read
from skipchain.io.text import parse_plain, parse_texts
from skipchain.kernels.kernel import sparingly
from skipchain.modelfile import load_model, save
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import Input, as_input, count_tokens
from skipchain.models.base.model import BEAM, MAX_NBEST, AnyModel, Explained, Model
from skipchain.parallel import Workers
from skipchain.tagged import Fields, Prediction, Question, TaggedText, tagged_texts

FEW_WORDS = 3  # texts of one word each, from which on they may be the words of one text

if TYPE_CHECKING:
    from skipchain.lookup.column_file import LineTagger
    from skipchain.tagged_file import BlockLabeller, Watcher


def load(
    path: str | Path | None = None,
    *,
    functions: Mapping[str, UserView] | None = None,
    threads: int | None = None,
) -> Tagger:
    """A tagger from a model file; without one, the English model that comes with the package.

    ``functions`` are views of the author's own, where the model was trained with any; ``threads``
    None uses all cores.

    >>> found = load().tag("Angela Merkel was born in Hamburg.")
    >>> [(entity.text, entity.label) for entity in found.entities]
    [('Angela Merkel', 'PER'), ('Hamburg', 'LOC')]
    """
    source = pretrained.path() if path is None else path
    return Tagger(load_model(source, functions), threads)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Tagger:
    """Tags text and corpora with one model, which may be given as the estimator that learnt it.

    >>> from skipchain import CRF, Corpus
    >>> words = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["Then", "all", "ran", "."]]
    >>> labels = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]]
    >>> corpus = Corpus.of(words * 9, labels * 9, scheme="iob2")
    >>> tagger = Tagger(CRF("word").fit(corpus))
    >>> [(entity.text, entity.label) for entity in tagger.tag("Ada slept.").entities]
    [('Ada', 'PER')]
    """

    model: AnyModel
    threads: int | None = None

    def __init__(self, model: AnyModel | BaseEstimator, threads: int | None = None) -> None:
        found = model.fitted if isinstance(model, BaseEstimator) else model
        if not isinstance(found, Model):
            kind, advice = type(model).__name__, "load(path) reads one from a file"
            if hasattr(model, "best_estimator_"):
                advice = "of a search it is best_estimator_"
            raise ParameterError(f"a tagger needs a fitted model, got {kind}; {advice}")
        if threads is not None:
            check_integer("threads", threads)
        object.__setattr__(self, "model", found)
        object.__setattr__(self, "threads", threads)

    def __repr__(self) -> str:
        threads = "" if self.threads is None else f", threads={self.threads}"
        return f"Tagger({self.model.in_short}{threads})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    @overload
    def tag(self, text: str, *, decoder: str | None = None, beam: int = BEAM) -> TaggedText: ...

    @overload
    def tag(
        self, text: list[str] | tuple[str, ...], *, decoder: str | None = None, beam: int = BEAM
    ) -> list[TaggedText]: ...

    def tag(self, text: Any, *, decoder: str | None = None, beam: int = BEAM) -> Any:
        """Tokenise and tag running text, or a list of texts; an empty text has no tokens.

        Each string of a list is a text of its own; words that belong together are for `predict`,
        and a warning says so where all look like words.
        """
        if isinstance(text, (list, tuple)):
            for number, one in enumerate(text):
                _check_text(one, f"text {number}: ")
            found = list(self.pipe(text, decoder=decoder, beam=beam))
            _warn_of_words(text, found)
            return found
        _check_text(text)
        return self._tag_texts([text], decoder, beam)[0]

    @overload
    def parse(self, text: str, *, decoder: str | None = None, beam: int = BEAM) -> Fields: ...

    @overload
    def parse(
        self, text: list[str] | tuple[str, ...], *, decoder: str | None = None, beam: int = BEAM
    ) -> list[Fields]: ...

    def parse(self, text: Any, *, decoder: str | None = None, beam: int = BEAM) -> Any:
        """The fields of a text by their labels, as of an address; or of each of a list of texts.

        As in `tag`, each string of a list is a text of its own, not a word. A field that comes
        again is a list, in the order of the text; what is in no field is left out. Fields are the
        spans that `tag` finds, so the model's labels must mark spans.

        >>> load().parse("Angela Merkel met Tomas Brandt in Oslo.")
        {'PER': ['Angela Merkel', 'Tomas Brandt'], 'LOC': 'Oslo'}
        """
        if self.model.encoding is None:
            raise SkipchainError(
                "the model's labels mark no spans, so there are no fields; tag tells the label of "
                "each token (for labels without prefixes, train it with scheme='bare')"
            )
        found = self.tag(text, decoder=decoder, beam=beam)
        return [own.fields for own in found] if isinstance(found, list) else found.fields

    def pipe(
        self,
        items: Iterable[str | Corpus],
        *,
        batch: int = BATCH,
        decoder: str | None = None,
        beam: int = BEAM,
    ) -> Iterator[TaggedText | Prediction]:
        """Tag texts or corpora, as many as there may be, in order and as they are asked for.

        A text comes back as `tag` gives it, a corpus as `predict` does. Texts are labelled by
        batches of at most ``batch``, fewer where they are long, on all threads. Of ``items`` no
        more is read ahead than a batch for each thread and one more. Closing the generator ends
        the work. Where one of them fails, those before it come first, and the error names it.

        >>> texts = (f"Angela Merkel met {name} in Oslo." for name in ("Ada", "Tomas Brandt"))
        >>> for found in load().pipe(texts):
        ...     print([entity.text for entity in found.entities])
        ['Angela Merkel', 'Ada', 'Oslo']
        ['Angela Merkel', 'Tomas Brandt', 'Oslo']
        """
        check_stream(items)
        check_integer("batch", batch)
        self.model.check_decoder(decoder, beam)
        return self._pipe(batches(items, batch), decoder, beam)

    def _pipe(
        self, parts: Iterator[Batch], decoder: str | None, beam: int
    ) -> Iterator[TaggedText | Prediction]:
        """What is found in all batches, one item after the other."""
        alone = Tagger(self.model, 1)  # in each of the threads
        together = Tagger(self.model.apart, 1) if self.model.apart is not None else None

        def run(part: Batch) -> tuple[list[TaggedText | Prediction], Exception | None]:
            return alone._tag_batch(part, together, decoder, beam)

        with Workers(self.threads) as workers:
            for found, error in workers.stream(run, parts):
                yield from found
                if error is not None:
                    raise error

    def _tag_batch(
        self, part: Batch, together: Tagger | None, decoder: str | None, beam: int
    ) -> tuple[list[TaggedText | Prediction], Exception | None]:
        """What is found in a batch, up to an item that fails, and its error.

        Texts are labelled ``together`` by a tagger that keeps documents apart, if there is one.
        """
        if part.texts and together is not None:
            with suppress(Exception):  # of which text it is shows when each is tagged by itself
                return [*together._tag_texts(part.texts, decoder, beam)], None
        found: list[TaggedText | Prediction] = []
        for number, item in enumerate(part.items, part.first):
            try:
                if isinstance(item, str):
                    found += self._tag_texts([item], decoder, beam)
                else:
                    found.append(self.predict(item, decoder=decoder, beam=beam))
            except Exception as error:
                return found, named_error(error, item, number)
        return found, None

    def _tag_texts(self, texts: list[str], decoder: str | None, beam: int) -> list[TaggedText]:
        """Texts labelled together, each as a document."""
        if not any(text.strip() for text in texts):
            return [TaggedText(text, (), (), ()) for text in texts]
        told = self.model.encoding is not None and self.model.has_span_probabilities
        corpus = parse_texts(texts)
        return tagged_texts(self.predict(corpus, decoder=decoder, beam=beam, confidences=told))

    def tag_file(
        self,
        source: str | Path,
        target: str | Path,
        *,
        to: str = "conll",
        decoder: str | None = None,
        beam: int = BEAM,
        marginals: bool = False,
        nbest: int = 0,
        scheme: str | None = None,
        format: str | None = None,
        columns: Sequence[str] | None = None,
        label: str | None = None,
        charset: str | None = None,
        max_bytes: int | None = None,
        overwrite: bool = False,
        told: Callable[[Reading], None] | None = None,
        watch: Watcher | None = None,
        labeller: BlockLabeller | None = None,
    ) -> Reading:
        """Label a file and write it in the format ``to``; what was there is labelled anew.

        ``decoder``, ``beam``, ``nbest`` and ``scheme`` are those of `predict`; ``marginals`` adds
        the probabilities of labels, on a page (html) those of spans. ``format``, ``columns``,
        ``label`` and ``charset`` are those of `read`; what is written is in UTF-8.

        It is done in blocks of whole documents (sentences, where the model looks no further or the
        file marks none), each written when it is labelled: the memory that it takes does not grow
        with the file. ``max_bytes`` limits what must be held at once: a document, or all of a file
        that cannot be cut. Of models that draw samples each document is labelled as it would be by
        itself, as `tag` does with a text. ``told`` is told how the file is read before it is
        labelled, without the sizes where these are not known yet, and ``watch`` how much is done. A
        ``labeller``, such as `skipchain.cluster.ClusterLabeller`, labels blocks in the place of
        threads.

        Much text in columns is labelled as the bytes that it is, without a corpus being made, where
        the model is a chain whose labels depend on words, their neighbours and the label before.
        Scores are then added up in single precision, so of labels that are as good as equal the
        other may be chosen.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     source, target = Path(folder, "plain.conll"), Path(folder, "tagged.conll")
        ...     _ = source.write_text("Ada O\\nsaw O\\nBerlin O\\n")
        ...     print(load().tag_file(source, target))
        ...     print(target.read_text().strip())
        1 document, 1 sentence, 3 tokens; conll in utf-8; columns word, label
        Ada B-PER
        saw O
        Berlin B-LOC
        """
        from skipchain.tagged_file import TextFileTagger, answered
        from skipchain.tagged_output import check_format, write_tagged

        check_format(to, marginals=marginals, nbest=nbest)
        self.model.check_decoder(decoder, beam)
        self.model.output_in(scheme)
        found = UTF8 if charset is None else check_charset(charset)
        format = format or format_of_path(source)
        check_readable(format, display_path(source))
        question = Question(to, decoder, beam, marginals, nbest, scheme)
        given: dict[str, Any] = {"columns": columns, "label": label}
        options = {name: value for name, value in given.items() if value is not None}
        if format is not None and is_folder(format):
            how: dict[str, Any] = {"charset": charset, "max_bytes": max_bytes, "scheme": NO_SCHEME}
            corpus = read(source, format, **how, **options)
            reading = Reading.of(corpus, format, found)
            if told is not None:
                told(reading)
            write_tagged(answered(self, corpus, question), target, to, overwrite=overwrite)
            return reading
        tagger = self.by_documents
        files = tagger, Tagger(tagger.model, 1), source, target, question
        how_read = (format, options, charset, max_bytes)
        return TextFileTagger(*files, *how_read, overwrite, watch, told, labeller).run()

    @property
    def by_documents(self) -> Tagger:
        """The tagger of the model that labels each document as it does one alone, if it can."""
        model = self.model
        if model.labels_documents_apart or model.apart is None:
            return self
        return Tagger(model.apart, self.threads)

    def answer(
        self, corpus: Corpus, question: Question, forced: Sequence[str | None] | None = None
    ) -> Prediction:
        """The corpus with labels, and whatever else is asked."""
        how: dict[str, Any] = {"decoder": question.decoder, "beam": question.beam}
        return self.predict(corpus, **how, forced=forced, **question.extras(self.model))

    def tag_lines(
        self, data: bytes, path: str | Path, format: str | None, columns: Sequence[str] | None
    ) -> tuple[list[bytes], Reading] | None:
        """The lines of a column file with labels, where model and file are simple enough."""
        if self.model.frozen is None:
            return None
        from skipchain.lookup.column_file import tag_lines

        chain = self.model.frozen
        return tag_lines(chain, self._named, data, path, format, columns, self.threads)

    def line_tagger(
        self, head: bytes, path: str | Path, format: str | None, columns: Sequence[str] | None
    ) -> LineTagger | None:
        """What labels a column file that begins so as bytes, where that can be done."""
        if self.model.frozen is None:
            return None
        from skipchain.lookup.column_file import LineTagger

        return LineTagger.of(self.model.frozen, self._named, head, path, format, columns)

    def with_lines(self, lines: LineTagger) -> LineTagger:
        """What labels column files as bytes, with the model of this tagger."""
        assert self.model.frozen is not None
        return replace(lines, chain=self.model.frozen, named=self._named)

    def _named(self, path: Labels, sentences: Ints) -> Column:
        """The labels of a path of numbers, in the scheme in which they are given."""
        return self.model.to_scheme(Column(path, self.model.labels), sentences)

    def predict(
        self,
        corpus: Corpus,
        *,
        decoder: str | None = None,
        beam: int = BEAM,
        forced: Sequence[str | None] | None = None,
        confidences: bool = False,
        probabilities: bool = False,
        nbest: int = 0,
        scheme: str | None = None,
    ) -> Prediction:
        """Label a corpus, and say whatever else is asked for.

        ``decoder`` is ``viterbi``, ``posterior``, ``greedy`` or ``beam``, the last with the width
        ``beam``; None is the model's own, most often ``viterbi``. ``forced`` gives some tokens'
        labels (None: free); ``confidences`` asks for the probability of each span,
        ``probabilities`` for that of each label at each token, ``nbest`` for so many labellings of
        each sentence (0: none). All labels are in the scheme of the data that the model has learnt
        from, or in ``scheme``.
        """
        model = self.model
        if not isinstance(corpus, Corpus):
            raise SkipchainError(
                "predict takes a Corpus, which Corpus.of makes of lists of words; label takes what "
                "the model was fitted on, words or features"
            )
        model.check_decoder(decoder, beam)
        check_integer("nbest", nbest, least=0, most=MAX_NBEST)
        output = model.output_in(scheme)
        with (
            sparingly(self._effort(corpus, decoder, beam, nbest)),
            Workers(self.threads) as workers,
        ):
            scores = model.scores(corpus, workers, forced)
            labels = model.decode(scores, workers, decoder, beam)
            written, spans = output.read(labels, corpus.sentences)
            tagged = corpus.with_labels(written, output.scheme)
            sure = None
            if confidences:
                if spans is None:
                    raise SkipchainError(
                        "the model's labels mark no spans, so there are none to weigh"
                    )
                sure = model.confidences(scores, spans, workers)
            return Prediction(
                tagged,
                output.names,
                spans,
                sure,
                model.output_marginals(scores, output, workers, labels) if probabilities else None,
                output.ranked(model.nbest(scores, nbest, workers), scores.offsets)
                if nbest
                else None,
                scores.unknown,
            )

    def label(
        self, sequences: Any, *, decoder: str | None = None, beam: int = BEAM
    ) -> list[list[str]]:
        """The labels of each sequence, for input of the kind that the model was fitted on."""
        data = as_input(sequences)
        with sparingly(self._effort(data, decoder, beam)), Workers(self.threads) as workers:
            return self.model.label(data, workers, decoder, beam)

    def explain(
        self,
        given: str | Input,
        token: int | str,
        *,
        labels: Sequence[str] | None = None,
        sentence: int | None = None,
    ) -> Explained:
        """What decides between two labels at one token of a text, a corpus or given features.

        ``token`` is a number, counted from 0 through the whole input, or a word that occurs once;
        with a ``sentence`` of a corpus (itself counted from 0) it counts within that sentence. What
        comes back tells the token in both ways, and ``print`` shows it as a table. Without
        ``labels`` the predicted one and the runner-up are compared. A model of linked labels tells
        which other tokens the label comes from, and one with factors what these add or take away,
        so both look at the whole input.

        >>> found = load().explain("Ada left. Angela Merkel flew.", "Merkel")
        >>> found
        <FactorExplanation of token 4, 'Merkel': E-PER, which factors have not changed>
        >>> print(found.sheet().parts[0][0])
        token 4 (token 1 of sentence 1),
        """
        from skipchain.models.chain.explain import token_index

        _check_question(token, labels, sentence)
        data = as_input(parse_plain(given) if isinstance(given, str) else given)
        looked_at = data
        if sentence is not None:
            chosen, before = _sentence(data, sentence)
            token = token_index(chosen, token, chosen.n_tokens) + before
            looked_at = chosen if self.model.explains_sentences else data
        with sparingly(self._effort(looked_at)):
            return self.model.explain(data, token, labels=labels, threads=self.threads)

    def _effort(
        self, given: Input, decoder: str | None = None, beam: int = 1, nbest: int = 0
    ) -> float:
        """What plain kernels would have to do, in tokens of a small chain."""
        searched = beam if decoder == "beam" else 1
        return count_tokens(given) * self.model.plain_cost * max(1, searched, nbest)

    def with_samples(self, samples: int) -> Tagger:
        """The tagger with so many sweeps of Gibbs sampling, for a model with factors."""
        return Tagger(self.model.with_samples(samples), self.threads)

    def with_moves(self, moves: str) -> Tagger:
        """The tagger whose Gibbs sampling draws a ``segment`` or a ``token`` at a time."""
        return Tagger(self.model.with_moves(moves), self.threads)

    def without_factors(self, decoder: str | None = None) -> Tagger | None:
        """The tagger of the chain model alone; None where ``decoder`` uses no factors anyway."""
        chain = self.model.without_factors()
        if chain is None or decoder in chain.decoders:
            return None
        return Tagger(chain, self.threads)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model file."""
        save(self.model, path, overwrite=overwrite)


def _check_text(text: Any, where: str = "") -> None:
    """Refuse what is no string, and say what takes it."""
    if isinstance(text, str):
        return
    advice = "predict takes a corpus, label takes features given directly"
    if isinstance(text, (list, tuple)):
        advice = "predict takes words, as Corpus.of(lists of words)"
    elif isinstance(text, Iterable) and not isinstance(text, (bytes, Corpus)):
        advice = "pipe takes what can be gone through"
    raise ParameterError(f"{where}tag takes a string, got {type(text).__name__}; {advice}")


def _warn_of_words(texts: Sequence[str], found: Sequence[Any]) -> None:
    """Warn of texts that look like the words of one."""
    if len(texts) >= FEW_WORDS and all(len(own.tokens) < 2 for own in found):
        listed = ", ".join(map(repr, texts[:FEW_WORDS]))
        told = f"each of the {len(texts):,} texts is one word ({listed} …), labelled by itself"
        advice = "words of one sentence go together: predict(Corpus.of([words])), or one string"
        warnings.warn(f"{told}; {advice}", SkipchainWarning, stacklevel=3)


def _check_question(token: Any, labels: Any, sentence: Any) -> None:
    """Refuse what names no token, no two labels or no sentence."""
    if not isinstance(token, str):
        check_integer("token", token, least=0)
    if sentence is not None:
        check_integer("sentence", sentence, least=0)
    if labels is not None and not (
        isinstance(labels, (list, tuple)) and all(isinstance(label, str) for label in labels)
    ):
        raise ParameterError(f"labels must be a list of two labels, got {labels!r}")


def _sentence(data: Any, number: int) -> tuple[Corpus, int]:
    """One sentence of a corpus, as a corpus, and the tokens before it."""
    if not isinstance(data, Corpus) or not 0 <= number < len(data):
        raise SkipchainError(f"there is no sentence {number}; there are {len(data)}, from 0 on")
    return data[number : number + 1], int(data.sentences[number])
