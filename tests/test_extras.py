"""scikit-learn and torch are optional: what needs them says so, and what was saved runs without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
BLOCKED = """
import sys
for name in ("sklearn", "torch", "pandas", "pyarrow", "scipy", "joblib", "onnx", "onnxruntime"):
    sys.modules[name] = None
import numpy as np, basalt
"""


def without_extras(code: str) -> str:
    """What a program prints in an environment that has none of the optional packages."""
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("basalt.from_sklearn(object())", "sklearn"),
        ("basalt.from_sklearn(object(), 4)", "sklearn"),
        ("basalt.OnnxConverter.to_onnx(object())", "sklearn"),
        ("basalt.OnnxConverter.export(object(), 4, 'model.onnx')", "sklearn"),
        ("basalt.from_torch(object(), ())", "torch"),
        ("basalt.torch_backend(object(), [])", "torch"),
    ],
)
def test_the_error_says_which_extra_to_install(call: str, extra: str) -> None:
    code = f"""
try:
    {call}
except basalt.UnsupportedError as error:
    print(error)
"""
    assert f"pip install 'basalt-compiler[{extra}]'" in without_extras(code)


def test_estimators_of_every_family_run_without_them() -> None:
    folder = ROOT / "compiler" / "estimators" / "golden" / "kinds"
    code = f"""
from pathlib import Path
for path in sorted(Path({str(folder)!r}).glob("*.bsl")):
    estimator = basalt.load(path, basalt.Estimator)
    rows = np.load(path.with_suffix(".npz"))["rows"]
    result = getattr(estimator, estimator.methods[0])(rows.astype(object) if rows.dtype.kind == "U" else rows)
    print(path.stem, len(result))
assert not {{n for n in ("sklearn", "torch", "pandas") if sys.modules[n]}}
"""
    printed = without_extras(code).splitlines()
    assert [line.split()[0] for line in printed] == sorted(path.stem for path in folder.glob("*.bsl"))
    assert {line.split()[1] for line in printed} == {"4", "12"}


def test_modules_of_every_family_run_without_them() -> None:
    folder = ROOT / "compiler" / "modules" / "golden" / "kinds"
    code = f"""
from pathlib import Path
for path in sorted(Path({str(folder)!r}).glob("*.bsl")):
    stored = np.load(path.with_suffix(".npz"))
    result = basalt.load(path, basalt.Module)(*[stored[n] for n in stored if n.startswith("argument")])
    first = result[0] if isinstance(result, tuple) else result
    print(path.stem, first.shape == stored["result0"].shape)
"""
    assert without_extras(code).splitlines() == [
        f"{stem} True" for stem in sorted(p.stem for p in folder.glob("*.bsl"))
    ]
