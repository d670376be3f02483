"""The context: where an application of Basalt starts (the standard's section "MLContext interface")."""

from __future__ import annotations

from typing import Any

from basalt.runtime.context import BaseContext, LostInfo
from basalt.runtime.tensor import MLTensor

__all__ = ["LostInfo", "MLContext", "MLTensor"]


class MLContext(BaseContext):
    """Owns tensors and graphs, and runs graphs on tensors.

    Leaving a ``with`` block of it destroys it.

    Args:
        threads: threads that its graphs run on; None for the process's setting (``basalt.set_num_threads``).
        power_preference: ``"default"``, ``"high-performance"``, or ``"low-power"``, which means one thread unless
            ``threads`` says otherwise.
        eager_first_run: whether a graph whose compilation takes long runs through NumPy meanwhile; None leaves it to
            the environment variable BASALT_EAGER, whose default is 1.

    Raises:
        ValidationError: for other values.
    """

    def op_support_limits(self) -> dict[str, Any]:
        """The data types and ranks that each operator takes, as the standard's MLOpSupportLimits dictionary."""
        from basalt.ops.limits import op_support_limits

        self.check_usable("op_support_limits")
        return op_support_limits()
