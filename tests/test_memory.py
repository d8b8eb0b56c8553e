"""Memory: the most that was held, and what is handed back."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from skipchain import memory


def test_peak_memory_falls_back_to_what_the_system_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "none")
    pytest.importorskip("resource")
    assert memory.peak_memory() > np.iinfo(np.int16).max


def test_memory_is_kept_where_the_c_library_cannot_hand_it_back(monkeypatch):
    memory.release_memory()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.release_memory()
