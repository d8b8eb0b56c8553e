"""The errors and warnings a user can meet: what, where, got, wanted, and the next step."""

from __future__ import annotations


class SkipchainError(Exception):
    """Anything that a user can mend; the command line shows it as one line and exits with 2."""


class SkipchainWarning(UserWarning):
    """Something that is allowed but hardly meant; the command line shows it as one line."""


class AccuracyWarning(SkipchainWarning):
    """A score counts tokens, not spans; `warnings.simplefilter` silences it where that is meant."""


class UnreadLabelsWarning(SkipchainWarning):
    """A file without labels holds something that may be meant for them, and that is not read."""


class ParameterError(SkipchainError, ValueError):
    """A setting has a value that it cannot have."""


class CorpusError(SkipchainError, ValueError):
    """A corpus, or an operation on one, does not make sense (lengths, columns, labels)."""


class ReadError(CorpusError):
    """A file does not hold what its format promises.

    >>> str(ReadError("3 columns, but the first line has 4", path="eng.train", line=1042))
    'eng.train:1042: 3 columns, but the first line has 4'
    """

    def __init__(self, message: str, *, path: object = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + shortened(message))
        self.fault, self.path, self.line = message, path, line

    def shifted(self, lines: int) -> ReadError:
        """The error of a text that begins so many lines further down in its file."""
        line = None if self.line is None else self.line + lines
        return type(self)(self.fault, path=self.path, line=line)


def shortened(message: str, most: int = 600) -> str:
    """The message without its middle where it quotes a line of a megabyte; its end has the advice.

    >>> shortened("got " + "9" * 5000 + "; wanted a number", 30)
    'got 99999999999 … ted a number'
    """
    if len(message) <= most:
        return message
    half = (most - 3) // 2
    return f"{message[: most - 3 - half + 1]} … {message[1 - half :]}"


class SchemeError(CorpusError):
    """Labels do not follow the scheme they are said to follow; ``label`` is one of them."""

    def __init__(self, message: str, label: str | None = None) -> None:
        super().__init__(message)
        self.label = label


class BrokenSchemeError(SchemeError):
    """Many labels break their scheme, and could be repaired; the first is that of ``token``."""

    def __init__(self, message: str, token: int) -> None:
        super().__init__(message)
        self.token = token


class BrokenSchemeReadError(ReadError, SchemeError):
    """Many labels of a file break their scheme, and could be repaired."""

    label = None


class TemplateError(SkipchainError, ValueError):
    """A feature template cannot be read, or asks for something the corpus does not have."""


class FeatureError(SkipchainError, ValueError):
    """Feature values given directly (dicts, arrays) are unusable."""


class ModelFileError(SkipchainError):
    """A model file is damaged, foreign, or needs something that is missing."""


class NotFittedError(SkipchainError, ValueError, AttributeError):
    """A model is asked to predict before it has been fitted."""
