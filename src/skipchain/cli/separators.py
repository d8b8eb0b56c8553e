"""What --separator names, and the format of files that have such a thing between their columns."""

from __future__ import annotations

from skipchain.errors import SkipchainError

SEPARATORS = {"tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}


def separator_named(name: str) -> str:
    """The character that --separator names.

    >>> separator_named("semicolon"), separator_named(","), separator_named("TAB")
    (';', ',', '\\t')
    """
    found = SEPARATORS.get(name.lower(), {"\\t": "\t"}.get(name, name))
    if found not in SEPARATORS.values():
        raise SkipchainError(
            f"--separator takes {', '.join(SEPARATORS)} or the character itself, got {name!r}"
        )
    return found


def format_separated(path: str, format: str | None, separator: str | None) -> str | None:
    """The format that is named; where a separator is, that of files which have it."""
    from skipchain.io.formats import format_of_path

    if format is not None or separator is None:
        return format
    own = format_of_path(path)
    if separator in ",;":
        return "csv" if own in (None, "tsv", "conll") else own
    return "conll" if own is None else own
