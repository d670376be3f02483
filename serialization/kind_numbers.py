"""The numbers of the kinds of payload; docs/bsl-format.md has the same table for people."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ESTIMATOR_KINDS", "MODULE_KINDS", "Kind"]


class Kind(IntEnum):
    """What a ``.bsl`` file holds, as its header says it. A number is never given another meaning.

    ESTIMATOR and MODULE are of estimators and modules of no family; those of a family have its number. 19, 35 and 68
    stay free: they differ from 3 or 4 in one bit, and the checksum does not cover the header.
    """

    GRAPH = 1
    PROGRAM = 2
    ESTIMATOR = 3
    MODULE = 4

    SCALER = 16
    FEATURE_EXPANSION = 17
    ENCODER = 18
    IMPUTER = 20
    SELECTOR = 21
    DECOMPOSITION = 22
    LINEAR_REGRESSOR = 23
    LINEAR_CLASSIFIER = 24
    KERNEL_MACHINE = 25
    DECISION_TREE = 26
    FOREST = 27
    GRADIENT_BOOSTING = 28
    CLUSTERS = 29
    NEIGHBOURS = 30
    NAIVE_BAYES = 31
    NEURAL_NETWORK = 32
    COMPOSITION = 33
    DISCRIMINANT_ANALYSIS = 34
    MIXTURE = 36
    BASELINE = 37

    SEQUENTIAL = 64
    LINEAR = 65
    CONVOLUTION = 66
    RECURRENT = 67
    ATTENTION = 69
    TRANSFORMER = 70
    NORMALISATION = 71
    EMBEDDING = 72
    ACTIVATION = 73
    POOLING = 74


ESTIMATOR_KINDS = (Kind.ESTIMATOR, *(kind for kind in Kind if 16 <= kind < 64))
"""Kinds whose payload is that of ESTIMATOR."""

MODULE_KINDS = (Kind.MODULE, *(kind for kind in Kind if 64 <= kind < 96))
"""Kinds whose payload is that of MODULE."""
