"""Files labelled in blocks, against the same files labelled as a whole."""

from __future__ import annotations

import pytest

from skipchain import CRF, HMM, MEMM, RBMCRF, Factored, MoPMEMM, SkipchainError, Tagger
from skipchain import tagged_file as module
from skipchain.datasets.harbour import harbour
from skipchain.io.scanning import blocks
from skipchain.lookup import column_file
from skipchain.recipes import recipe

FEATURES = "word[-1..1]\nshape\nsuffix(3)"
WORDS = [sentence.words for sentence in harbour()[:180]]
LABELS = [sentence.labels for sentence in harbour()[:180]]


@pytest.fixture(scope="module")
def models():
    corpus = harbour()
    annotated = recipe("ner-knowledge", features="word\nitems(lexicon)\noccurrence")
    return {
        "chain": Tagger(CRF(FEATURES, epochs=1).fit(corpus), threads=2),
        "second order": Tagger(CRF(FEATURES, order=2, epochs=1).fit(corpus), threads=2),
        "documents": Tagger(CRF(annotated, epochs=1).fit(corpus), threads=2),
        "history": Tagger(MEMM("word\nhistory(lower)", epochs=1).fit(corpus), threads=2),
        "linked": Tagger(MoPMEMM(FEATURES).fit(corpus), threads=2),
        "hidden": Tagger(HMM("word").fit(corpus), threads=2),
        "units": Tagger(RBMCRF("word", groups="2:0..1", epochs=1).fit(corpus), threads=2),
        "factors": Tagger(Factored(CRF("word", epochs=1)).fit(corpus), threads=2),
    }


@pytest.fixture
def _tiny(monkeypatch):
    monkeypatch.setattr(column_file, "SMALL", 0)
    monkeypatch.setattr(blocks, "CHUNK", 997)
    monkeypatch.setattr(blocks, "WINDOW", 200)
    monkeypatch.setattr(module, "HEAD", 4000)
    monkeypatch.setattr(module, "BLOCK", 500)
    monkeypatch.setattr(module, "LARGEST_BLOCK", 700)


def lines(separator=" ", labels=True, documents="-DOCSTART-{}\n\n", times=1, first=""):
    """A column file of the sentences, every ninth of which begins a document."""
    text = first
    for number, (words, own) in enumerate(zip(WORDS * times, LABELS * times, strict=True)):
        if number % 9 == 0:
            text += documents.format(" O" * labels)
        for word, label in zip(words, own, strict=True):
            text += f"{word}{separator}{label}\n" if labels else f"{word}\n"
        text += "\n"
    return text


def conllu(documents=True):
    text = ""
    for number, words in enumerate(WORDS):
        text += "# newdoc id = d\n" * (documents and number % 9 == 0) + "# sent_id = 1\n"
        for k, word in enumerate(words, 1):
            cells = [str(k), word, "_", "X", "X", "_", "_", "_", "_", "_"]
            text += "\t".join(cells) + "\n"
        text += "\n"
    return text


def jsonl(**document):
    import json

    return "".join(
        json.dumps({"tokens": words, **{key: of(k) for key, of in document.items()}}) + "\n"
        for k, words in enumerate(WORDS)
    )


def texts():
    import json

    return "".join(json.dumps({"text": " ".join(words)}) + "\n" for words in WORDS)


FILES = {
    "conll": ("conll", lines()),
    "no documents": ("conll", lines(documents="")),
    "words": ("conll", lines(labels=False, documents="")),
    "words in documents": ("conll", lines(labels=False)),
    "words with other marks": ("conll", lines(labels=False, documents="-DOCSTART- -X-\n\n")),
    "named": ("conll", lines(documents="# newdoc id = a\n# more\n")),
    "comments": ("conll", lines(documents="# note\n\n\n")),
    "spaces": ("conll", lines(separator="  ")),
    "carriage returns": ("conll", lines().replace("\n", "\r\n")),
    "tabs": ("tsv", lines(separator="\t")),
    "header": ("tsv", lines(separator="\t", first="token\tner\n", documents="")),
    "end": ("conll", lines() + "\n\n# end\n\n-DOCSTART- O\n"),
    "no end": ("conll", lines(documents="").rstrip("\n")),
    "half untidy": ("conll", lines() + lines(separator="  ") + "# newdoc id = 1\n" + lines()),
    "tokens like comments": ("conll", lines(documents="# newdoc\n-DOCSTART- O\n\n")),
    "conllu": ("conllu", conllu()),
    "conllu without documents": ("conllu", conllu(documents=False)),
    "jsonl": ("jsonl", jsonl()),
    "jsonl documents": ("jsonl", jsonl(document=lambda k: k // 9)),
    "jsonl names": ("jsonl", jsonl(document=lambda k: f"d{k // 9}")),
    "jsonl texts": ("jsonl", texts()),
    "text": ("text", "\n".join(" ".join(words) for words in WORDS)),
    "paragraphs": ("text", "\n\n".join(" ".join(words) for words in WORDS)),
    "one line": ("text", " ".join(" ".join(words) for words in WORDS)),
    "opennlp": ("opennlp", "\n".join(" ".join(words) for words in WORDS)),
    "opennlp documents": ("opennlp", "\n\n".join(" ".join(words) for words in WORDS)),
    "inline": ("inline", "\n".join(" ".join(words) for words in WORDS)),
    "csv": ("csv", "word,label\n" + "Ada,O\nslept,O\n" * 999),
    "sentences numbered": (
        "tsv",
        "sentence\tword\tlabel\n"
        + "".join(f"{k}\t{w}\tO\n" for k, words in enumerate(WORDS) for w in words),
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", ["chain", "second order", "documents", "history", "linked"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::skipchain.errors.SkipchainWarning")
@pytest.mark.usefixtures("_tiny")
def test_blocks_give_the_bytes_of_the_whole(models, name, model, tmp_path, monkeypatch):
    if (name, model) == ("jsonl texts", "documents"):
        pytest.skip("the case of words is looked up in what else is read with them")
    format, text = FILES[name]
    source = tmp_path / "in"
    source.write_text(text, newline="")
    tagger = models[model]
    read = tagger.tag_file(source, tmp_path / "found", format=format)
    monkeypatch.setattr(module, "HEAD", 1 << 30)
    whole = tagger.tag_file(source, tmp_path / "wanted", format=format)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "wanted").read_bytes()
    assert read == whole


ASKED = {
    "tsv": {"to": "tsv"},
    "csv": {"to": "csv"},
    "jsonl": {"to": "jsonl"},
    "conllu": {"to": "conllu"},
    "inline": {"to": "inline"},
    "opennlp": {"to": "opennlp"},
    "columns of three": {"nbest": 3, "marginals": True},
    "table of three": {"to": "csv", "nbest": 3, "marginals": True},
    "records of three": {"to": "jsonl", "nbest": 3, "marginals": True},
    "posterior": {"decoder": "posterior"},
    "other scheme": {"to": "jsonl", "scheme": "bioes"},
}


@pytest.mark.parametrize("model", ["hidden", "units", "factors"])
@pytest.mark.parametrize(
    "name", ["conll", "no documents", "named", "conllu", "jsonl names", "text"]
)
@pytest.mark.filterwarnings("ignore::skipchain.errors.SkipchainWarning")
@pytest.mark.usefixtures("_tiny")
def test_models_that_draw_samples_and_states_do_so_in_blocks_too(
    models, name, model, tmp_path, monkeypatch
):
    test_blocks_give_the_bytes_of_the_whole(models, name, model, tmp_path, monkeypatch)
    format, text = FILES[name]
    (tmp_path / "again").write_text(text)
    seen = []
    monkeypatch.setattr(module, "HEAD", 4000)
    models[model].tag_file(tmp_path / "again", tmp_path / "more", format=format, watch=seen.append)
    marked = model != "factors" or name in ("conll", "named", "jsonl names")
    assert (len(seen) > 5) == marked


@pytest.mark.parametrize(
    ("model", "asked"), [*(("chain", asked) for asked in ASKED), ("documents", "jsonl")]
)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::skipchain.errors.SkipchainWarning")
@pytest.mark.usefixtures("_tiny")
def test_other_formats_in_blocks_are_those_of_the_whole(
    models, name, asked, model, tmp_path, monkeypatch
):
    if (name, model) == ("jsonl texts", "documents"):
        pytest.skip("the case of words is looked up in what else is read with them")
    format, text = FILES[name]
    source = tmp_path / "in"
    source.write_text(text, newline="")

    def tagged(target):
        try:
            read = models[model].tag_file(source, target, format=format, **ASKED[asked])
        except SkipchainError as error:
            return str(error)
        return read, target.read_bytes()

    found = tagged(tmp_path / "found")
    monkeypatch.setattr(module, "HEAD", 1 << 30)
    assert found == tagged(tmp_path / "wanted")
