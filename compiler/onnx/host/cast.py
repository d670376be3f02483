"""Cast, CastLike and BitCast between all of ONNX's element types."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.conversion import ROUND_MODES, convert
from basalt.compiler.onnx.host.element_types import bits, dtype_of_code, is_string, type_name
from basalt.compiler.onnx.host.number_text import to_numbers, to_strings
from basalt.compiler.onnx.host.registry import HostNode, host_op

__all__ = ["cast_to"]

_NAMES = {
    "FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6,
    "INT64": 7, "BOOL": 9, "FLOAT16": 10, "DOUBLE": 11, "UINT32": 12, "UINT64": 13,
}  # fmt: skip
"""Cast-1 names its type with a string."""


def cast_to(n: HostNode, x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``x`` as ``dtype``, by the node's ``saturate`` and ``round_mode``."""
    saturate, round_mode = bool(n.attr("saturate", 1)), str(n.attr("round_mode", "up"))
    if round_mode not in ROUND_MODES:
        raise n.error(f"attribute 'round_mode' is {round_mode!r}, expected one of {', '.join(ROUND_MODES)}")
    if x.dtype == dtype:
        return x
    if is_string(x.dtype) or is_string(dtype):
        other = dtype if is_string(x.dtype) else x.dtype
        if other.kind == "c":
            raise n.unsupported(f"casting {type_name(x.dtype)} to {type_name(dtype)}")
        return to_numbers(n, x, dtype, saturate, round_mode) if is_string(x.dtype) else to_strings(x)
    return convert(x, dtype, saturate, round_mode)


@host_op("Cast", 1)
def cast_1(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` as the type that the string ``to`` names."""
    name = str(n.required("to")).upper()
    if name not in _NAMES:
        raise n.error(f"attribute 'to' is {name!r}, expected one of {', '.join(_NAMES)}")
    return cast_to(n, tensor(n, "input", x), dtype_of_code(n, _NAMES[name], "to"))


@host_op("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(n: HostNode, x: np.ndarray) -> np.ndarray:
    """``x`` as the type of number ``to``; see :mod:`.conversion` for numbers and :mod:`.number_text` for strings."""
    return cast_to(n, tensor(n, "input", x), dtype_of_code(n, n.required("to"), "to"))


@host_op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(n: HostNode, x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """``x`` as the type of ``target``."""
    return cast_to(n, tensor(n, "input", x), tensor(n, "target_type", target).dtype)


@host_op("BitCast", 26)
def bit_cast(n: HostNode, x: np.ndarray) -> np.ndarray:
    """The bits of ``x`` read as the type of number ``to``, which has as many; a bool is true where any bit is set."""
    x, dtype = tensor(n, "input", x), dtype_of_code(n, n.required("to"), "to")
    if is_string(x.dtype) or is_string(dtype) or bits(x.dtype) != bits(dtype):
        raise n.error(
            f"input is of type {type_name(x.dtype)} and 'to' is {type_name(dtype)}, expected types of as many bits"
        )
    if dtype == np.bool_:
        return x.view(np.uint8) != 0
    width = bits(dtype)
    if width >= 8:
        return x.view(dtype)
    # An element of fewer bits fills a byte, whose upper bits mean nothing.
    return (x.view(np.uint8) & np.uint8((1 << width) - 1)).view(dtype)
