"""Layers with sizes that hypothesis makes: one row, one feature, odd and even sizes."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from .compare import All, check, numbers, torch

nn = torch.nn
sizes = st.integers(1, 9)
few = settings(max_examples=5)
BATCH, STEPS = torch.export.Dim("batch"), torch.export.Dim("steps")


@few
@example(rows=1, before=1, after=1)
@given(rows=sizes, before=sizes, after=sizes)
def test_linear_and_normalisation(rows: int, before: int, after: int) -> None:
    layers = nn.Sequential(nn.Linear(before, after), nn.LayerNorm(after), nn.GELU(), nn.Linear(after, 1))
    check(All([layers, nn.Linear(before, after, bias=False), nn.Softmax(1)]), numbers(rows, before))


@few
@example(rows=1, channels=1, length=1, kernel=1, stride=3)
@given(rows=sizes, channels=sizes, length=sizes, kernel=st.integers(1, 4), stride=st.integers(1, 3))
def test_convolutions_and_pools(rows: int, channels: int, length: int, kernel: int, stride: int) -> None:
    place = {"stride": stride, "padding": kernel // 2}
    layers = [nn.Conv1d(channels, 3, kernel, **place), nn.Conv1d(channels, channels, kernel, groups=channels, **place)]
    layers += [nn.ConvTranspose1d(channels, 2, kernel, stride), nn.BatchNorm1d(channels), nn.AdaptiveAvgPool1d(length)]
    layers += [pool(kernel, stride, kernel // 2, ceil_mode=True) for pool in (nn.MaxPool1d, nn.AvgPool1d)]
    check(All(layers), numbers(rows, channels, length + kernel))


@few
@example(height=1, width=1, to=(1, 1))
@given(height=sizes, width=sizes, to=st.tuples(sizes, sizes))
def test_resampling(height: int, width: int, to: tuple[int, int]) -> None:
    layers = [nn.AdaptiveAvgPool2d(to), nn.AdaptiveMaxPool2d(to), nn.Upsample(to), nn.Upsample(to, mode="bilinear")]
    check(All([*layers, nn.Upsample(to, mode="bicubic", align_corners=True)]), numbers(1, 2, height, width))


@few
@example(rows=1, steps=1, features=1, hidden=1)
@given(rows=sizes, steps=sizes, features=sizes, hidden=sizes)
def test_recurrent_layers(rows: int, steps: int, features: int, hidden: int) -> None:
    layers = [cls(features, hidden, bidirectional=True) for cls in (nn.LSTM, nn.GRU, nn.RNN)]
    check(All(layers), numbers(steps, rows, features))


@few
@example(rows=1, queries=1, keys=1, width=1)
@given(rows=sizes, queries=sizes, keys=sizes, width=sizes)
def test_attention(rows: int, queries: int, keys: int, width: int) -> None:
    keyed = numbers(rows, keys, 2 * width, seed=1)
    module = nn.MultiheadAttention(2 * width, 2, batch_first=True)
    check(module, numbers(rows, queries, 2 * width), keyed, keyed)


def test_one_export_for_every_size() -> None:
    """Sizes that the example did not have, one among them, through a single program."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    again = [[numbers(rows, steps, 8)] for rows, steps in ((1, 1), (1, 7), (6, 1), (3, 4))]
    check(layer, numbers(2, 5, 8), dynamic=({0: BATCH, 1: STEPS},), again=again)
