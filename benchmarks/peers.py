"""Peers beside python-crfsuite: tokens a second from a column file to a tagged one."""

from __future__ import annotations

import random
import time

from benchmarks import peer
from benchmarks.features import sentence_features
from benchmarks.setting import seconds
from skipchain import read
from skipchain.corpus.schemes import decode

SPACY_SENTENCES, SPACY_BATCH, SPACY_EPOCHS = 2000, 64, 2
UNDERTHESEA_ITERATIONS = 10


def measure_crfs(train, test, model, setting):
    """``crfs`` reads CRFsuite's models and tags by them in Rust."""
    import crfs

    tagger = crfs.Model.open(str(model))

    def label(words, tags):
        features = sentence_features(words, tags)
        return tagger.tag([[crfs.Attribute(name) for name in own] for own in features])

    return _speed(label, test, setting)


def measure_underthesea_core(train, test, model, setting):
    """A CRF in Rust, trained on the same features for a moment."""
    from underthesea_core import CRFTagger, CRFTrainer

    trainer = CRFTrainer(max_iterations=UNDERTHESEA_ITERATIONS, verbose=0)
    columns = [peer.columns(sentence) for sentence in peer.read(train)]
    features = [sentence_features(words, tags) for words, tags, _ in columns]
    tagger = CRFTagger.from_model(trainer.train(features, [list(own[2]) for own in columns]))
    return _speed(lambda words, tags: tagger.tag(sentence_features(words, tags)), test, setting)


def measure_spacy(train, test, model, setting):
    """spaCy's ``ner`` alone in a blank English pipeline, words given as they are in the file."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    corpus = read(train)[:SPACY_SENTENCES]
    examples = []
    for sentence in corpus:
        spans = decode(sentence.labels, sentence.sentences, corpus.scheme)
        tags = ["O"] * sentence.n_tokens
        for start, stop, name in spans:
            tags[start:stop] = [f"B-{name}", *[f"I-{name}"] * (stop - start - 1)]
        reference = Doc(nlp.vocab, words=list(sentence.words), ents=tags)
        examples.append(Example(Doc(nlp.vocab, words=list(sentence.words)), reference))
    optimiser = nlp.initialize(lambda: examples)
    for _ in range(SPACY_EPOCHS):
        random.Random(0).shuffle(examples)
        for begin in range(0, len(examples), SPACY_BATCH):
            nlp.update(examples[begin : begin + SPACY_BATCH], sgd=optimiser)

    def tag():
        docs = (Doc(nlp.vocab, words=[cells[0] for cells in own]) for own in peer.read(test))
        with open(setting.folder / "spacy.out", "w", encoding="utf-8") as out:
            for doc in nlp.pipe(docs):
                out.writelines(f"{t.text} {t.ent_iob_}-{t.ent_type_}\n" for t in doc)
                out.write("\n")

    tag()
    return _tokens(test) / seconds(tag, 3)


def _speed(label, test, setting):
    """Tokens a second of a function from words and tags to labels."""
    began = time.perf_counter()
    with open(setting.folder / "peer.out", "w", encoding="utf-8") as out:
        for sentence in peer.read(test):
            words, tags, _ = peer.columns(sentence)
            for cells, own in zip(sentence, label(words, tags), strict=True):
                out.write(" ".join((*cells[:-1], own)) + "\n")
            out.write("\n")
    return _tokens(test) / (time.perf_counter() - began)


def _tokens(file):
    return sum(map(len, peer.read(file)))


MEASURES = {
    "spacy": measure_spacy,
    "crfs": measure_crfs,
    "underthesea_core": measure_underthesea_core,
}
