"""A page that shows a corpus with its spans, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape

from skipchain.corpus.corpus import Corpus, plural
from skipchain.corpus.schemes import Spans, encode
from skipchain.errors import CorpusError
from skipchain.io.standoff import Passage, Span, passages_of
from skipchain.report.notebook import hue, interleaved

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --ground: #fdfdfc; --ink: #1d1f21; --faint: #5f6670; --line: #dfe1e4; --light: 88%;
  --edge: 45%; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #16181b; --ink: #e6e6e3; --faint: #a0a6ae; --line: #33383e; --light: 24%;
    --edge: 62%; }}
}}
body {{ background: var(--ground); color: var(--ink); max-width: 46rem; margin: 2rem auto;
  padding: 0 1.25rem; font: 1.05rem/1.9 Georgia, "Iowan Old Style", serif; }}
h1, h2, .legend, mark small {{ font-family: system-ui, sans-serif; }}
h1 {{ font-size: 1.4rem; line-height: 1.3; margin: 0 0 .25rem; }}
h2 {{ font-size: 1rem; color: var(--faint); border-top: 1px solid var(--line);
  padding-top: 1.25rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }}
.about {{ color: var(--faint); font: .9rem/1.5 system-ui, sans-serif; margin: 0 0 1rem; }}
.legend {{ display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0;
  font-size: .85rem; }}
.text {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }}
mark {{ --tint: hsl(var(--hue) 65% var(--light)); color: inherit; background: var(--tint);
  border-bottom: 2px solid hsl(var(--hue) 60% var(--edge)); border-radius: .2rem;
  padding: .1em .25em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }}
mark small {{ font-size: .62em; font-weight: 600; letter-spacing: .03em; margin-left: .4em;
  opacity: .85; }}
{style}
@media print {{ mark {{ border: 1px solid; }} }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="about">{about}</p>
{body}
</main>
</body>
</html>
"""


def format_html(
    corpus: Corpus, *, title: str = "Labelled text", confidences: Sequence[float] | None = None
) -> str:
    """The corpus as an HTML page with its spans marked, in light and dark; it needs no other file.

    ``confidences`` gives a number for each span, in order, which a tooltip shows. Labels without a
    scheme are shown as spans of one token.

    >>> corpus = Corpus.of([["Ada", "slept", "."]], [["B-PER", "O", "O"]], scheme="iob2")
    >>> "Ada<small>PER</small></mark> slept." in format_html(corpus)
    True
    """
    passages = passages_of(with_spans(corpus), sensible=True)
    classes = type_classes(kind for passage in passages for _, _, kind in passage.spans or ())
    shown = check_confidences(confidences, sum(len(p.spans or ()) for p in passages))
    documents = []
    for number, passage in enumerate(passages, 1):
        count = len(passage.spans or ())
        name = passage.name or (f"Document {number}" if len(passages) > 1 else "")
        documents.append(section(passage, name, classes, shown[:count]))
        shown = shown[count:]
    sizes = (corpus.n_documents, "document"), (len(corpus), "sentence"), (corpus.n_tokens, "token")
    about = ", ".join(plural(count, noun) for count, noun in sizes)
    body = "\n".join([legend(classes, passages), *documents])
    return html_page(title, about, body, hues(classes))


def html_page(title: str, about: str, body: str, style: str) -> str:
    """A page in the look of all our pages; ``body`` is HTML, and ``style`` is added to its CSS.

    >>> "<h1>A &lt; B</h1>" in html_page("A < B", "two letters", "<p>A</p>", "")
    True
    """
    return PAGE.format(title=escape(title), about=escape(about), body=body, style=style)


def hues(classes: dict[str, str]) -> str:
    """The CSS that gives each class of a type a colour of its own."""
    return "\n".join(
        f".{name} {{ --hue: {hue(number)}; }}" for number, name in enumerate(classes.values())
    )


def type_classes(kinds: Iterable[str]) -> dict[str, str]:
    """The CSS class of each type, in alphabetical order."""
    return {kind: f"t{number}" for number, kind in enumerate(sorted(set(kinds)))}


def with_spans(corpus: Corpus) -> Corpus:
    """The corpus with every label as a span of one token, where the labels have no scheme."""
    if not corpus.labelled or corpus.scheme is not None:
        return corpus
    labels = enumerate(corpus.labels)
    spans = Spans.of((k, k + 1, label) for k, label in labels if label not in ("O", ""))
    return replace(corpus.with_labels(encode(spans, corpus.sentences, "iob2")), scheme="iob2")


def check_confidences(confidences: Sequence[float] | None, count: int) -> list[float | None]:
    """A confidence, or None, for each of so many spans."""
    if confidences is None:
        return [None] * count
    if len(confidences) != count:
        raise CorpusError(f"{len(confidences)} confidences, but there are {count} spans")
    return [float(value) for value in confidences]


def section(
    passage: Passage, name: str, classes: dict[str, str], confidences: Sequence[float | None]
) -> str:
    """One document, under a heading if it has a name."""
    heading = f"<h2>{escape(name)}</h2>\n" if name else ""
    spans = zip(passage.spans or (), confidences, strict=True)
    pieces = [
        (span[0], span[1], marked(passage.text[span[0] : span[1]], span, classes, confidence))
        for span, confidence in spans
    ]
    return (
        f'<section>\n{heading}<p class="text">{interleaved(passage.text, pieces)}</p>\n</section>'
    )


def marked(text: str, span: Span, classes: dict[str, str], confidence: float | None) -> str:
    """A span with its type."""
    kind = escape(span[2])
    tip = kind if confidence is None else f"{kind}, confidence {confidence:.0%}"
    inside = escape(text, quote=False)
    return f'<mark class="{classes[span[2]]}" title="{tip}">{inside}<small>{kind}</small></mark>'


def legend(classes: dict[str, str], passages: Sequence[Passage]) -> str:
    """The types with their colours and counts."""
    if not classes:
        return ""
    counts = Counter(kind for passage in passages for _, _, kind in passage.spans or ())
    item = '<li><mark class="{}">{}</mark> {:,}</li>'.format
    entries = "\n".join(item(name, escape(k), counts[k]) for k, name in classes.items())
    return f'<ul class="legend" aria-label="Types">\n{entries}\n</ul>'
