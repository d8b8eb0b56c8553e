"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# a slow machine is no mistake: no example has to be done in a given time
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
