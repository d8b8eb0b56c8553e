"""Replay a page: write the files that it shows, run its commands and its Python, keep the answers.

``python docs/_ext/replay.py PAGE …`` puts the answers of this machine into pages. What a page
means:

* A ``{code-block}`` with a caption is a file of that name.
* In a ``console`` block, lines after ``$`` are commands of a shell, and what follows is their
  answer (stdout and stderr). Nothing below a command: its answer does not matter. A command that
  ends in ``&`` runs until the page ends.
* Commands are given a free port as ``PORT``, so that pages can be followed side by side.
* A ``pycon`` block is a piece of one long session of Python.
* A line ``...`` in an answer stands for any lines.
* What comes after a heading that names ``SKIPCHAIN_DATA`` needs data sets.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import dataclass
from doctest import DocTestParser
from io import StringIO
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import Any

VARIABLE = "SKIPCHAIN_DATA"
WIDTH = "100"  # of the terminal that commands believe to write to
SECONDS = 300  # that a command may take
BLOCK = re.compile(r"^(`{3,})(\S+)[ ]*(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"\A:caption: (\S+)\n(?::.*\n)*\n*")
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
TIME = re.compile(r"\d[\d,.]* (?:s|ms|MB|tokens/s)\b")  # and other sizes of the machine


@dataclass(frozen=True)
class Step:
    """A file to write (``kind`` file), or a command or lines of Python, with the answer wanted."""

    kind: str
    source: str  # the text of the file, the command, the lines of Python
    wanted: str = ""  # for a file its name
    line: int = 0  # of the page


def needs_data(page: str) -> int:
    """The line from which on a page needs data sets; behind its end, if it needs none."""
    heading = re.search(rf"^#+ .*{VARIABLE}", page, re.MULTILINE)
    return page.count("\n", 0, heading.start() if heading else None) + 1


def steps(page: str) -> Iterator[Step]:
    """What a page tells its reader to do, in order."""
    for block in BLOCK.finditer(page):
        line = page.count("\n", 0, block.start(4)) + 1
        body = block[4]
        if block[2] == "{code-block}":
            caption = CAPTION.match(body)
            if caption:
                yield Step("file", body[caption.end() :], caption[1], line)
        elif block[2] == "console":
            yield from _commands(body, line)
        elif block[2] == "pycon":
            for example in DocTestParser().get_examples(body):
                yield Step("python", example.source, example.want, line + example.lineno)


def _commands(body: str, line: int) -> Iterator[Step]:
    for command in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
        yield Step("shell", command[1], command[2], line + body.count("\n", 0, command.start()))


def replay(todo: list[Step], folder: Path) -> Iterator[tuple[Step, str]]:
    """Do the steps in a folder; each comes with the answer that it gave."""
    names: dict[str, Any] = {"__name__": "__main__"}
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": WIDTH,
        "PORT": str(_free_port()),
    }
    with ExitStack() as stack:
        for step in todo:
            if step.kind == "file":
                (folder / step.wanted).write_text(step.source, encoding="utf-8")
            elif step.kind == "python":
                with chdir(folder):
                    yield step, _python(step, names)
            elif step.source.endswith("&"):
                stack.callback(_ended, _background(step, folder, environment))
            else:
                yield step, _shell(step, folder, environment)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _python(step: Step, names: dict[str, Any]) -> str:
    with redirect_stdout(StringIO()) as answer:
        exec(compile(step.source, f"line {step.line}", "single"), names)
    return answer.getvalue()


def _shell(step: Step, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        step.source,
        shell=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode and "error:" not in step.wanted:
        raise RuntimeError(f"line {step.line}: {step.source}\n{done.stdout}")
    return done.stdout


def _background(step: Step, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = f"exec {step.source.removesuffix('&')}"
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        command, shell=True, cwd=folder, env=environment, stdout=nowhere, stderr=nowhere
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


# Answers ---------------------------------------------------------------------------------------


def agree(wanted: str, found: str) -> bool:
    """Whether an answer is the one on the page: the same words, and numbers close to its own.

    Another processor adds numbers up in another order, and the path of an optimiser differs a
    little; times are the machine's own.
    """
    return _agree_from(_lines(wanted), _lines(found))


def _lines(answer: str) -> list[str]:
    plain = TIME.sub("…", answer).replace("<BLANKLINE>", "")
    return [" ".join(line.split()) for line in plain.strip().splitlines()]


def _agree_from(wanted: list[str], found: list[str]) -> bool:
    if not wanted:
        return not found
    if wanted[0] == "...":
        return any(_agree_from(wanted[1:], found[k:]) for k in range(len(found) + 1))
    return bool(found) and _like(wanted[0], found[0]) and _agree_from(wanted[1:], found[1:])


def _like(wanted: str, found: str) -> bool:
    pieces = re.split(rf"({NUMBER.pattern}|\.\.\.)", wanted)
    between, fixed = pieces[1::2], pieces[0::2]
    numbers = [own for own in between if own != "..."]
    pattern = re.escape(fixed[0])
    for own, after in zip(between, fixed[1:], strict=True):
        pattern += (".*" if own == "..." else f"({NUMBER.pattern})") + re.escape(after)
    match = re.fullmatch(pattern, found)
    return match is not None and all(map(_close, numbers, match.groups()))


def _close(wanted: str, found: str) -> bool:
    a, b = (float(text.replace(",", "").replace("−", "-")) for text in (wanted, found))
    least = 0.1 if "." in wanted else 1
    return abs(a - b) <= least + 0.1 * max(abs(a), abs(b))


# Pages -----------------------------------------------------------------------------------------


def renew(page: Path) -> int:
    """Put the answers of this machine into a page; how many were others before."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    changed = 0
    end = len(lines) if VARIABLE in os.environ else needs_data(text)
    with TemporaryDirectory() as folder:
        todo = [step for step in steps(text) if step.line <= end]
        answers = list(replay(todo, Path(folder)))
    for step, found in reversed(answers):
        if not step.wanted or "..." in step.wanted:
            if step.wanted and not agree(step.wanted, found):
                print(f"{page}:{step.line}: {step.source}\n{found}")
            continue
        gap = step.wanted[len(step.wanted.rstrip("\n")) + 1 :]  # to the command that follows
        new = re.sub(r" +$", "", found, flags=re.MULTILINE).rstrip("\n") + "\n" + gap
        if step.kind == "python":
            new = new.replace("\n\n", "\n<BLANKLINE>\n")
        if new != step.wanted:
            changed += 1
            begin = step.line + step.source.rstrip("\n").count("\n")
            lines[begin : begin + step.wanted.count("\n")] = [new]
    page.write_text("".join(lines), encoding="utf-8")
    return changed


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {renew(Path(name))} answers changed")
