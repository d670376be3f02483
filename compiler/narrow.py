"""float32 constants all of whose numbers float16 or bfloat16 hold: such are kept in half the bytes, without loss.

Weights are like that where a model stores them narrow and computes in float32. For few rows of a product what takes
time is their bytes, and elsewhere kernels widen them while they wait for products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import numpy_dtype

__all__ = ["FORMS", "narrow_type"]

FORMS = ("float16", "bfloat16")
FEWEST = 1024
"""Elements below which the bytes are not worth kernels of their own."""
_SAMPLE = 64


def narrow_type(array: np.ndarray, forms: Sequence[str] = FORMS) -> str | None:
    """The first of some data types that holds every number of a large float32 array to the bit, None if none does."""
    if array.dtype != np.float32 or array.size < FEWEST:
        return None
    # Numbers of any precision end the search here.
    sample = array.reshape(-1)[:: max(1, array.size // _SAMPLE)]
    return next((form for form in forms if _holds(form, sample) and _holds(form, array)), None)


def _holds(form: str, array: np.ndarray) -> bool:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        back = array.astype(numpy_dtype(form)).astype(np.float32)
    return np.array_equal(back.view(np.uint32), np.ascontiguousarray(array).view(np.uint32))
