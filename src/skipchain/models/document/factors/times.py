"""Times of day, however they are written."""

from __future__ import annotations

import re

TIME = re.compile(
    r"""
    (?<![\d.:])
    (?:
        (?P<hour>\d{1,2})(?:\s?[:.]\s?(?P<minute>\d\d))?(?![:.]?\d)  # 3:30 3.30pm 4
      | (?P<hours>\d{1,2})(?P<minutes>\d\d)(?![:.]?\d)                   # 1530
      | \b(?:noon|midnight)\b
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def time_key(text: str) -> str | None:
    """The first time of day in a text as hours and minutes on a dial; None where there is none.

    Two times agree if their keys are equal. The halves of the day are not distinguished: most
    times say nothing about them, and those that do would agree with none of these.

    >>> [time_key(text) for text in ("3:30 p.m.", "3:30 PM", "15:30", "3.30pm", "1530", "3:30")]
    ['3:30', '3:30', '3:30', '3:30', '3:30', '3:30']
    >>> time_key("12 noon"), time_key("Noon"), time_key("0:00"), time_key("4 pm"), time_key("today")
    ('12:00', '12:00', '12:00', '4:00', None)
    """
    match = TIME.search(text)
    if match is None:
        return None
    hour = int(match["hour"] or match["hours"] or 12)
    minute = int(match["minute"] or match["minutes"] or 0)
    if hour > 24 or minute > 59:
        return None
    return f"{hour % 12 or 12}:{minute:02}"
