"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("basalt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("basalt")
