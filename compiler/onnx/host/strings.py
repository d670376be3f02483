"""StringConcat, StringSplit and StringNormalizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, tensor
from basalt.compiler.onnx.host.element_types import is_string, string_array, type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op

_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


def _strings(n: HostNode, name: str, value: np.ndarray) -> np.ndarray:
    array = tensor(n, name, value)
    if not is_string(array.dtype):
        raise n.error(f"input {name!r} is of type {type_name(array.dtype)}, expected string")
    return array


@host_op("StringConcat", 20)
def string_concat(n: HostNode, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each string of ``x`` with that of ``y`` behind it, broadcast."""
    x, y = _strings(n, "X", x), _strings(n, "Y", y)
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise n.error(f"the inputs have shapes {x.shape} and {y.shape}, expected shapes that broadcast") from None
    left, right = np.broadcast_to(x, shape), np.broadcast_to(y, shape)
    return string_array([a + b for a, b in zip(left.flat, right.flat, strict=True)], shape)


@host_op("StringSplit", 20)
def string_split(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts of each string, on a new last axis filled up with empty strings, and how many there are (int64).

    Split at ``delimiter``, or at runs of white space (none at either end) if absent or empty; ``maxsplit`` times at
    most, the rest being the last part.
    """
    x = _strings(n, "X", x)
    delimiter, maxsplit = n.attr("delimiter", "") or None, int(n.attr("maxsplit", -1))
    parts = [text.split(delimiter, maxsplit) for text in x.flat]
    counts = [len(p) for p in parts]
    width = max(counts, default=0)
    check_size(n, (*x.shape, width))
    padded = [part for row in parts for part in [*row, *[""] * (width - len(row))]]
    return string_array(padded, (*x.shape, width)), np.array(counts, dtype=np.int64).reshape(x.shape)


@host_op("StringNormalizer", 10)
def string_normalizer(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` ([C] or [1, C]) without its ``stopwords``, in the case that ``case_change_action`` asks for.

    What is left may be nothing: then one empty string. Cases change as in Unicode, whatever ``locale`` says.
    """
    x = _strings(n, "X", x)
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise n.error(f"input 'X' has shape {x.shape}, expected [C] or [1, C]")
    action = n.attr("case_change_action", "NONE")
    if action not in _CASES:
        raise n.error(f"attribute 'case_change_action' is {action!r}, expected one of {', '.join(_CASES)}")
    compared = str if n.attr("is_case_sensitive", 0) else str.lower
    stopwords = {compared(word) for word in n.attr("stopwords", ())}
    kept = [_CASES[action](text) for text in x.flat if compared(text) not in stopwords] or [""]
    return string_array(kept, (len(kept),) if x.ndim == 1 else (1, len(kept)))
