"""Settings of all tests."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code. Every run tries the same examples, so that
# a change is judged by itself and kernels come from the cache; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("basalt", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "basalt"))

# Test processes share the cores already.
os.environ.setdefault("BASALT_COMPILE_WORKERS", "0")

# A shell starts its background jobs with interrupts ignored, which Python and all processes of the tests would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
