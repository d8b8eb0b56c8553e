"""The four ways to count partial matches, and kinds of mistakes, by their definitions.

Every predicted span is held against every gold span, for each way anew.
"""

from __future__ import annotations

from collections import Counter

WAYS = ("strict", "exact", "partial", "type")
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")


def overlap(a, b):
    return max(a[0], b[0]) < min(a[1], b[1])


def distance(a, b):
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def verdict(way, gold, own):
    """What a pair of spans that overlap is worth."""
    ends, kind = gold[:2] == own[:2], gold[2] == own[2]
    if way == "partial":
        return "correct" if ends else "partial"
    right = {"strict": ends and kind, "exact": ends, "type": kind}[way]
    return "correct" if right else "incorrect"


def pairs_of(gold, predicted, way):
    """Partners from left to right: a correct one, the nearest of several, else the first."""
    free, pairs = list(gold), []
    for own in sorted(predicted):
        candidates = [span for span in sorted(free) if overlap(span, own)]
        right = [span for span in candidates if verdict(way, span, own) == "correct"]
        if right or candidates:
            partner = min(right, key=lambda span: distance(span, own)) if right else candidates[0]
            free.remove(partner)
            pairs.append((partner, own))
    return pairs


def plain_counts(gold, predicted, way):
    """The five counts of one way."""
    pairs = pairs_of(gold, predicted, way)
    counts = Counter(verdict(way, *pair) for pair in pairs)
    counts["missed"], counts["spurious"] = len(gold) - len(pairs), len(predicted) - len(pairs)
    return {name: counts[name] for name in COUNTS}


def plain_mistakes(gold, predicted):
    """(kind, gold span, predicted span) of every span that is not right, in no order."""
    kinds = {(True, False): "type", (False, True): "boundary", (False, False): "both"}
    pairs = pairs_of(gold, predicted, "type")
    wrong = [(kinds[a[:2] == b[:2], a[2] == b[2]], a, b) for a, b in pairs if a != b]
    missed = set(gold) - {a for a, _ in pairs}
    spurious = set(predicted) - {b for _, b in pairs}
    wrong += [("missed", a, None) for a in missed]
    return wrong + [("spurious", None, b) for b in spurious]
