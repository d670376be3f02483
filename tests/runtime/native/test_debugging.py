"""What debuggers, profilers and unwinders are told of machine code."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_code import TEXT, assemble
from runtime_programs import ADD, run_python

from basalt.compiler.codegen.compile import compile_kernel
from basalt.errors import ModelFormatError
from basalt.runtime.native import LinkedImage, debugging, load_image, load_object
from basalt.runtime.native.elf_writing import Name, library_file, symbol_file
from basalt.runtime.native.images import HANDLED
from basalt.runtime.native.linking import link, link_object

pytestmark = pytest.mark.skipif(not HANDLED, reason="linked images are for x86-64 Linux")
HERE = Path(__file__).parent.parent

TRAP = """
declare void @llvm.debugtrap()
define i64 @basalt_kernel(i64 %x) uwtable {
  call void @llvm.debugtrap()
  %y = add i64 %x, 1
  ret i64 %y
}
define i64 @outer(i64 %x) uwtable {
  %p = alloca [9 x i64]
  store volatile i64 %x, ptr %p
  %y = call i64 @basalt_kernel(i64 %x)
  %z = add i64 %y, 2
  ret i64 %z
}
"""


@pytest.fixture
def framed() -> LinkedImage:
    return link({"f": assemble(TEXT.replace(") {", ") uwtable {")), "g": assemble(TRAP)})


# --- perf ---


@pytest.fixture
def map_file() -> Iterator[Path]:
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


def test_perf_finds_every_function(monkeypatch: pytest.MonkeyPatch, map_file: Path) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "verify, perf")
    image = load_image(link({"kernel:0:matmul +\nadd": compile_kernel(ADD), "other": assemble(TEXT)}))
    kernel = load_object(compile_kernel(ADD), label="add")
    lines = [line.split(" ") for line in map_file.read_text().splitlines()]
    assert [line[2] for line in lines] == [
        "basalt:kernel:0:matmul_+_add",
        "basalt:other:count",
        "basalt:other:half_cosine",
        "basalt:add",
    ]
    assert int(lines[1][0], 16) == image.address("other:count")
    assert int(lines[3][0], 16) == kernel.address("basalt_kernel")
    assert all(0 < int(line[1], 16) < 4096 for line in lines)
    assert stat.S_IMODE(map_file.stat().st_mode) == 0o600


def test_nothing_is_written_unless_asked_for(monkeypatch: pytest.MonkeyPatch, map_file: Path) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "")
    load_object(compile_kernel(ADD))
    assert not map_file.exists()


def test_perf_support_of_the_interpreter_is_followed(monkeypatch: pytest.MonkeyPatch, map_file: Path) -> None:
    monkeypatch.setattr(sys, "is_stack_trampoline_active", lambda: True, raising=False)
    load_object(compile_kernel(ADD))
    assert "basalt:basalt_kernel" in map_file.read_text()


def test_links_are_not_followed(monkeypatch: pytest.MonkeyPatch, map_file: Path, tmp_path: Path) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "perf")
    victim = tmp_path / "victim"
    victim.write_text("kept")
    map_file.symlink_to(victim)
    load_object(compile_kernel(ADD))
    map_file.unlink()
    map_file.hardlink_to(victim)
    load_object(compile_kernel(ADD))
    assert victim.read_text() == "kept"


def test_other_things_in_its_place(monkeypatch: pytest.MonkeyPatch, map_file: Path) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "perf")
    os.mkfifo(map_file)
    load_object(compile_kernel(ADD))
    map_file.unlink()
    map_file.mkdir()
    load_object(compile_kernel(ADD))
    map_file.rmdir()


def test_a_fork_gets_a_map_of_its_own() -> None:
    script = """
import os
from basalt.runtime.native.perf_map import add_to_map
add_to_map([(0x1000, 16, "basalt:one")])
child = os.fork()
if child == 0:
    add_to_map([(0x2000, 16, "basalt:two")])
    print(open(f"/tmp/perf-{os.getpid()}.map").read(), end="", flush=True)
    os.unlink(f"/tmp/perf-{os.getpid()}.map")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(open(f"/tmp/perf-{os.getpid()}.map").read(), end="")
os.unlink(f"/tmp/perf-{os.getpid()}.map")
"""
    one, two = "1000 10 basalt:one", "2000 10 basalt:two"
    assert run_python(script).splitlines() == [one, two, one]


SPIN = """
import ctypes, os
from machine_code import assemble
from basalt.runtime.native import load_object
TEXT = '''
define i64 @basalt_kernel(i64 %n) {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %j, %loop ]
  %j = add i64 %i, 1
  call void asm sideeffect "", "r"(i64 %j)
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %end
end:
  ret i64 %j
}'''
image = load_object(assemble(TEXT), label="spin here")
ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(image.address("basalt_kernel"))(1_000_000_000)
print(os.getpid())
"""


def test_perf_itself_shows_the_name(tmp_path: Path) -> None:
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed")
    data = str(tmp_path / "data")
    environment = {**os.environ, "PYTHONPATH": str(HERE), "BASALT_DEBUG": "perf"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [perf, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    done = run("record", "-q", "-o", data, "-e", "cpu-clock:u", "--", sys.executable, "-c", SPIN)
    if done.returncode or not done.stdout.strip().isdigit():
        pytest.skip(f"perf cannot record here: {done.stderr[-200:]}")
    said = run("report", "-i", data, "--stdio", "--sort", "sym", "-q").stdout
    Path(f"/tmp/perf-{done.stdout.strip()}.map").unlink()
    assert "basalt:spin_here" in said


# --- gdb ---


def gdb_says(script: str, *commands: str) -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    settings = [["-iex", "set debuginfod enabled off"], ["-iex", "set auto-load off"], ["-ex", "run"]]
    arguments = [word for pair in (*settings, *(["-ex", command] for command in commands)) for word in pair]
    done = subprocess.run(
        [gdb, "-nx", "-batch", *arguments, "--args", sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(HERE), "BASALT_DEBUG": "gdb"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "SIGTRAP" not in done.stdout:
        if re.search("ptrace|not permitted|not in executable format|Cannot", done.stdout + done.stderr):
            pytest.skip(f"gdb cannot run programs here: {done.stderr[-200:]}")
        pytest.fail(f"{done.stdout}\n{done.stderr}")
    return done.stdout


RUN = f"""
import ctypes
from machine_code import assemble
from basalt.runtime.native import load_image, load_object
from basalt.runtime.native.linking import link
TRAP = '''{TRAP}'''
images = [load_image(link({{f"kernel:{{n}}:trap and go": assemble(TRAP)}})) for n in range(3)]
images.append(load_object(assemble(TRAP), label="single"))
del images[0]
"""


def test_gdb_names_kernels_in_a_backtrace() -> None:
    script = (
        RUN + "ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(images[1].address('kernel:2:trap and go:outer'))(3)"
    )
    said = gdb_says(script, "bt 3", "info symbol $pc", "info functions basalt:")
    assert re.search(r"#0 .* in basalt:kernel:2:trap_and_go \(", said)
    # Frames beyond the first are found by the call frame information.
    assert re.search(r"#1 .* in basalt:kernel:2:trap_and_go:outer \(", said)
    assert "basalt:kernel:2:trap_and_go + 1 in section .text" in said
    assert "basalt:kernel:1:trap_and_go" in said and "basalt:single" in said
    assert "basalt:kernel:0" not in said.partition("All functions")[2]


def test_gdb_is_told_in_order_and_forgets_in_any(monkeypatch: pytest.MonkeyPatch) -> None:
    from basalt.runtime.native import gdb

    monkeypatch.setenv("BASALT_DEBUG", "gdb")
    before = list(gdb._entries)
    images = [load_object(assemble(TEXT)) for _ in range(4)]

    def chain() -> list[int]:
        descriptor = gdb._Descriptor.in_dll(gdb._library(), "__jit_debug_descriptor")
        found, entry = [], descriptor.first
        while entry:
            found.append(entry.contents.size)
            if entry.contents.next:
                assert ctypes.addressof(entry.contents.next.contents.previous.contents) == ctypes.addressof(
                    entry.contents
                )
            entry = entry.contents.next
        return found

    assert len(chain()) == len(before) + 4
    for index in (1, 0, 1, 0):
        del images[index]
        gc.collect()
        assert len(chain()) == len(gdb._entries) == len(before) + len(images)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")
def test_written_files_are_sound(tmp_path: Path) -> None:
    names = [Name("one", 1, 0, 16), Name("two", 2, 8, 8, kind=1)]
    for file in (symbol_file(0x10000, 64, names[:1], (0x20000, bytes(8))), library_file(bytes(16), bytes(24), names)):
        path = tmp_path / "file"
        path.write_bytes(file)
        done = subprocess.run(["readelf", "-aW", str(path)], capture_output=True, text=True, timeout=60, check=True)
        assert not done.stderr and "Warning" not in done.stdout
        assert re.search(r"FUNC +GLOBAL DEFAULT +1 one", done.stdout)


# --- unwinding ---


class Bases(ctypes.Structure):
    """GCC's struct dwarf_eh_bases."""

    _fields_ = (("text", ctypes.c_void_p), ("data", ctypes.c_void_p), ("function", ctypes.c_void_p))


def function_of(address: int) -> int | None:
    """Start of the function that the unwinder finds for an address."""
    library = ctypes.CDLL("libgcc_s.so.1")
    find = library._Unwind_Find_FDE
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(Bases)]
    bases = Bases()
    return bases.function if find(address, ctypes.byref(bases)) else None


def test_frames_are_found_until_the_code_goes(framed: LinkedImage) -> None:
    image = load_image(framed)
    for name in ("f:count", "f:half_cosine", "g", "g:outer"):
        address = image.address(name)
        assert function_of(address) == function_of(address + 3) == address
    address = image.address("g")
    del image
    gc.collect()
    assert function_of(address) is None
    assert function_of(load_object(assemble(TRAP)).address("outer")) is not None


def test_code_without_frames(framed: LinkedImage) -> None:
    image = load_image(framed._replace(unwind=(0, 0)))
    assert function_of(image.address("g")) is None


@pytest.mark.parametrize(("model", "reloc"), [("jitdefault", "static"), ("small", "pic"), ("large", "static")])
def test_frames_of_all_code_models(model: str, reloc: str) -> None:
    image = link_object(assemble(TRAP, model, reloc))
    assert image.unwind[1] > 4
    loaded = load_image(image)
    assert function_of(loaded.address("outer") + 2) == loaded.address("outer")


def test_damaged_frames_are_refused(framed: LinkedImage) -> None:
    offset, size = framed.unwind
    content = framed.content

    def damaged(position: int, form: str, value: int) -> LinkedImage:
        copy = content.copy()
        struct.pack_into(form, copy, offset + position, value)
        return framed._replace(content=copy)

    (length,) = struct.unpack_from("<I", content, offset)
    record = length + 4
    for position, form, value, message in (
        (0, "<I", 0, "a record of 0 bytes"),
        (0, "<I", 0xFFFFFFFF, "a record of 4294967295 bytes"),
        (0, "<I", size, "a record of"),
        (8, "<B", 4, "version 4"),
        (9, "<B", ord("P"), "augmentation b'PR'"),
        (16, "<B", 0, "addresses encoded as"),
        (record + 4, "<I", 8, "refers 8 bytes back"),
        (record + 8, "<i", 1 << 30, "outside the code"),
        (record + 12, "<I", 1 << 30, "outside the code"),
        (size - 4, "<I", 1, "no terminator"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            load_image(damaged(position, form, value))
    with pytest.raises(ModelFormatError, match="call frame information at"):
        load_image(framed._replace(unwind=(offset, size - 8)))
    places = framed.relocations.copy()
    places[0, 0] = offset + 9
    with pytest.raises(ModelFormatError, match="a relocation changes the call frame information"):
        load_image(framed._replace(relocations=places))


def test_names_are_one_word() -> None:
    image = link({"a b\tc\n\0é": compile_kernel(ADD)})
    assert [name for _, _, name in debugging._named(0, image, "")] == ["basalt:a_b_c__é"]
