"""Train the digits network in NumPy and write digits.bsl and test_images.npz beside this file.

Needs scikit-learn for its handwritten digits: ``pip install -e '.[test]'``, then
``python examples/digits/train.py``. It takes about a minute on one core. The seed is fixed; the
result may still differ in the last digits between BLAS libraries.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from graph import export
from layers import Adam, Array, Conv3x3, Dense, Layer, MaxPool2x2, Relu, cross_entropy
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent
SEED = 2026
TEST_IMAGES = 360
EPOCHS = 60
BATCH = 32
PEAK_RATE = 2e-3
WEIGHT_DECAY = 1e-2

Labels = NDArray[np.integer]


def load_split() -> tuple[Array, Labels, Array, Labels]:
    """Return training images, training labels, test images, test labels; pixels are 0..16.

    The split is stratified: each digit has the same share of both sets.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = digits.images.astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=TEST_IMAGES, random_state=SEED, stratify=digits.target
    )
    return train_x, train_y, test_x, test_y


def make_network(rng: np.random.Generator) -> dict[str, Layer]:
    """Layers by name, in order: 25.9 thousand parameters, (batch, 1, 8, 8) to (batch, 10) logits."""
    return {
        "conv1": Conv3x3(rng, 1, 16),
        "relu1": Relu(),
        "conv2": Conv3x3(rng, 16, 32),
        "relu2": Relu(),
        "pool1": MaxPool2x2(),
        "conv3": Conv3x3(rng, 32, 64),
        "relu3": Relu(),
        "pool2": MaxPool2x2(),
        "dense": Dense(rng, 256, 10),
    }


def forward(network: dict[str, Layer], images: Array) -> Array:
    """Logits (batch, 10) of images (batch, 1, 8, 8) with values 0..1."""
    x = images
    for layer in network.values():
        x = layer.forward(x)
    return x


def backward(network: dict[str, Layer], gradient: Array) -> None:
    """Set every layer's gradients from the loss's gradient by the logits."""
    for layer in reversed(network.values()):
        gradient = layer.backward(gradient)


def augment(rng: np.random.Generator, images: Array) -> Array:
    """Shift each image by up to one pixel in both directions and add a little noise."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    shifts = rng.integers(0, 3, (len(images), 2))
    shifted = np.stack([p[:, r : r + 8, c : c + 8] for p, (r, c) in zip(padded, shifts)])
    noise = rng.standard_normal(shifted.shape).astype(np.float32) * np.float32(0.03)
    return np.clip(shifted + noise, 0, 1)


def learning_rate(progress: float) -> float:
    """One linear warm-up over the first 5% of the run, then a half cosine down to zero."""
    if progress < 0.05:
        return PEAK_RATE * progress / 0.05
    return PEAK_RATE * 0.5 * (1 + float(np.cos(np.pi * (progress - 0.05) / 0.95)))


def train(network: dict[str, Layer], images: Array, labels: Labels, rng: np.random.Generator) -> None:
    """Fit the network to images (count, 1, 8, 8) with values 0..1 in place."""
    adam = Adam(network, WEIGHT_DECAY)
    batches = len(images) // BATCH
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        total = 0.0
        for index in range(batches):
            chosen = order[index * BATCH : (index + 1) * BATCH]
            loss, gradient = cross_entropy(forward(network, augment(rng, images[chosen])), labels[chosen])
            backward(network, gradient)
            adam.update(learning_rate((epoch + index / batches) / EPOCHS))
            total += loss
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3d} of {EPOCHS}: loss {total / batches:.4f}", flush=True)


def accuracy(network: dict[str, Layer], images: Array, labels: Labels) -> float:
    """Share of images whose largest logit is at their label."""
    return float((forward(network, images).argmax(axis=1) == labels).mean())


def main() -> None:
    """Train, report, and write the weights, the test set and the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write to (default: beside train.py)")
    folder = parser.parse_args().output
    train_x, train_y, test_x, test_y = load_split()
    scaled = train_x[:, None] / np.float32(16)
    rng = np.random.default_rng(SEED)
    network = make_network(rng)
    start = time.perf_counter()
    train(network, scaled, train_y, rng)
    print(f"trained on {len(scaled)} images in {time.perf_counter() - start:.0f} s")
    print(f"training accuracy {accuracy(network, scaled, train_y):.2%}")
    print(f"test accuracy     {accuracy(network, test_x[:, None] / np.float32(16), test_y):.2%} ({len(test_y)} images)")

    weights = {f"{name}.{key}": v for name, layer in network.items() for key, v in layer.parameters.items()}
    np.savez(folder / "weights.npz", **weights)
    np.savez_compressed(folder / "test_images.npz", images=test_x.astype(np.uint8), labels=test_y.astype(np.uint8))
    export(folder / "weights.npz", folder / "digits.bsl")


if __name__ == "__main__":
    main()
