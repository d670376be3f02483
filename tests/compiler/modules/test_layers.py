"""Convolutions, pooling, normalisation, activations, embeddings: each layer against torch's own result."""

from __future__ import annotations

from typing import Any

import pytest

from .compare import All, check, numbers, torch

nn = torch.nn
F = torch.nn.functional


def test_linear_layers_and_dropout() -> None:
    batch, steps = torch.export.Dim("batch"), torch.export.Dim("steps")
    layers = [nn.Linear(4, 3), nn.Linear(4, 2, bias=False), nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.ReLU())]
    made = check(All(layers), numbers(2, 5, 4), dynamic=({0: batch, 1: steps},), again=[[numbers(7, 3, 4)]])
    assert made.inputs[0].shape == ("batch", "steps", 4)
    check(nn.Bilinear(3, 4, 5), numbers(2, 3), numbers(2, 4))


def test_activations() -> None:
    layers = [nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.PReLU(4), nn.PReLU(), nn.ELU(), nn.SELU(), nn.CELU(1.5)]
    layers += [nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Sigmoid(), nn.Tanh(), nn.Hardtanh(), nn.Hardswish()]
    layers += [nn.Hardsigmoid(), nn.Softplus(), nn.Softplus(2, 5), nn.Softsign(), nn.Softshrink(), nn.Hardshrink()]
    layers += [nn.Tanhshrink(), nn.LogSigmoid(), nn.Threshold(0.1, 20), nn.GLU(), nn.Softmin(1), nn.Softmax(1)]
    layers += [nn.LogSoftmax(1), nn.RReLU()]
    check(All(layers), numbers(2, 4, 6) * 3)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions(rank: int) -> None:
    conv, turned = (getattr(nn, f"{name}{rank}d") for name in ("Conv", "ConvTranspose"))
    layers = [
        conv(4, 6, 3, padding=1, groups=2),
        conv(4, 4, 3, groups=4, stride=2),
        conv(4, 2, 2, dilation=2, bias=False),
        conv(4, 2, 3, padding="same"),
        conv(4, 2, 3, padding=1, padding_mode="circular"),
        turned(4, 6, 3, stride=2, padding=1, groups=2, output_padding=1),
    ]
    check(All(layers), numbers(2, 4, *(7, 6, 5)[:rank]))
    check(layers[0], numbers(4, *(7, 6, 5)[:rank]))


def test_convolution_with_symbolic_sizes() -> None:
    batch, height = torch.export.Dim("batch"), torch.export.Dim("height", min=8)
    module = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    check(module, numbers(2, 4, 9, 8), dynamic=({0: batch, 2: height},), again=[[numbers(3, 4, 12, 8)]], compiled=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pooling(rank: int) -> None:
    def layer(name: str, *args: Any, **options: Any) -> Any:
        return getattr(nn, f"{name}{rank}d")(*args, **options)

    layers = [
        layer("MaxPool", 3, 2, 1, ceil_mode=True),
        layer("MaxPool", 2, dilation=2, stride=1),
        layer("MaxPool", 2, return_indices=True),
        layer("AvgPool", 3, 2, 1),
        layer("AvgPool", 3, 2, 1, count_include_pad=False, ceil_mode=True),
        layer("AdaptiveAvgPool", 1),
        layer("AdaptiveAvgPool", 3),
        layer("AdaptiveAvgPool", 4),
        layer("AdaptiveMaxPool", 3),
        layer("AdaptiveMaxPool", 1),
        layer("AdaptiveMaxPool", 4, return_indices=True),
        layer("LPPool", 2, 2),
        layer("LPPool", 3, 3, 2, ceil_mode=True),
    ]
    if rank > 1:
        layers.append(layer("AvgPool", 2, divisor_override=3))
        layers.append(layer("AvgPool", 3, 2, 1, ceil_mode=True, divisor_override=5))
    check(All(layers), numbers(2, 3, *(8, 9, 6)[:rank]))


def test_global_pooling_of_symbolic_sizes() -> None:
    dims = {0: torch.export.Dim("batch"), 2: torch.export.Dim("height")}
    check(nn.AdaptiveAvgPool2d(1), numbers(2, 3, 8, 9), dynamic=(dims,), again=[[numbers(3, 3, 5, 9)]])


def test_normalisation() -> None:
    tracked = nn.BatchNorm2d(4)
    tracked.running_mean, tracked.running_var = numbers(4), numbers(4).abs()
    layers = [tracked, nn.BatchNorm2d(4, affine=False), nn.BatchNorm2d(4, track_running_stats=False)]
    layers += [nn.LayerNorm((5, 6)), nn.LayerNorm(6, bias=False), nn.LayerNorm(6, elementwise_affine=False)]
    layers += [nn.GroupNorm(2, 4), nn.GroupNorm(4, 4, affine=False), nn.InstanceNorm2d(4, affine=True)]
    layers += [nn.InstanceNorm2d(4), nn.InstanceNorm2d(4, track_running_stats=True), nn.RMSNorm(6)]
    layers += [nn.RMSNorm((5, 6), eps=1e-3), nn.LocalResponseNorm(3)]
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data.copy_(numbers(*parameter.shape))
    batch = torch.export.Dim("batch")
    check(All(layers), numbers(3, 4, 5, 6), dynamic=({0: batch},), again=[[numbers(5, 4, 5, 6)]])


def test_embeddings() -> None:
    ids = torch.arange(12).reshape(3, 4) % 7
    batch = torch.export.Dim("batch")
    layers = [nn.Embedding(7, 5, padding_idx=1)]
    layers += [nn.EmbeddingBag(7, 5, mode=mode, padding_idx=2) for mode in ("sum", "mean", "max")]
    check(All(layers), ids, dynamic=({0: batch},), again=[[ids[:2]]])
    check(nn.EmbeddingBag(7, 5, mode="sum"), ids.reshape(-1), torch.tensor([0, 3, 3, 9]))


def test_upsampling() -> None:
    layers = [nn.Upsample(scale_factor=2), nn.Upsample(size=(5, 9)), nn.Upsample(size=(7, 3), mode="nearest-exact")]
    layers += [nn.Upsample(scale_factor=1.7, mode="bilinear"), nn.Upsample(scale_factor=2, mode="bicubic")]
    layers += [nn.Upsample(size=(7, 9), mode=mode, align_corners=True) for mode in ("bilinear", "bicubic")]
    check(All(layers), numbers(1, 2, 5, 4))
    check(All([nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="trilinear")]), numbers(1, 2, 3, 4, 5))
    check(All([nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="linear")]), numbers(1, 2, 5))


def test_upsampling_of_symbolic_sizes() -> None:
    dims = {0: torch.export.Dim("batch"), 2: torch.export.Dim("height")}
    layer = nn.Upsample(scale_factor=2, mode="bilinear")
    check(layer, numbers(2, 2, 5, 4), dynamic=(dims,), again=[[numbers(3, 2, 7, 4)]])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_places_are_torchs_own(mode: str) -> None:
    layers = [nn.Upsample(scale_factor=scale, mode=mode) for scale in (0.6, 1.7, 3)] + [nn.Upsample(13, mode=mode)]
    check(All(layers), numbers(1, 2, 9, 5))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_empty_batches(rank: int) -> None:
    layers = [nn.Sequential(getattr(nn, f"Conv{rank}d")(2, 3, 2), getattr(nn, f"ConvTranspose{rank}d")(3, 2, 2))]
    layers.append(getattr(nn, f"BatchNorm{rank}d")(2))
    x = numbers(2, 2, *(5, 4, 3)[:rank])
    check(All(layers), x, dynamic=({0: torch.export.Dim("batch")},), again=[[x[:1]], [x[:0]]])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_downsampling(mode: str) -> None:
    check(lambda x: F.interpolate(x, size=(3, 4), mode=mode, antialias=True), numbers(1, 2, 7, 8))


def test_padding_and_rearranging() -> None:
    layers = [nn.ZeroPad2d(1), nn.ConstantPad2d((-1, 2, 0, 1), 3.0), nn.ReflectionPad2d(2), nn.ReplicationPad2d(3)]
    layers += [nn.CircularPad2d((1, 2, 2, 1)), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)]
    layers += [nn.Flatten(), nn.Unflatten(1, (2, 4)), nn.Unfold(2), nn.Identity()]
    check(All(layers), numbers(1, 8, 4, 6))
    check(nn.Fold((4, 5), 2), numbers(1, 8, 12))
