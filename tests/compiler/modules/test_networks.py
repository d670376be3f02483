"""Small networks of the kinds that are in use, compiled: torch's results for several batches, and from files too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import basalt

from .compare import check, numbers, same, torch

nn = torch.nn
F = nn.functional
BATCH = torch.export.Dim("batch")


def convolution(before: int, after: int, size: int = 3, **options: Any) -> Any:
    """Convolution, batch normalisation with moments as after training, rectifier."""
    norm = nn.BatchNorm2d(after)
    norm.running_mean, norm.running_var = numbers(after) * 0.1, numbers(after, seed=1).abs() + 0.5
    return nn.Sequential(
        nn.Conv2d(before, after, size, padding=size // 2, bias=False, **options), norm, nn.ReLU(inplace=True)
    )


class ResidualBlock(nn.Module):
    """The basic block of ResNet, with a projection where the size changes."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(before, after, stride=stride),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.shortcut = convolution(before, after, 1, stride=stride) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        return F.relu(self.body(x) + self.shortcut(x))


def residual_network() -> Any:
    blocks = [ResidualBlock(8, 8), ResidualBlock(8, 16, 2), ResidualBlock(16, 16)]
    stem = [convolution(3, 8, stride=2), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class InvertedResidual(nn.Module):
    """MobileNetV3's block: expand, filter each channel, weigh channels, project."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden), nn.Hardswish())
        self.squeeze, self.excite = nn.Conv2d(hidden, 4, 1), nn.Conv2d(4, hidden, 1)
        self.project = nn.Conv2d(hidden, channels, 1)

    def forward(self, x: Any) -> Any:
        hidden = self.depthwise(self.expand(x))
        weights = self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(hidden, 1))))
        return x + self.project(hidden * F.hardsigmoid(weights))


def mobile_network() -> Any:
    stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Hardswish())
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 12), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(12, 5)]
    return nn.Sequential(stem, InvertedResidual(8, 16), InvertedResidual(8, 16), *head)


class UNet(nn.Module):
    """Two levels, with what the way down leaves joined to the way up."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.bottom = convolution(2, 4), convolution(4, 8), convolution(8, 8)
        self.up_second, self.up_first = nn.ConvTranspose2d(8, 8, 2, stride=2), nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.join_second, self.join_first = convolution(16, 8), convolution(8, 4)
        self.head = nn.Conv2d(4, 3, 1)

    def forward(self, x: Any) -> Any:
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        bottom = self.bottom(F.max_pool2d(second, 2))
        second = self.join_second(torch.cat([second, self.up_second(bottom)], 1))
        first = self.join_first(torch.cat([first, self.up_first(second)], 1))
        return self.head(first).softmax(1)


class TextEncoder(nn.Module):
    """Tokens and places embedded, encoder layers, the mean over what is no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(30, 16, padding_idx=0), nn.Embedding(12, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False)

    def forward(self, ids: Any) -> Any:
        padding = ids == 0
        hidden = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        hidden = self.layers(hidden, src_key_padding_mask=padding)
        kept = (~padding).float().unsqueeze(-1)
        return F.normalize((hidden * kept).sum(1) / kept.sum(1), dim=1)


class Tagger(nn.Module):
    """A label for each token, by LSTMs of both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(30, 8)
        self.recurrent = nn.LSTM(8, 8, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 5)

    def forward(self, ids: Any) -> Any:
        scores = self.head(self.recurrent(self.tokens(ids))[0])
        return {"log_probabilities": scores.log_softmax(-1), "tags": scores.argmax(-1)}


class Decoder(nn.Module):
    """The decoder of a variational autoencoder, with noise that is given."""

    def __init__(self) -> None:
        super().__init__()
        self.spread = nn.Linear(6, 8 * 3 * 3)
        self.grow = nn.Sequential(
            nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1, output_padding=1),
            nn.GroupNorm(2, 8),
            nn.SiLU(),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.Conv2d(8, 1, 3, padding=1),
        )

    def forward(self, mean: Any, log_variance: Any, noise: Any) -> Any:
        latent = mean + (0.5 * log_variance).exp() * noise
        image = self.grow(self.spread(latent).unflatten(1, (8, 3, 3))).sigmoid()
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1)
        return image, divergence.mean()


def pixels(*shape: int) -> list[Any]:
    return [numbers(*shape)]


def words(rows: int, length: int) -> list[Any]:
    ids = torch.arange(rows * length).reshape(rows, length) * 7 % 29 + 1
    ids[0, length - 2 :] = 0
    return [ids]


ROWS, SENTENCES = {0: BATCH}, {0: BATCH, 1: torch.export.Dim("length", max=12)}
NETWORKS: dict[str, tuple[Any, Any, list[list[Any]]]] = {
    "residual": (residual_network, (ROWS,), [pixels(n, 3, 16, 16) for n in (2, 1, 3)]),
    "mobile": (mobile_network, (ROWS,), [pixels(n, 3, 12, 12) for n in (2, 1, 3)]),
    "unet": (UNet, (ROWS,), [pixels(n, 2, 8, 12) for n in (2, 1)]),
    "encoder": (TextEncoder, (SENTENCES,), [words(2, 6), words(1, 4), words(3, 9)]),
    "tagger": (Tagger, (SENTENCES,), [words(2, 6), words(1, 3)]),
    "decoder": (Decoder, (ROWS,) * 3, [[numbers(n, 6, seed=i) for i in range(3)] for n in (2, 5)]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, tmp_path: Path) -> None:
    make, dynamic, (first, *again) = NETWORKS[name]
    torch.manual_seed(0)
    made = check(make(), *first, dynamic=dynamic, again=again, compiled=True)
    made.save(tmp_path / "network.bsl")
    same(basalt.load(tmp_path / "network.bsl")(*first), made(*first), rtol=0, atol=0)
