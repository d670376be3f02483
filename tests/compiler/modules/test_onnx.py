"""Modules of each family as ONNX models: ONNX Runtime gives torch's results, for other batches too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt

from .compare import All, Function, numbers, torch

ort = pytest.importorskip("onnxruntime")
nn = torch.nn
F = nn.functional
SIZES = (7, 6, 5)


def network() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten())


def linear() -> Any:
    return All([nn.Linear(4, 3), nn.Linear(4, 2, bias=False), nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.ReLU())])


def convolutions(rank: int) -> Any:
    conv = getattr(nn, f"Conv{rank}d")
    return All(
        [
            conv(4, 6, 3, stride=2, padding=1),
            conv(4, 6, 2, groups=2, dilation=2, bias=False),
            conv(4, 2, 2, padding="same"),
            conv(4, 2, 3, padding=1, padding_mode="reflect"),
        ]
    )


def transposed(rank: int) -> Any:
    conv = getattr(nn, f"ConvTranspose{rank}d")
    return All([conv(4, 6, 3, stride=2, padding=1, output_padding=1), conv(4, 6, 2, groups=2, dilation=2, bias=False)])


def depthwise_separable() -> Any:
    return nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 6, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU6()
    )


def activations() -> Any:
    layers = [nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.PReLU(4), nn.ELU(), nn.SELU(), nn.CELU(1.5), nn.GELU()]
    layers += [nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Sigmoid(), nn.Tanh(), nn.Hardtanh(), nn.Hardswish(), nn.GLU(1)]
    layers += [nn.Hardsigmoid(), nn.Softplus(2, 5), nn.Softsign(), nn.Softshrink(), nn.Hardshrink(), nn.Tanhshrink()]
    return All([*layers, nn.LogSigmoid(), nn.Threshold(0.1, 20), nn.Softmin(1), nn.Softmax(1), nn.LogSoftmax(-1)])


def pools(rank: int) -> Any:
    def layer(name: str, *args: Any, **options: Any) -> Any:
        return getattr(nn, f"{name}{rank}d")(*args, **options)

    layers = [layer("MaxPool", 3, 2, 1, ceil_mode=True), layer("MaxPool", 2, return_indices=True)]
    layers += [layer("AvgPool", 3, 2, 1, count_include_pad=own) for own in (True, False)]
    layers += [layer("AdaptiveAvgPool", size) for size in (1, 3)]
    return All([*layers, layer("AdaptiveMaxPool", 1), layer("AdaptiveMaxPool", 4), layer("LPPool", 2, 2)])


def norms() -> Any:
    tracked = nn.BatchNorm2d(4)
    tracked.running_mean, tracked.running_var = numbers(4), numbers(4).abs()
    layers = [tracked, nn.BatchNorm2d(4, affine=False), nn.LayerNorm((5, 6)), nn.LayerNorm(6, bias=False)]
    layers += [nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.RMSNorm(6), nn.LocalResponseNorm(3)]
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data.copy_(numbers(*parameter.shape))
    return All(layers)


def embeddings() -> Any:
    return All([nn.Embedding(7, 5, padding_idx=1), *[nn.EmbeddingBag(7, 5, mode=m) for m in ("sum", "mean", "max")]])


def upsampling() -> Any:
    layers = [nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.PixelShuffle(2)]
    return All([*layers, nn.Upsample(size=(7, 9), mode="bilinear", align_corners=True), nn.ReflectionPad2d(2)])


def recurrent() -> Any:
    classes = (nn.LSTM, nn.GRU, nn.RNN)
    layers = [cls(4, 8, 2, batch_first=True, bidirectional=True) for cls in classes]
    return All([*layers, nn.LSTM(4, 8, proj_size=3, batch_first=True), nn.GRU(4, 8, bias=False, batch_first=True)])


def self_attention() -> Any:
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    weightless = nn.MultiheadAttention(8, 4, batch_first=True, bias=False)
    made = Function(lambda x: (module(x, x, x), weightless(x, x, x, need_weights=False)[0]))
    made.parts = nn.ModuleList([module, weightless])
    return made


def products(q: Any, k: Any, v: Any) -> Any:
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    masked = F.scaled_dot_product_attention(q, k, v, q @ k.transpose(-1, -2) > -1, scale=0.3)
    return causal, masked, F.scaled_dot_product_attention(q, k, v)


class Residual(nn.Module):
    """Two inputs, of which one is optional elsewhere, and nested outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(4, 4), nn.Linear(3, 4), nn.LayerNorm(4)

    def forward(self, x: Any, other: Any, mask: Any) -> Any:
        hidden = x + F.gelu(self.first(x) + self.second(other))
        return {"hidden": hidden.masked_fill(mask, 0), "parts": [self.norm(hidden), (hidden > 0, hidden.argmax(1))]}


Sample = tuple[Callable[[], Any], list[tuple[int, ...]]]
FAMILIES: dict[str, Sample] = {
    "network": (network, [(2, 3, 6, 6)]),
    "linear": (linear, [(2, 4)]),
    **{f"convolutions {r}d": (lambda r=r: convolutions(r), [(2, 4, *SIZES[:r])]) for r in (1, 2, 3)},
    **{f"transposed {r}d": (lambda r=r: transposed(r), [(2, 4, *SIZES[:r])]) for r in (1, 2, 3)},
    "depthwise separable": (depthwise_separable, [(2, 4, 6, 5)]),
    "activations": (activations, [(2, 4, 6)]),
    **{f"pools {r}d": (lambda r=r: pools(r), [(2, 3, *(8, 9, 6)[:r])]) for r in (1, 2, 3)},
    "norms": (norms, [(2, 4, 5, 6)]),
    "upsampling": (upsampling, [(2, 4, 5, 4)]),
    "recurrent": (recurrent, [(2, 5, 4)]),
    "attention": (self_attention, [(2, 5, 8)]),
    "scaled dot product": (lambda: Function(products), [(2, 3, 5, 8), (2, 3, 6, 8), (2, 3, 6, 8)]),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), [(2, 5, 8)]),
    "encoder norm first": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
        [(2, 5, 8)],
    ),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), [(2, 4, 8), (2, 5, 8)]),
}


def exported_like_torch(module: Any, inputs: list[Any], again: list[Any], path: Path) -> Any:
    """The session of ONNX Runtime that runs the exported module, once it gives torch's results."""
    module.eval()
    batch = {0: torch.export.Dim("batch")}
    dynamic: Any = (tuple(batch for _ in inputs),) if isinstance(module, Function) else tuple(batch for _ in inputs)
    model = basalt.from_torch(module, tuple(inputs), dynamic)
    basalt.save(model, path)
    session = ort.InferenceSession(path)
    for given in (inputs, again):
        with torch.no_grad():
            expected = torch.utils._pytree.tree_leaves(module(*given))
        feeds = {i.name: x.numpy() for i, x in zip(model.inputs, given, strict=True)}
        for result, wanted in zip(session.run(None, feeds), expected, strict=True):
            assert result.dtype == wanted.numpy().dtype
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
    return session


@pytest.mark.parametrize("family", FAMILIES)
def test_onnx_runtime_gives_the_same(family: str, tmp_path: Path) -> None:
    make, shapes = FAMILIES[family]
    torch.manual_seed(0)
    inputs, again = ([numbers(n, *s[1:], seed=i) for i, s in enumerate(shapes)] for n in (2, 3))
    session = exported_like_torch(make(), inputs, again, tmp_path / "m.onnx")
    assert all(i.shape[0] == "batch" for i in session.get_inputs())


def test_embeddings_in_onnx_runtime(tmp_path: Path) -> None:
    ids = torch.arange(12).reshape(3, 4) % 7
    exported_like_torch(embeddings(), [ids], [ids[:2]], tmp_path / "m.onnx")


def test_several_inputs_and_outputs_in_onnx_runtime(tmp_path: Path) -> None:
    def inputs(rows: int) -> list[Any]:
        return [numbers(rows, 4), numbers(rows, 3, seed=1), numbers(rows, 4, seed=2) > 0]

    session = exported_like_torch(Residual(), inputs(2), inputs(5), tmp_path / "m.onnx")
    assert [i.name for i in session.get_inputs()] == ["x", "other", "mask"]
    assert [o.name for o in session.get_outputs()] == ["output_0", "output_1", "output_2", "output_3"]
