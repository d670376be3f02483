"""The recurrent networks that the core took over from ONNX as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_WITH_ALPHA = frozenset({"affine", "leaky_relu", "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu"})
_WITH_BETA = frozenset({"affine", "scaled_tanh", "hard_sigmoid"})


@exports("recurrent")
def recurrent(n: NodeWriter) -> Sequence[Tensor]:
    mode = n.attrs["mode"]
    names = ("input", "weight", "recurrent_weight", "bias", "sequence_lens", "initial_h")
    operands = [n.get(name) for name in (*names, "initial_c", "peephole")]
    if operands[-1] is not None and n.attrs["peephole_previous"]:
        n.unsupported("in ONNX the output gate's peephole sees the new cell state, so peephole_previous must be False")
    if operands[4] is not None:
        operands[4] = n.cast(operands[4], "int32")
    count = len(operands) if mode == "lstm" else len(names)
    return n.call_all(mode.upper(), *operands[:count], outputs=len(n.out), **_options(n, mode))


def _options(n: NodeWriter, mode: str) -> dict[str, Any]:
    clip = n.attrs["clip"]
    options: dict[str, Any] = {
        "hidden_size": n.attrs["hidden_size"],
        "direction": n.attrs["direction"],
        "clip": None if clip is None else float(clip),
        **_activations(n),
    }
    if mode == "lstm":
        options["input_forget"] = int(n.attrs["input_forget"])
    if mode == "gru":
        options["linear_before_reset"] = int(n.attrs["linear_before_reset"])
    return options


def _activations(n: NodeWriter) -> dict[str, tuple[Any, ...] | None]:
    """The functions, and the numbers of those that have any, in their order."""
    functions = n.attrs["activations"]
    alpha = [v for f, v in zip(functions, n.attrs["activation_alpha"]) if f in _WITH_ALPHA]
    beta = [v for f, v in zip(functions, n.attrs["activation_beta"]) if f in _WITH_BETA]
    return {
        "activations": tuple("".join(part.capitalize() for part in f.split("_")) for f in functions),
        "activation_alpha": tuple(map(float, alpha)) or None,
        "activation_beta": tuple(map(float, beta)) or None,
    }
