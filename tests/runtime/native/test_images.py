"""Loading linked images: damaged ones are refused, naming the fault; where the code lies, and in what circumstances."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import threading
from typing import Any

import numpy as np
import pytest
from machine_code import TEXT, assemble, mapped, protection_at
from runtime_programs import run_python

from basalt.errors import BasaltError, ModelFormatError, UnsupportedError
from basalt.runtime.native import LinkedImage, images, load_image
from basalt.runtime.native.images import HANDLED
from basalt.runtime.native.linked import EXECUTE, MAX_IMAGE, PAGE, READ, WRITE, Area, Export
from basalt.runtime.native.linking import link

own_loader = pytest.mark.skipif(not HANDLED, reason="linked images are for x86-64 Linux")
pytestmark = own_loader
FAR = 1 << 62


@pytest.fixture(scope="module")
def image() -> LinkedImage:
    return link({"f": assemble(TEXT), "g": assemble(TEXT)})


def half_cosine(image: images.Image, name: str = "f") -> float:
    return float(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address(f"{name}:half_cosine"))(0.3))


def test_code_runs(image: LinkedImage) -> None:
    loaded = load_image(image)
    assert half_cosine(loaded, "f") == half_cosine(loaded, "g") == math.cos(0.3) / 2
    assert loaded.nbytes == image.size == 3 * PAGE
    with pytest.raises(BasaltError, match="no 'h', only \\['f:count', "):
        loaded.address("h")


def test_images_do_not_share_data(image: LinkedImage) -> None:
    loaded = [load_image(image) for _ in range(2)]
    counts = [ctypes.CFUNCTYPE(ctypes.c_int64)(one.address("f:count")) for one in loaded]
    assert [counts[0](), counts[0](), counts[1]()] == [42, 44, 42]


def test_protections(image: LinkedImage) -> None:
    before = mapped("rwx")
    loaded = load_image(image)
    base = loaded.address("f:count") & -PAGE
    assert [protection_at(base + area.offset) for area in image.areas] == ["r-xp", "r--p", "rw-p"]
    assert mapped("rwx") == before
    del loaded
    gc.collect()
    assert protection_at(base) is None


def changed(table: np.ndarray, row: int, column: int, value: int) -> np.ndarray:
    copy = table.copy()
    copy[row, column] = value
    return copy


READ_ONLY, CODE, DATA = READ, READ | EXECUTE, READ | WRITE
AREAS: list[tuple[list[tuple[Any, ...]], str]] = [
    ([], "areas of 0 bytes"),
    ([(0, PAGE, CODE), (0, PAGE, READ_ONLY), (PAGE, PAGE, DATA)], "area 1 has 4096 bytes at 0, expected whole pages"),
    ([(0, PAGE, CODE), (2 * PAGE, PAGE, DATA)], "area 1 has 4096 bytes at 8192, expected whole pages at 4096"),
    ([(0, 3 * PAGE - 1, CODE)], "area 0 has 12287 bytes"),
    ([(PAGE, 3 * PAGE, CODE)], "area 0 has 12288 bytes at 4096"),
    ([(-PAGE, 4 * PAGE, CODE)], "at -4096"),
    ([(0, -PAGE, CODE)], "area 0 has -4096 bytes"),
    ([(0, 0, CODE)], "area 0 has 0 bytes"),
    ([(0, MAX_IMAGE + PAGE, CODE)], "areas of 1073745920 bytes"),
    ([(0, 1 << 70, CODE)], "areas of 1180591620717411303424 bytes"),
    ([(0, 3 * PAGE, READ | WRITE | EXECUTE)], "area 0 has protection 7"),
    ([(0, 3 * PAGE, 0)], "area 0 has protection 0"),
    ([(0, 3 * PAGE, -1)], "area 0 has protection -1"),
    ([(0, 3.5 * PAGE, CODE)], "area 0 is 14336.0, no whole number"),
]


@pytest.mark.parametrize(("areas", "message"), AREAS)
def test_areas(image: LinkedImage, areas: list[tuple[int, int, int]], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load_image(image._replace(areas=tuple(Area(*area) for area in areas)))


@pytest.mark.parametrize("offset", [-1, -8, 3 * PAGE - 7, 3 * PAGE, FAR, -FAR, (1 << 63) - 1, -(1 << 63)])
def test_relocations_outside(image: LinkedImage, offset: int) -> None:
    with pytest.raises(ModelFormatError, match="in an image of 12288 bytes"):
        load_image(image._replace(relocations=changed(image.relocations, 1, 0, offset)))
    with pytest.raises(ModelFormatError, match="in an image of 12288 bytes"):
        load_image(image._replace(import_relocations=changed(image.import_relocations, 1, 0, offset)))


def test_relocations_that_overlap(image: LinkedImage) -> None:
    second = int(image.relocations[1, 0])
    for offset in (second, second + 7, second - 7):
        with pytest.raises(ModelFormatError, match="two relocations overlap at"):
            load_image(image._replace(relocations=changed(image.relocations, 0, 0, offset)))
        with pytest.raises(ModelFormatError, match="two relocations overlap at"):
            load_image(image._replace(import_relocations=changed(image.import_relocations, 0, 0, offset)))


def test_relocations_at_the_edges(image: LinkedImage) -> None:
    places = np.array([[0, 0], [image.size - 8, 0]])
    assert load_image(image._replace(relocations=places)).nbytes == image.size


@pytest.mark.parametrize("addend", [1 << 31, -(1 << 31) - 1, FAR, -(1 << 63)])
def test_addends(image: LinkedImage, addend: int) -> None:
    with pytest.raises(ModelFormatError, match="relocations lead further than"):
        load_image(image._replace(relocations=changed(image.relocations, 0, 1, addend)))
    with pytest.raises(ModelFormatError, match="import relocations lead further than"):
        load_image(image._replace(import_relocations=changed(image.import_relocations, 0, 2, addend)))


@pytest.mark.parametrize("number", [-1, 1, FAR, -FAR])
def test_numbers_of_imports(image: LinkedImage, number: int) -> None:
    with pytest.raises(ModelFormatError, match="are used, of 1"):
        load_image(image._replace(import_relocations=changed(image.import_relocations, 0, 1, number)))


@pytest.mark.parametrize("name", ["system", "dlopen", "", "cos\0", "PyRun_SimpleString"])
def test_only_allowed_functions_are_imported(image: LinkedImage, name: str) -> None:
    with pytest.raises(UnsupportedError, match="which kernels may not use"):
        load_image(image._replace(imports=(name,)))


@pytest.mark.parametrize(
    ("exports", "message"),
    [
        ([("f", 0, 10), ("f", 16, 10)], "two functions of one name"),
        ([("", 0, 10)], "a function without a name"),
        ([(3, 0, 10)], "a function without a name"),
        ([("f", -1, 1)], "'f' of 1 bytes at -1 lies outside the code"),
        ([("f", 0, -1)], "'f' of -1 bytes at 0"),
        ([("ok", 0, 1), ("f", PAGE, 1)], "'f' of 1 bytes at 4096"),
        ([("f", PAGE - 1, 2)], "'f' of 2 bytes at 4095"),
        ([("f", PAGE, 0)], "'f' of 0 bytes at 4096"),
        ([("f", 0, (1 << 63) - 1)], "lies outside the code"),
        ([("f", -(1 << 63), (1 << 63) - 1)], "lies outside the code"),
        ([("f", 1 << 64, 1)], "no 64-bit numbers"),
        ([("f", 0.5, 1)], "no 64-bit numbers"),
        ([("f", "0", "1")], "no 64-bit numbers"),
        ([("f", 0)], "not given by name, offset and size"),
        ([("f", 0), ("g", 0, 1)], "not given by name, offset and size"),
    ],
)
def test_exports(image: LinkedImage, exports: list[Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load_image(image._replace(exports=tuple(exports)))


def test_exports_at_the_end(image: LinkedImage) -> None:
    assert load_image(image._replace(exports=(Export("f", PAGE - 1, 1),))).address("f") % PAGE == PAGE - 1


@pytest.mark.parametrize(
    "unwind", [(0, 8), (PAGE, 4), (PAGE, PAGE + 1), (PAGE - 1, 16), (2 * PAGE, 16), (PAGE, -1), (-FAR, 1 << 63)]
)
def test_frame_information(image: LinkedImage, unwind: tuple[int, int]) -> None:
    with pytest.raises(ModelFormatError, match="call frame information of"):
        load_image(image._replace(unwind=unwind))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"content": b"\0" * 16}, "no array of bytes"),
        ({"content": np.zeros(16, np.int8)}, "no array of bytes"),
        ({"content": np.zeros((2, 8), np.uint8)}, "no array of bytes"),
        ({"content": np.zeros(3 * PAGE + 1, np.uint8)}, "12289 bytes of content, in areas of 12288"),
        ({"relocations": np.zeros((1, 2), np.int32)}, "relocations are no int64 array of 2 columns"),
        ({"relocations": np.zeros((1, 3), np.int64)}, "relocations are no int64 array of 2 columns"),
        ({"relocations": np.zeros(2, np.int64)}, "relocations are no int64 array of 2 columns"),
        ({"relocations": np.zeros((), np.int64)}, "relocations are no int64 array of 2 columns"),
        ({"relocations": [(0, 0)]}, "relocations are no int64 array of 2 columns"),
        ({"import_relocations": np.zeros((1, 2), np.int64)}, "import relocations are no int64 array of 3 columns"),
        ({"imports": (5,)}, "import 5 is no name"),
        ({"imports": ()}, "imports number 0 to 0 are used, of 0"),
    ],
)
def test_kinds_of_data(image: LinkedImage, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load_image(image._replace(**changes))


def test_content_that_can_only_be_read(image: LinkedImage) -> None:
    content = np.frombuffer(image.content.tobytes(), np.uint8)
    assert half_cosine(load_image(image._replace(content=content))) == math.cos(0.3) / 2


def test_other_systems(image: LinkedImage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "HANDLED", False)
    with pytest.raises(UnsupportedError, match="linked machine code is for x86_64 Linux"):
        load_image(image)


def test_threads_at_once(image: LinkedImage) -> None:
    results: list[float] = []

    def work() -> None:
        results.extend(half_cosine(load_image(image)) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [math.cos(0.3) / 2] * 160


def test_after_a_fork(image: LinkedImage) -> None:
    before = load_image(image)
    child = os.fork()
    if child == 0:
        right = half_cosine(before) == half_cosine(load_image(image)) == math.cos(0.3) / 2
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


HARDENED = """
import ctypes, math, os, sys
from machine_code import TEXT, assemble, mapped
from basalt.runtime.native import load_image
from basalt.runtime.native.linking import link
image = link({"f": assemble(TEXT)})
load_image(image)
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
    sys.exit("skip")
if REFUSE:
    os.memfd_create = lambda *_: (_ for _ in ()).throw(OSError("no"))
before = mapped("rwx")
loaded = load_image(image)
cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("f:half_cosine"))
assert cosine(0.3) == math.cos(0.3) / 2 and mapped("rwx") == before
count = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("f:count"))
assert [count(), count()] == [42, 44]
del loaded
print("done")
"""


def hardened(refuse: bool) -> str:
    try:
        return run_python(HARDENED.replace("REFUSE:", f"{refuse}:"))
    except AssertionError as error:
        if "skip" in str(error).splitlines():
            pytest.skip("this Linux cannot forbid memory to become executable")
        raise


def test_where_memory_must_not_become_executable() -> None:
    assert hardened(refuse=False).strip() == "done"


def test_where_no_way_leads_to_executable_memory() -> None:
    with pytest.raises(
        AssertionError, match="UnsupportedError: the system refuses executable memory: Permission denied"
    ):
        hardened(refuse=True)


def test_no_memory() -> None:
    script = """
import resource
from machine_code import TEXT, assemble
from basalt.errors import BasaltError
from basalt.runtime.native import Area, load_image
from basalt.runtime.native.linking import link
image = link({"f": assemble(TEXT)})
big = image._replace(areas=(*image.areas, Area(image.size, 1 << 28, 1)))
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 27),) * 2)
try:
    load_image(big)
except BasaltError as error:
    print(error)
"""
    assert run_python(script).startswith("no memory for 268447744 bytes of machine code")


def test_nothing_heavy_is_imported() -> None:
    script = """
import sys
from basalt.runtime.native import load_image
print(sorted(m for m in sys.modules if m.startswith(("llvmlite", "numba")) or m.endswith((".linking", ".elf"))))
"""
    assert run_python(script).strip() == "[]"
