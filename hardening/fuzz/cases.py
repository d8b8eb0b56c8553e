"""Cases of the attack: what they mutate, and how, is decided by the seed and their number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from hardening.fuzz.array_edits import mutate_arrays
from hardening.fuzz.byte_edits import mutate_bytes, mutate_table
from hardening.fuzz.headers import mutate_header
from hardening.fuzz.mutant import Mutant, Sample
from hardening.fuzz.readers import TEXTS, ReaderCase, attack_reader, reader_case
from hardening.fuzz.samples import ENDING
from hardening.fuzz.tagging import Inputs, attack_model

READER_SHARE = 4  # every fourth case is one of a reader
MUTATIONS = (mutate_arrays, mutate_header, mutate_table, mutate_bytes)
WEIGHTS = (50, 44, 3, 3)


@dataclass(frozen=True)
class Cases:
    """All cases of a seed, and what they mutate and tag."""

    seed: int
    samples: tuple[Sample, ...]
    inputs: Inputs

    @classmethod
    def of(cls, seed: int, samples: Path) -> Cases:
        """The cases that mutate the samples of a folder."""
        paths = sorted(samples.glob(f"*{ENDING}"))
        return cls(seed, tuple(map(Sample.read, paths)), Inputs.make())

    def is_reader(self, number: int) -> bool:
        """Whether a case is one of a reader, and not of a model file."""
        return number % READER_SHARE == READER_SHARE - 1

    def run(self, number: int, folder: Path) -> str:
        """Run a case, with files in a folder of its own: whether its input was taken or refused."""
        rng = Random(f"{self.seed} {number}")
        if self.is_reader(number):
            case = reader_case(rng)
            return attack_reader(rng, case, folder)
        path = folder / f"case{ENDING}"
        path.write_bytes(self._mutant(rng).to_bytes())
        return attack_model(rng, path, self.inputs)

    def recipe(self, number: int) -> str:
        """What a case mutates, in words."""
        rng = Random(f"{self.seed} {number}")
        if self.is_reader(number):
            return reader_case(rng).recipe
        mutant = self._mutant(rng)
        return f"sample {mutant.sample.name!r}: {'; '.join(mutant.recipe) or 'as it is'}"

    def warm_up(self, folder: Path) -> None:
        """Do with sound files all that cases do: modules and kernels are loaded before a fork."""
        path = folder / f"case{ENDING}"
        for sample in self.samples:
            path.write_bytes(sample.mutant().to_bytes())
            attack_model(Random(0), path, self.inputs, thorough=True)
        for kind, text in TEXTS.items():
            attack_reader(Random(0), ReaderCase(kind, text.encode(), "", "as it is"), folder)

    def _mutant(self, rng: Random) -> Mutant:
        mutant = rng.choice(self.samples).mutant()
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 4))):
            (mutate,) = rng.choices(MUTATIONS, WEIGHTS)
            mutate(rng, mutant, self.samples)
        return mutant
