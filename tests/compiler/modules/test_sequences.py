"""Recurrent layers, attention and transformers, with batches and lengths that change."""

from __future__ import annotations

from typing import Any

import pytest

from .compare import check, numbers, torch

nn = torch.nn
F = torch.nn.functional
BATCH, STEPS = torch.export.Dim("batch"), torch.export.Dim("steps")


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(4, 8, 2, bidirectional=True),
        lambda: nn.GRU(4, 8, 2, bias=False),
        lambda: nn.RNN(4, 8, bidirectional=True, nonlinearity="relu"),
    ],
    ids=["lstm", "gru", "rnn"],
)
def test_recurrent_layers_of_any_length(make: Any) -> None:
    """Networks of LSTMs are compiled in test_networks.py; compiling all three would take long."""
    module, again = make(), [[numbers(7, 3, 4)]]
    compiled = isinstance(module, nn.GRU)
    check(module, numbers(5, 2, 4), dynamic=({0: STEPS, 1: BATCH},), again=again, compiled=compiled)


def test_recurrent_layers_with_states() -> None:
    check(nn.LSTM(4, 8, batch_first=True), numbers(2, 5, 4), (numbers(1, 2, 8), numbers(1, 2, 8)))
    check(nn.GRU(4, 8, batch_first=True), numbers(2, 5, 4), numbers(1, 2, 8))
    check(nn.RNN(4, 8), numbers(5, 4))
    check(nn.LSTM(4, 8, proj_size=3), numbers(5, 2, 4))


def test_projected_states_of_any_length() -> None:
    module = nn.LSTM(4, 8, 2, proj_size=3, bidirectional=True)
    states = (numbers(4, 2, 3), numbers(4, 2, 8, seed=1))
    dims = ({0: STEPS, 1: BATCH}, ({1: BATCH}, {1: BATCH}))
    again = [[numbers(7, 3, 4), (numbers(4, 3, 3), numbers(4, 3, 8))]]
    check(module, numbers(5, 2, 4), states, dynamic=dims, again=again)
    check(nn.LSTM(4, 8, proj_size=3, bias=False), numbers(5, 2, 4), dynamic=({0: STEPS},), again=[[numbers(1, 2, 4)]])


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_cells(cell: Any) -> None:
    check(cell(4, 8), numbers(2, 4))


def test_training_mode_and_own_operators_stay() -> None:
    module = nn.LSTM(4, 8)
    before = torch._VF.lstm
    module.train()
    torch.manual_seed(0)
    from basalt.compiler.modules import from_torch

    from_torch(module, (numbers(5, 2, 4),))
    assert module.training and torch._VF.lstm is before


def test_attention_of_any_length() -> None:
    q, k, v = numbers(2, 3, 5, 8), numbers(2, 3, 6, 8), numbers(2, 3, 6, 8, seed=1)
    queries, keys = torch.export.Dim("queries"), torch.export.Dim("keys")
    again = [[q[:, :, :4], k[:, :, :3], v[:, :, :3]]]
    check(F.scaled_dot_product_attention, q, k, v, dynamic=(({2: queries}, {2: keys}, {2: keys}),), again=again)


def test_attention_with_masks() -> None:
    q, k, v = numbers(2, 4, 5, 8), numbers(2, 4, 6, 8), numbers(2, 4, 6, 8, seed=1)

    def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return (
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
            F.scaled_dot_product_attention(q, k, v, mask > -1, scale=0.3),
            F.scaled_dot_product_attention(q, k, v, mask),
            F.scaled_dot_product_attention(q[:, 0], k[:, 0], v[:, 0], mask),
            F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
        )

    check(masked, q, k, v, numbers(5, 6))


def test_attention_with_further_axes() -> None:
    q, k, v = numbers(3, 2, 4, 5, 8), numbers(3, 2, 4, 7, 8, seed=1), numbers(3, 2, 4, 7, 8, seed=2)

    def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
        masks = (mask, mask[:1], mask[0], mask[0, 0, 0] > 0)
        return [F.scaled_dot_product_attention(q, k, v, m) for m in masks]

    check(masked, q, k, v, numbers(3, 1, 1, 5, 7, seed=3))
    check(F.scaled_dot_product_attention, q[0], k[0, :1], v[0, :1])
    check(F.scaled_dot_product_attention, q, k[:, :1], v[:1])


@pytest.mark.parametrize("batch_first", [True, False])
def test_multi_head_attention(batch_first: bool) -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=batch_first)
    check(module, numbers(2, 5, 8), numbers(2, 5, 8, seed=1), numbers(2, 5, 8, seed=2))
    check(lambda x: module(x, x, x, need_weights=False)[0], numbers(2, 5, 8))


def test_transformer_encoder_of_any_length() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu")
    module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    check(module, numbers(2, 5, 8), dynamic=({0: BATCH, 1: STEPS},), again=[[numbers(3, 7, 8)]])


def test_transformer_encoder_layer_with_masks() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    check(lambda x, m: layer(x, src_key_padding_mask=m, src_mask=causal, is_causal=True), numbers(2, 5, 8), padding)


def test_transformer_encoder_with_padding_is_torchs_without_fast_path() -> None:
    module = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
    padding, mask = torch.tensor([[False] * 5, [False] * 3 + [True] * 2]), numbers(5, 5)
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        check(module, numbers(2, 5, 8), src_key_padding_mask=padding)
        check(module, numbers(2, 5, 8), mask=mask, is_causal=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def test_transformer() -> None:
    check(nn.Transformer(8, 2, 1, 1, 16, batch_first=True), numbers(2, 5, 8), numbers(2, 4, 8))
