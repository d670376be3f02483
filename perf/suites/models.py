"""Whole networks: the ONNX models of a folder, and the nine light networks that the onnx package carries.

A model ``NAME.onnx`` is fed what ``NAME.npz`` beside it holds (``in:INPUT``) and must give ``out:OUTPUT`` (``outmap:``
for maps, as columns in sorted order of keys); so do those of the list of real models that the tests use. Any other
model is fed random numbers, 1 for sizes that are open, and must give what ONNX Runtime gives without optimisations.
"""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from . import Case, Options

__all__ = ["PEERS", "build", "cases"]

PEERS = ("ort", "openvino")
_TOLERANCE, _TOLERANCE_INTEGERS = 1e-3, 2e-2
# Activations are rounded to 8 bits again and again: one element half-way between two steps goes the other way by the
# last bit, and the difference grows from layer to layer. Products and roundings are exact for what they are given; what
# comes of it is as far off as ONNX Runtime's own results are without optimisations, or for inputs changed by 1e-6.
# ppocr4_det's sums are long: those of ONNX Runtime differ by 1.2e-3 between processors.
_UNSTABLE = {"t5_enc_int8": 0.05, "t5_dec_int8": 0.1, "ppocr4_det": 3e-3}
_QUICK_BYTES = 1_000_000


def cases(options: Options) -> list[Case]:
    """The models of ``options.models`` (else BASALT_TEST_MODELS), then the light networks; quick: small files only."""
    folder = options.models or Path(os.environ.get("BASALT_TEST_MODELS", "~/.cache/basalt-models")).expanduser()
    paths = [(f"real/{path.stem}", path) for path in sorted(folder.glob("*.onnx"))]
    paths += [(f"light/{path.stem.removeprefix('light_')}", path) for path in _light_networks()]
    found = []
    for name, path in paths:
        if options.quick and (path.stat().st_size > _QUICK_BYTES or name.startswith("light/")):
            continue
        tolerance = _UNSTABLE.get(path.stem, _TOLERANCE_INTEGERS if "int8" in path.stem else _TOLERANCE)
        params = {"kind": "onnx", "path": str(path)}
        found.append(Case("models", name, name.replace("/", "-"), params, tolerance))
    return found


def _light_networks() -> list[Path]:
    spec = util.find_spec("onnx")
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.glob("backend/test/data/light/*.onnx"))


def build(case: Case, folder: Path) -> None:
    """Link the model and write what it is fed and must give."""
    path = Path(case.params["path"])
    link = folder / "model.onnx"
    if not link.exists():
        link.symlink_to(path.resolve())
    feeds, expected = _known(path) or _light(path) or _made_up(path)
    np.savez(folder / "feeds.npz", **feeds)
    np.savez(folder / "expected.npz", **expected)


_Arrays = dict[str, np.ndarray]


def _known(path: Path) -> tuple[_Arrays, _Arrays] | None:
    beside = path.with_suffix(".npz")
    if beside.is_file():
        with np.load(beside, allow_pickle=False) as data:
            return _named(data, "in:"), _named(data, "out:") | _named(data, "outmap:")
    from tests.conformance.real_models import all_models

    for model in all_models():
        if model.path.resolve() == path.resolve():
            return dict(model.feeds), dict(model.outputs) | dict(model.maps)
    return None


def _named(data: Any, prefix: str) -> _Arrays:
    return {name[len(prefix) :]: data[name] for name in data.files if name.startswith(prefix)}


def _light(path: Path) -> tuple[_Arrays, _Arrays] | None:
    """As the onnx package's own tests feed its light networks: a ramp from 0 to 1 in each input."""
    stored = path.with_name(f"{path.stem}_output_0.pb")
    if not stored.is_file():
        return None
    import onnx

    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for entry in model.graph.input:
        if entry.name not in constants:
            shape = [dim.dim_value or 1 for dim in entry.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            feeds[entry.name] = (np.arange(size).reshape(shape) / size).astype(np.float32)
    tensor = onnx.TensorProto.FromString(stored.read_bytes())
    return feeds, {model.graph.output[0].name: onnx.numpy_helper.to_array(tensor)}


def _made_up(path: Path) -> tuple[_Arrays, _Arrays]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(5)
    feeds = {entry.name: _random(entry, rng) for entry in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    return feeds, dict(zip(names, session.run(None, feeds), strict=True))


def _random(entry: Any, rng: np.random.Generator) -> np.ndarray:
    shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    kind = entry.type.removeprefix("tensor(").removesuffix(")")
    dtype = np.dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    values = rng.random(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
    return values.astype(dtype)
