"""FlexAttention: changed scores and probabilities, values from outside of the graphs, grouped heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from basalt.errors import ValidationError  # noqa: E402
from basalt.onnx_backend import Backend  # noqa: E402

FLOAT = onnx.TensorProto.FLOAT


def body(name: str, nodes: list[Any], given: str, result: str, initializers: list[Any] | None = None) -> Any:
    infos = [onnx.helper.make_tensor_value_info(v, FLOAT, None) for v in (given, result)]
    return onnx.helper.make_graph(nodes, name, infos[:1], infos[1:], initializers or [])


def attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, more: list[np.ndarray], names: list[str], **attributes: Any
) -> np.ndarray:
    """What Basalt gives for one node; ``names`` are those of Q, K, V and of what its graphs take from outside."""
    helper = onnx.helper
    node = helper.make_node("FlexAttention", names[:3], ["y"], domain="ai.onnx.preview", **attributes)
    given = [q, k, v, *more]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, given, strict=True)
    ]
    kind = helper.np_dtype_to_tensor_dtype(v.dtype)
    graph = helper.make_graph([node], "attention", infos, [helper.make_tensor_value_info("y", kind, None)])
    opsets = [helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.preview", 1)]
    (result,) = Backend.prepare(helper.make_model(graph, opset_imports=opsets)).run(given)
    return result


def expected(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float | None = None, mask: Any = None, keep: Any = 1
) -> np.ndarray:
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    scores = scores if mask is None else scores + mask
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) * keep @ v


RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=s).astype(np.float32) for s in ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("scale", [None, 0.5])
def test_plain(dtype: type, scale: float | None) -> None:
    q, k, v = (x.astype(dtype) for x in (Q, K, V))
    attributes = {} if scale is None else {"scale": scale}
    got = attend(q, k, v, [], ["q", "k", "v"], **attributes)
    assert got.dtype == dtype
    tolerance = 5e-3 if dtype == np.float16 else 1e-5
    np.testing.assert_allclose(got, expected(Q, K, V, scale), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("names", [["q", "k", "v", "mask"], ["y/0", "y/1", "y/2", "y/3"], ["scores", "k", "v", "out"]])
def test_both_graphs_and_what_they_take_from_outside(names: list[str]) -> None:
    mask = np.where(RNG.random((3, 5)) < 0.3, np.float32(-np.inf), np.float32(0))
    mask[:, 0] = 0
    keep = (RNG.random((3, 5)) < 0.8).astype(np.float32)
    adding = body("a", [onnx.helper.make_node("Add", ["s", names[3]], ["t"])], "s", "t")
    held = onnx.numpy_helper.from_array(keep, "kept")
    keeping = body("b", [onnx.helper.make_node("Mul", ["s", "kept"], ["t"])], "s", "t", [held])
    got = attend(Q, K, V, [mask], names, score_mod=adding, prob_mod=keeping)
    np.testing.assert_allclose(got, expected(Q, K, V, mask=mask, keep=keep), rtol=1e-5, atol=1e-5)


def test_a_graph_that_gives_back_its_input() -> None:
    got = attend(Q, K, V, [], ["q", "k", "v"], prob_mod=body("i", [], "s", "s"))
    np.testing.assert_allclose(got, expected(Q, K, V), rtol=1e-5, atol=1e-5)


def test_wrong_models() -> None:
    two = body("two", [], "s", "s")
    two.input.append(onnx.helper.make_tensor_value_info("u", FLOAT, None))
    with pytest.raises(ValidationError, match="one input"):
        attend(Q, K, V, [], ["q", "k", "v"], score_mod=two)
    with pytest.raises(ValidationError, match="rank 4"):
        attend(Q[0], K[0], V[0], [], ["q", "k", "v"])
    with pytest.raises(ValidationError, match="evenly"):
        attend(Q[:, :3], K, V, [], ["q", "k", "v"])
