"""Peak memory, as tracemalloc sees it: NumPy reports its buffers to it."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from bsl_samples import constants_only, container, graph_payload

from basalt.serialization import file_size, load, save

PAYLOAD = 1 << 26


def peak_of(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LAYOUTS: dict[str, np.ndarray] = {
    "contiguous": np.zeros(PAYLOAD // 4, np.float32),
    "transposed": np.zeros((1 << 10, PAYLOAD >> 12), np.float32).T,
    "one long row": np.zeros((PAYLOAD // 4, 2), np.float32)[:, 0].reshape(1, -1),
    "inner transposed": np.zeros((64, 64, PAYLOAD >> 14), np.float32).transpose(0, 2, 1),
    "reversed": np.zeros(PAYLOAD // 8, np.float64)[::-1],
    "other byte order": np.zeros(PAYLOAD // 8, np.dtype(np.float64).newbyteorder()),
    "broadcast": np.broadcast_to(np.zeros(1 << 10, np.float32), (PAYLOAD >> 12, 1 << 10)),
    "packed": np.zeros(PAYLOAD, ml_dtypes.int4),
    "bytes": np.zeros(PAYLOAD, ml_dtypes.float8_e5m2),
    "flags": np.zeros(PAYLOAD, bool),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_saving_takes_a_buffer_of_fixed_size(tmp_path: Path, layout: str) -> None:
    graph = constants_only(w=LAYOUTS[layout])
    assert peak_of(lambda: save(tmp_path / "m.bsl", graph)) < 2 << 20
    assert file_size(tmp_path / "m.bsl") >= PAYLOAD // 2
    (tmp_path / "m.bsl").unlink()


def test_loading_takes_no_memory_for_mapped_weights(tmp_path: Path) -> None:
    save(tmp_path / "m.bsl", constants_only(w=LAYOUTS["contiguous"]))
    assert peak_of(lambda: load(tmp_path / "m.bsl")) < 1 << 18
    content = (tmp_path / "m.bsl").read_bytes()
    assert PAYLOAD < peak_of(lambda: load(content)) < 1.1 * PAYLOAD


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_file_objects_are_in_memory_once(tmp_path: Path) -> None:
    """Resident memory of a process of its own, as untouched memory does not count here."""
    save(tmp_path / "m.bsl", constants_only(w=np.ones(PAYLOAD // 4, np.float32)))
    script = f"""
import io, re
from basalt.serialization import load
load(io.BytesIO({container(graph_payload())!r}))
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
before = peak()
with open({str(tmp_path / "m.bsl")!r}, "rb") as file:
    graph = load(file)
print(peak() - before)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert PAYLOAD < int(result.stdout) < 1.4 * PAYLOAD
