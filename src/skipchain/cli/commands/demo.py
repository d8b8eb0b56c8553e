"""``skipchain demo``: the whole journey on the corpus that comes with the package."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Overwrite, Threads

if TYPE_CHECKING:
    from rich.text import Text

    from skipchain.corpus import Corpus
    from skipchain.report.terminal import Terminal

COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
TITLE = "Stories tagged by skipchain"
SHOWN = 3  # documents shown in the terminal
BEFORE, AFTER = 3, 4  # words shown around a name
TEXT = (
    "Ferry strike ends. HALVERTON - Mayor Ingrid Aske met Tomas Brandt of Calder Marine Group "
    "in Ostley on Friday. Brandt said Calder would pay."
)


def demo(
    folder: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write model and page.")
    ] = "demo",
    overwrite: Overwrite = False,
    threads: Threads = None,
) -> None:
    """Train on part of a small built-in corpus, score the rest, and show what was found.

    Then the English model that comes with the package tags a story.
    """
    from skipchain import CRF
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.progress import training_display
    from skipchain.cli.waiting import is_terminal
    from skipchain.datasets.harbour import harbour
    from skipchain.io.files import begins_as_model, check_own_target, make_folder
    from skipchain.metrics import evaluate, render
    from skipchain.modelfile import save
    from skipchain.report.terminal import Terminal, styled
    from skipchain.tagger import Tagger

    console = Terminal()
    target = make_folder(folder)
    model, page = target / "harbour.skip", target / "harbour.html"
    check_own_target(model, begins_as_model, overwrite=overwrite)
    check_own_target(page, lambda start: TITLE.encode() in start, overwrite=overwrite)
    corpus = harbour()
    train, test = corpus.split(0.75)
    console.print(
        styled(
            ("1. Train", "bold"),
            f" a CRF on {train.n_documents} short news stories ({train.n_tokens:,} tokens); "
            f"{test.n_documents} more are held out.",
        )
    )
    began = time.perf_counter()
    crf = CRF("ner", threads=threads)
    with compile_notice(), training_display(crf) if is_terminal() else nullcontext() as display:
        crf.fit(train, progress=display)
    console.print(
        f"   {crf.model_.features.n_features:,} features, {crf.result_.iterations} epochs, "
        f"{time.perf_counter() - began:.1f} s, compiling included\n"
    )
    tagger = Tagger(crf.model_, threads)
    prediction = tagger.predict(test, confidences=True)
    console.print(styled(("2. Score", "bold"), " it on the stories it has not seen."))
    console.print(render(evaluate(test, prediction.corpus)))
    console.print(styled(("\n3. Look", "bold"), " at what it found.\n"))
    kinds = legend(console, prediction.spans.names)  # type: ignore[union-attr]
    for number in range(SHOWN):
        console.print(coloured(prediction.corpus.document(number), kinds))
        console.print()
    about = " a new text, with the confidence of each name.\n"
    console.print(styled(("4. Tag", "bold"), about))
    console.print(f"   {TEXT}", style="dim")
    for entity in tagger.tag(TEXT).entities:
        console.print(f"   {entity.label:5} {entity.confidence:4.0%}  {entity.text}")
    save(crf.model_, model, overwrite=True)
    prediction.corpus.write(
        page, "html", title=TITLE, confidences=prediction.confidences, overwrite=True
    )
    console.print(f"\nWritten: {model} (the model), {page} (open it in a browser)\n")
    tell_story(console, threads)
    console.print(styled(("\nTry next", "bold")))
    for command in (
        "skipchain tag --text 'Angela Merkel was born in Hamburg.'",
        f"skipchain tag {model} --text 'Mayor Aske flew to Oslo.'",
        f"skipchain explain {model} --text 'Mayor Aske flew to Oslo.' --token Oslo",
        f"skipchain inspect {model} --label S-LOC --top 5",
        "skipchain train YOURS.conll --dev HELD_OUT.conll -o yours.skip",
    ):
        console.print(f"   {command}", soft_wrap=True)


def tell_story(console: Terminal, threads: int | None) -> None:
    """Tag a story with the model in the box, and show what the document changed."""
    from skipchain.cli.compiling import compile_notice
    from skipchain.datasets.harbour import story
    from skipchain.io.text import parse_plain
    from skipchain.report.terminal import styled
    from skipchain.tagger import load

    about = " an English model comes with the package.\n"
    console.print(styled(("5. Open the box:", "bold"), about))
    tagger, corpus = load(threads=threads), parse_plain(story())
    with compile_notice():
        prediction = tagger.predict(corpus)
        alone = tagger.predict(corpus, decoder="viterbi").corpus
    kinds = legend(console, prediction.spans.names)  # type: ignore[union-attr]
    console.print(coloured(prediction.corpus, kinds))
    changes = changed(alone, prediction.corpus)
    console.print(
        "\nIn the end it makes names keep their type through a document. Without this step, "
        "these would be labelled otherwise:\n"
        if changes
        else "\nIn the end it makes names keep their type through a document; they did already."
    )
    for words, old, new in changes:
        console.print(f"   {old:>5} → {new:5} {words}")


def changed(alone: Corpus, together: Corpus) -> list[tuple[str, str, str]]:
    """Words whose type differs, in brackets among those around them; the one type, the other."""
    words = together.words.tolist()
    pairs = list(zip(types(alone), types(together), strict=True))
    bounds = together.sentences.tolist()
    changes = []
    for start, stop in pairwise(bounds):
        for (old, new), run in groupby(range(start, stop), key=lambda k: pairs[k]):
            if old != new:
                tokens = list(run)
                before = words[max(start, tokens[0] - BEFORE) : tokens[0]]
                after = words[tokens[-1] + 1 : min(stop, tokens[-1] + 1 + AFTER)]
                name = f"[{' '.join(words[k] for k in tokens)}]"
                changes.append((" ".join([*before, name, *after]), old, new))
    return changes


def types(corpus: Corpus) -> list[str]:
    """The type of the span that each token is in."""
    kinds = ["O"] * corpus.n_tokens
    for start, stop, kind in corpus.spans():
        kinds[start:stop] = [kind] * (stop - start)
    return kinds


def legend(console: Terminal, names: Sequence[str]) -> dict[str, str]:
    """Print the colours of span types, and give them."""
    from skipchain.report.terminal import styled

    kinds = {kind: COLOURS[k % len(COLOURS)] for k, kind in enumerate(names)}
    named = ((f" {kind} ", f"{colour} reverse") for kind, colour in kinds.items())
    console.print(styled("   ", *(part for pair in named for part in (pair, "  "))))
    console.print()
    return kinds


def coloured(corpus: Corpus, kinds: dict[str, str]) -> Text:
    """The words of a corpus with its spans in colour."""
    from rich.text import Text

    text = Text()
    words = corpus.words.tolist()
    style = [""] * len(words)
    joined = [False] * len(words)
    for start, stop, kind in corpus.spans():
        for k in range(start, stop):
            style[k] = f"bold {kinds[kind]}"
            joined[k] = k > start
    firsts = set(corpus.sentences.tolist())
    for k, word in enumerate(words):
        gap = "" if not k else "\n" if k in firsts else " "
        tight = word in ".,;:!?)" or word == "'s" or words[k - 1] == "("
        text.append("" if tight and k not in firsts else gap, style[k] if joined[k] else "")
        text.append(word, style[k])
    return text
