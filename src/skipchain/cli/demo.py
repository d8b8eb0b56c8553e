"""``skipchain demo``: the whole journey on the corpus that comes with the package."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Threads

if TYPE_CHECKING:
    from rich.text import Text

    from skipchain.corpus import Corpus

COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
SHOWN = 3  # documents shown in the terminal
TEXT = (
    "Ferry strike ends. HALVERTON - Mayor Ingrid Aske met Tomas Brandt of Calder Marine Group "
    "in Ostley on Friday. Brandt said Calder would pay."
)


def demo(
    folder: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write model and page.")
    ] = "demo",
    threads: Threads = None,
) -> None:
    """Train on part of a small built-in corpus, score the rest, and show what was found."""
    from rich.console import Console

    from skipchain.cli.compiling import compile_notice
    from skipchain.examples import harbour
    from skipchain.io.files import make_folder
    from skipchain.metrics import evaluate, render
    from skipchain.modelfile import save
    from skipchain.models.crf import CRF
    from skipchain.tagger import Tagger

    console = Console(file=sys.stdout, highlight=False)
    target = make_folder(folder)
    corpus = harbour()
    train, test = corpus.split(0.75)
    console.print(
        f"[bold]1. Train[/bold] a CRF on {train.n_documents} short news stories "
        f"({train.n_tokens:,} tokens); {test.n_documents} more are held out."
    )
    began = time.perf_counter()
    with compile_notice():
        crf = CRF("ner", threads=threads).fit(train)
    console.print(
        f"   {crf.model_.features.n_features:,} features, {crf.minimum_.iterations} epochs, "
        f"{time.perf_counter() - began:.1f} s, compiling included\n"
    )
    tagger = Tagger(crf.model_, threads)
    found = tagger.predict(test, confidences=True)
    console.print("[bold]2. Score[/bold] it on the stories it has not seen.")
    console.print(render(evaluate(test, found.corpus)))
    console.print("\n[bold]3. Look[/bold] at what it found.\n")
    kinds = {kind: COLOURS[k % len(COLOURS)] for k, kind in enumerate(found.spans.names)}  # type: ignore[union-attr]
    console.print(
        "   " + "  ".join(f"[{c} reverse] {kind} [/]" for kind, c in kinds.items()) + "\n"
    )
    for number in range(SHOWN):
        console.print(coloured(found.corpus.document(number), kinds))
        console.print()
    console.print("[bold]4. Tag[/bold] a new text, with the confidence of each name.\n")
    console.print(f"   {TEXT}", style="dim")
    for entity in tagger.tag(TEXT).entities:
        console.print(f"   {entity.label:5} {entity.confidence:4.0%}  {entity.text}")
    model, page = target / "harbour.skip", target / "harbour.html"
    save(crf.model_, model, overwrite=True)
    found.corpus.write(
        page, "html", title="Stories tagged by skipchain", confidences=found.confidences,
        overwrite=True
    )  # fmt: skip
    console.print(f"\nWritten: {model} (the model), {page} (open it in a browser)")
    console.print("\n[bold]Try next[/bold]")
    for command in (
        f"skipchain tag {model} --text 'Mayor Aske flew to Oslo.'",
        f"skipchain explain {model} --text 'Mayor Aske flew to Oslo.' --token Oslo",
        f"skipchain inspect {model} --label S-LOC --top 5",
        "skipchain train YOURS.conll --dev HELD_OUT.conll -o yours.skip",
    ):
        console.print(f"   {command}", soft_wrap=True)


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
