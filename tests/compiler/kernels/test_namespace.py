"""Finding primitives by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from basalt.compiler.kernels.intrinsics import resolve
from basalt.compiler.kernels.namespace import SUFFIXES, names, names_for


def test_every_name_resolves_to_one_intrinsic() -> None:
    everything = resolve(names())
    assert len(everything) > 500
    assert resolve(["exp_f32", "ptr"]) == {"exp_f32": everything["exp_f32"], "ptr": everything["ptr"]}


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(KeyError, match="frobnicate_f32"):
        resolve(["add_f32", "frobnicate_f32"])


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_names_of_a_type(dtype: str) -> None:
    suffix = SUFFIXES[dtype]
    found = names_for(dtype)
    assert found == names_for(suffix)
    assert {f"load_{suffix}", f"store_{suffix}", f"cast_{suffix}_f32", f"cast_f32_{suffix}"} <= found
    assert not any(name.startswith("load_") for name in found if name != f"load_{suffix}")
    with pytest.raises(KeyError, match="float128"):
        names_for("float128")


def test_simple_kernels_load_no_coefficients_nor_numba() -> None:
    code = (
        "import sys; from basalt.compiler.kernels.namespace import recipe;"
        "[recipe(name) for name in ('ptr', 'load_f32', 'add_f32', 'cast_f32_f16')];"
        "assert 'basalt.compiler.kernels.vmath' not in sys.modules;"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
