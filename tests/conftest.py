"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes is the machine's business; tests that mean time measure it themselves.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
