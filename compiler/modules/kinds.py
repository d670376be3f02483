"""Which kind of ``.bsl`` file a module of PyTorch becomes: that of its class's family."""

from __future__ import annotations

from typing import Any

from basalt.serialization import Kind

__all__ = ["kind_of", "kind_of_name"]

_FAMILIES = {
    Kind.SEQUENTIAL: ("Sequential",),
    Kind.LINEAR: ("Linear", "Bilinear"),
    Kind.CONVOLUTION: ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
    Kind.RECURRENT: ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"),
    Kind.ATTENTION: ("MultiheadAttention",),
    Kind.TRANSFORMER: (
        *("Transformer", "TransformerEncoder", "TransformerDecoder"),
        *("TransformerEncoderLayer", "TransformerDecoderLayer"),
    ),
    Kind.NORMALISATION: (
        *("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"),
        *("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LocalResponseNorm", "CrossMapLRN2d"),
    ),
    Kind.EMBEDDING: ("Embedding", "EmbeddingBag"),
    Kind.ACTIVATION: (
        *("ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "CELU", "SELU", "GELU", "GLU", "SiLU", "Mish"),
        *("Sigmoid", "Tanh", "LogSigmoid", "Hardsigmoid", "Hardtanh", "Hardswish", "Hardshrink", "Softshrink"),
        *("Tanhshrink", "Softplus", "Softsign", "Threshold", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"),
    ),
    Kind.POOLING: (
        *("MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d"),
        *("AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "LPPool3d"),
        *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"),
    ),
}
"""Classes of ``torch.nn`` by the kind of their files; all others are of kind MODULE."""
_KINDS = {name: kind for kind, names in _FAMILIES.items() for name in names}


def kind_of(module: Any) -> Kind:
    """The kind of a module: its class's where that is one of ``torch.nn`` itself, whose name tells what it is."""
    origin = type(module).__module__
    return kind_of_name(type(module).__name__) if origin.startswith("torch.nn.modules.") else Kind.MODULE


def kind_of_name(name: str) -> Kind:
    """The kind of the class of ``torch.nn`` of that name; MODULE for a class of no family."""
    return _KINDS.get(name, Kind.MODULE)
