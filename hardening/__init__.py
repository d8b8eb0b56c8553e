"""Attacks on the package by its makers: hostile files (``fuzz``), machines that fail (``faults``).

``make fuzz`` and ``make faults`` run them. They drive the package from outside, as benchmarks do,
and are no part of it. `docs/security.md` says what is promised and what was found.
"""
