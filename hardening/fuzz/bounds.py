"""A part of the cases with bounds checks in compiled loops, in an interpreter of its own.

Without checks, an index that is wrong by a little reads or writes a neighbour and nothing is seen.
Numba decides on checks when it compiles, so there is a second cache of kernels. To fill it takes
a minute or two, more than a short run may take: such a run checks bounds only where the cache is
there already. Python's own execution of the kernels would need none, but lets indices below 0 pass.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from hardening.fuzz.campaign import Finding, run_campaign

EVERY = 20  # case that is run again with checks
LONG_RUN = 100_000  # cases of which compiling is a small part


class BoundsCheck:
    """The second interpreter, which runs beside the others while a ``with`` block lasts."""

    def __init__(self, samples: Path, seed: int, numbers: range) -> None:
        self.numbers = [k for k in numbers if k % EVERY == 0]
        self.process: subprocess.Popen[str] | None = None
        self.command = [sys.executable, "-m", "hardening.fuzz.bounds"]
        self.command += [str(samples), str(seed), *map(str, (numbers.start, numbers.stop))]
        seen_again = len(numbers) == 1
        worth_it = is_warm() or seen_again or len(numbers) >= LONG_RUN
        self.wanted = bool(self.numbers) and worth_it
        self.note = "bounds checks: none of these cases has them"
        if self.numbers and not self.wanted:
            self.note = (
                "bounds checks: none, since kernels with checks are not compiled; a run of "
                f"{LONG_RUN:,} cases compiles them"
            )

    def __enter__(self) -> BoundsCheck:
        if self.wanted:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables()}
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def findings(self) -> list[Finding]:
        """What the second interpreter found, once it is done."""
        if self.process is None:
            return []
        text, _ = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"cases with bounds checks ended with {self.process.returncode}")
        self.note = f"bounds checks: {len(self.numbers):,} of the cases were run again with them"
        return [Finding(*own) for own in json.loads(text.splitlines()[-1])]


def variables() -> dict[str, str]:
    """What the environment of an interpreter with bounds checks has."""
    return {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(_cache())}


def is_warm() -> bool:
    """Whether kernels with checks have been compiled since their source was changed."""
    mark = _cache() / "compiled"
    return mark.exists() and mark.read_text() == _digest()


def main() -> None:
    """Run the cases that the command line names, and print what was found as JSON."""
    folder, seed, start, stop = Path(sys.argv[1]), *map(int, sys.argv[2:])
    numbers = [k for k in range(start, stop) if k % EVERY == 0]
    campaign = run_campaign(folder, seed, numbers, workers=1)
    _cache().mkdir(parents=True, exist_ok=True)
    (_cache() / "compiled").write_text(_digest())
    print(
        json.dumps(
            [
                (kind, place, f"{line} | with bounds checks")
                for kind, place, line in campaign.findings
            ]
        )
    )


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "skipchain-hardening", "kernels-with-bounds-checks")


def _digest() -> str:
    """Changes with the version of numba and the source of kernels."""
    import numba

    import skipchain

    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(skipchain.__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"njit" in source:
            digest.update(source)
    return digest.hexdigest()


if __name__ == "__main__":
    main()
