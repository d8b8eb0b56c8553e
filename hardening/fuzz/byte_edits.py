"""Mutations of a file's bytes, and of the table that says where its arrays lie."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hardening.fuzz.mutant import Entries, Mutant, Sample

LENGTHS = (0, 1, 7, 8, 2**16, 2**24, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
TYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL",
         "F8_E4M3", "C64", "X9", "")  # fmt: skip


def mutate_bytes(rng: Random, mutant: Mutant, samples: Sequence[Sample]) -> None:
    """Change bytes of the file; the checksum is not made right afterwards."""
    how = rng.choice(("flip", "flip", "truncate", "extend", "splice", "length", "insert", "noise"))
    at, seed = rng.random(), rng.randrange(2**32)
    if how == "flip" and rng.random() < 0.5:
        at = 0.0  # the first bytes decide most
    other = rng.choice(samples)
    mutant.recipe.append(f"bytes: {how} at {at:.4f} with the seed {seed}")
    mutant.byte_edits.append(lambda file: edited_bytes(Random(seed), file, how, at, other))


def edited_bytes(rng: Random, file: bytes, how: str, at: float, other: Sample) -> bytes:
    """The bytes with one thing changed."""
    place = int(at * len(file))
    before, behind = file[:place], file[place:]
    if how == "flip":
        changed = bytearray(file)
        for _ in range(rng.choice((1, 1, 2, 8))):
            bit = rng.randrange(8)
            changed[min(place + rng.randrange(64), len(file) - 1)] ^= 1 << bit
        return bytes(changed)
    if how == "length":
        length = rng.choice((*LENGTHS, len(file), len(file) - 8, len(file) + 1))
        return length.to_bytes(8, "little") + file[8:]
    if how == "splice":
        tail = other.mutant().to_bytes()
        return before + tail[int(rng.random() * len(tail)) :]
    noise = rng.randbytes(rng.choice((1, 4, 8, 1000)))
    return {
        "truncate": before,
        "extend": file + noise,
        "insert": before + noise + behind,
        "noise": before + noise + behind[len(noise) :],
    }[how]


def mutate_table(rng: Random, mutant: Mutant, samples: Sequence[Sample]) -> None:
    """Change what the file says of an array's type, shape or place; the checksum is made right."""
    if not mutant.arrays:
        return
    name, other = rng.choice(sorted(mutant.arrays)), rng.choice(sorted(mutant.arrays))
    how = rng.choice(("type", "shape", "offsets", "overlap", "exchange", "rename", "zero"))
    dtype, shift = rng.choice(TYPES), rng.choice((-8, -1, 1, 8, 2**31, 2**63, 2**64))
    mutant.recipe.append(f"table of arrays: {how} of {name} ({other}, {dtype!r}, {shift})")

    def edit(entries: Entries) -> None:
        entry, another = entries.get(name), entries.get(other)
        if entry is None or another is None:
            return
        if how == "type":
            entry["dtype"] = dtype
        elif how == "shape":
            entry["shape"] = [*entry["shape"][1:], shift + 3]
        elif how == "offsets":
            entry["data_offsets"] = [entry["data_offsets"][0], entry["data_offsets"][1] + shift]
        elif how == "overlap":
            entry["data_offsets"] = list(another["data_offsets"])
        elif how == "exchange":
            for key in ("data_offsets", "shape"):
                entry[key], another[key] = another[key], entry[key]
        elif how == "rename":
            entries[f"{name}\x00"] = entries.pop(name)
        else:
            entry["shape"] = [0, *entry["shape"]]

    mutant.entry_edits.append(edit)
