"""Whatever happens while a file is saved, its name shows the old content or the new one, and no other file is left."""

from __future__ import annotations

import errno
import os
import resource
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bsl_samples import constants_only

from basalt.errors import ModelFormatError, ValidationError
from basalt.serialization import GraphData, NodeData, PayloadWriter, load, save

OLD = constants_only(w=np.arange(1000))
NEW = constants_only(w=np.arange(3_000_000))


@pytest.fixture(params=["without a name", "with a name"], autouse=True)
def named(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the temporary file has a name from the beginning, as where the file system can do no better."""
    if request.param == "with a name":
        monkeypatch.setattr("basalt.serialization.atomic._UNNAMED", 0)
    elif not sys.platform.startswith("linux"):
        pytest.skip("files without a name need Linux")
    return bool(request.param == "with a name")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that holds OLD, alone in its folder."""
    save(tmp_path / "m.bsl", OLD)
    return tmp_path / "m.bsl"


def assert_untouched(path: Path) -> None:
    assert os.listdir(path.parent) == [path.name]
    assert load(path) == OLD


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fail_with(error: BaseException) -> object:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


def test_saving_replaces_the_file(old: Path) -> None:
    save(old, NEW)
    assert load(old) == NEW
    assert os.listdir(old.parent) == ["m.bsl"]


@pytest.mark.parametrize("function", ["os.replace", "os.fsync", "os.fchmod", "os.open"])
def test_failing_system_calls(old: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(function, fail_with(OSError(errno.ENOSPC, "No space left on device", "internal name")))
        with pytest.raises(OSError, match=f"cannot save: No space left on device: '{old}'"):
            save(old, NEW)
    assert_untouched(old)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("from elsewhere")])
@pytest.mark.parametrize("old_exists", [True, False])
def test_interruption_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, old_exists: bool, named: bool
) -> None:
    path = tmp_path / "m.bsl"
    if old_exists:
        save(path, OLD)
    chunks = PayloadWriter.chunks
    seen: list[int] = []

    def interrupted(self: PayloadWriter) -> Iterator[np.ndarray]:
        for index, chunk in enumerate(chunks(self)):
            if index == 5:
                seen.append(sum(os.stat(tmp_path / name).st_size for name in os.listdir(tmp_path) if name != "m.bsl"))
                raise error
            yield chunk

    with monkeypatch.context() as patch, pytest.raises(type(error)):
        patch.setattr(PayloadWriter, "chunks", interrupted)
        save(path, NEW)
    assert len(seen) == 1, "the interruption came while the temporary file was being written"
    assert (seen[0] > 1 << 20) == named
    if old_exists:
        assert_untouched(path)
    else:
        assert os.listdir(tmp_path) == []


def test_a_disk_that_really_refuses(old: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, limit[1]))
    try:
        with pytest.raises(OSError, match=f"cannot save: File too large: '{old}'"):
            save(old, NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert_untouched(old)


def test_data_that_cannot_be_stored(old: Path) -> None:
    bad = GraphData("", (), {}, (), (NodeData("f", (), (), {"a": [1]}),))  # type: ignore[dict-item]
    for data in (bad, "no graph", constants_only(w=np.zeros(2, complex))):
        with pytest.raises(ValidationError):
            save(old, data)
    assert_untouched(old)


def test_data_goes_to_disk_before_the_name_and_the_name_before_the_return(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        calls.append(f"sync {'folder' if is_folder else os.fstat(descriptor).st_size}")
        real_sync(descriptor)

    def replace(source: str, target: str) -> None:
        calls.append("replace")
        assert os.path.dirname(source) == os.path.dirname(target)
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    save(old, NEW)
    assert calls == [f"sync {old.stat().st_size}", "replace", "sync folder"]


@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_folders_that_cannot_be_synchronised(
    old: Path, monkeypatch: pytest.MonkeyPatch, number: int, raised: bool
) -> None:
    real = os.fsync

    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    if raised:
        with pytest.raises(OSError, match=rf"the file is complete, but its folder .*Input/output error: '{old}'"):
            save(old, NEW)
    else:
        save(old, NEW)
    assert load(old) == NEW
    assert os.listdir(old.parent) == ["m.bsl"]


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o444, 0o777])
def test_permission_bits_of_an_existing_file_are_kept(old: Path, bits: int) -> None:
    old.chmod(bits)
    before = os.umask(0o077)
    try:
        save(old, NEW)
    finally:
        os.umask(before)
    assert mode(old) == bits


@pytest.mark.parametrize(("mask", "bits"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path: Path, mask: int, bits: int) -> None:
    before = os.umask(mask)
    try:
        save(tmp_path / "m.bsl", OLD)
    finally:
        os.umask(before)
    assert mode(tmp_path / "m.bsl") == bits


def test_the_temporary_file_never_shows_more_than_the_target(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.chmod(0o600)
    modes: list[int] = []
    real = os.open

    def create(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT or flags & os.O_TMPFILE == os.O_TMPFILE:
            modes.append(mode)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", create)
    save(old, NEW)
    assert modes == [0o600]


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "v1.bsl", tmp_path / "latest.bsl"
    link.symlink_to(target)
    for graph in (OLD, NEW):
        save(link, graph)
        assert link.is_symlink()
        assert load(target) == load(link) == graph
    assert sorted(os.listdir(tmp_path)) == ["latest.bsl", "models"]


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "m.bsl"
    with pytest.raises(FileNotFoundError, match=f"cannot save: No such file or directory: '{missing}'"):
        save(missing, OLD)
    with pytest.raises(IsADirectoryError, match=f"cannot save: it is a folder, not a file: '{tmp_path}'"):
        save(tmp_path, OLD)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=f"cannot save: it is not a regular file: '{tmp_path / 'pipe'}'"):
        save(tmp_path / "pipe", OLD)
    (tmp_path / "file").write_bytes(b"kept")
    with pytest.raises(NotADirectoryError, match=r"cannot save: Not a directory: '.*file/m\.bsl'"):
        save(tmp_path / "file" / "m.bsl", OLD)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match=r"cannot save: .*loop'"):
        save(tmp_path / "loop", OLD)
    assert sorted(os.listdir(tmp_path)) == ["file", "loop", "pipe"]
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_a_folder_without_permission(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.parent.chmod(0o555)
    try:
        if os.access(old.parent, os.W_OK):  # the superuser may write everywhere
            monkeypatch.setattr(os, "open", fail_with(PermissionError(errno.EACCES, "Permission denied", "temporary")))
        with pytest.raises(PermissionError, match=f"cannot save: Permission denied: '{old}'"):
            save(old, NEW)
    finally:
        old.parent.chmod(0o755)
    assert_untouched(old)


def test_long_names_and_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "n" * 251 + ".bsl"
    save(name, OLD)
    assert load(name) == OLD
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ENOENT, errno.EPERM])
def test_a_file_system_that_gives_no_name_to_files_without(
    old: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    old.chmod(0o640)
    monkeypatch.setattr(os, "link", fail_with(OSError(number, os.strerror(number))))
    save(old, NEW)
    assert load(old) == NEW
    assert mode(old) == 0o640
    assert os.listdir(old.parent) == ["m.bsl"]


def test_a_taken_temporary_name_is_passed_over(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["taken", "taken", "free"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(tokens))
    taken = old.parent / ".bsl-taken.tmp"
    taken.write_bytes(b"somebody's")
    save(old, NEW)
    assert load(old) == NEW
    assert taken.read_bytes() == b"somebody's"


def test_many_savers_and_readers_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "shared.bsl"
    versions = [constants_only(version=np.full(100_000, number, np.int32)) for number in range(6)]
    save(path, versions[0])
    faults: list[BaseException] = []
    done = threading.Event()

    def saver(graph: GraphData) -> None:
        try:
            for _ in range(8):
                save(path, graph)
        except BaseException as error:
            faults.append(error)

    def reader() -> None:
        try:
            while not done.is_set():
                numbers = load(path).constants["version"]
                assert (numbers == numbers[0]).all()
        except (BaseException, ModelFormatError) as error:
            faults.append(error)

    readers = [threading.Thread(target=reader) for _ in range(2)]
    savers = [threading.Thread(target=saver, args=(graph,)) for graph in versions]
    for thread in readers + savers:
        thread.start()
    for thread in savers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert faults == []
    assert load(path) in versions
    assert os.listdir(tmp_path) == ["shared.bsl"]


def test_weights_that_change_while_they_are_saved_leave_a_loadable_file(tmp_path: Path) -> None:
    weights = np.zeros(2_000_000, np.int64)
    stop = threading.Event()

    def train() -> None:
        while not stop.is_set():
            np.add(weights, 1, out=weights)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(3):
            save(tmp_path / "m.bsl", constants_only(w=weights))
            load(tmp_path / "m.bsl")
    finally:
        stop.set()
        thread.join()
