"""The cache's folder: where it is, whom it trusts, and that trouble with it never stops anybody."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from basalt.runtime import cache_folder as module
from basalt.runtime.cache_folder import CacheFolder, cache_path

posix = pytest.mark.skipif(os.name != "posix", reason="the system has no POSIX owners and modes")
NAME = "ab" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[CacheFolder]:
    yield CacheFolder(tmp_path / "deep" / "cache")


def warning_count(action: object, times: int = 3) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            action()  # type: ignore[operator]
    return [str(warning.message) for warning in caught]


def test_the_environment_chooses_the_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BASALT_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_path() == tmp_path / "mine"
    monkeypatch.delenv("BASALT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_path() == tmp_path / "basalt"


@pytest.mark.skipif(sys.platform != "linux", reason="the default differs elsewhere")
def test_the_default_place_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASALT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_path() == Path("/home/somebody/.cache/basalt")


@pytest.mark.parametrize("home", ["", "relative", RuntimeError])
def test_without_a_home_there_is_no_place(monkeypatch: pytest.MonkeyPatch, home: str | type) -> None:
    for name in ("BASALT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def find() -> Path:
        if isinstance(home, str):
            return Path(home)
        raise home("could not determine home directory")

    monkeypatch.setattr(module.Path, "home", find)
    assert cache_path() is None
    messages = warning_count(lambda: CacheFolder(None).write(NAME, b"x"), 1)
    assert len(messages) == 1 and "neither BASALT_CACHE_DIR nor a home folder" in messages[0]
    assert CacheFolder(None).read(NAME) is None and CacheFolder(None).entries() == []


def test_files_are_written_whole_and_privately(folder: CacheFolder) -> None:
    assert folder.read(NAME) is None
    assert folder.write(NAME, b"first") and folder.write(NAME, b"second")
    assert folder.read(NAME) == b"second"
    assert folder.path is not None and [p.name for p in folder.path.iterdir()] == [NAME + ".kernel"]
    if os.name == "posix":
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder.path / (NAME + ".kernel")).stat().st_mode) == 0o600


@posix
def test_a_folder_that_everybody_may_write_to_is_refused_once(tmp_path: Path) -> None:
    CacheFolder(tmp_path).write(NAME, b"planted")
    tmp_path.chmod(0o777)
    folder = CacheFolder(tmp_path)
    messages = warning_count(lambda: (folder.read(NAME), folder.write(NAME, b"x")))
    assert len(messages) == 1 and "everybody may write to that folder" in messages[0]
    assert folder.read(NAME) is None
    tmp_path.chmod(0o755)
    assert folder.read(NAME) == b"planted"


@posix
def test_a_folder_of_another_user_is_refused_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CacheFolder(tmp_path).write(NAME, b"planted")
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    folder = CacheFolder(tmp_path)
    messages = warning_count(lambda: (folder.read(NAME), folder.write(NAME, b"x")))
    assert len(messages) == 1 and "belongs to another user" in messages[0]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read(folder: CacheFolder) -> None:
    folder.write(NAME, b"planted")
    (entry,) = folder.entries()
    os.chown(entry.path, 12345, -1)
    assert folder.read(NAME) is None


@posix
def test_a_folder_that_changes_hands_is_noticed(folder: CacheFolder) -> None:
    folder.write(NAME, b"x")
    assert folder.read(NAME) == b"x" and folder.path is not None
    folder.path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="everybody"):
        assert folder.read(NAME) is None


def test_what_is_no_plain_file_is_not_read(folder: CacheFolder) -> None:
    folder.write(NAME, b"x")
    assert folder.path is not None
    (folder.path / ("cd" * 32 + ".kernel")).mkdir()
    assert folder.read("cd" * 32) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder.path / ("ef" * 32 + ".kernel"))
        assert folder.read("ef" * 32) is None


@pytest.mark.parametrize("place", ["/proc/basalt", "/dev/null/basalt"])
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's special files")
def test_places_where_nothing_can_be_made(place: str) -> None:
    folder = CacheFolder(Path(place))
    messages = warning_count(lambda: folder.write(NAME, b"x"))
    assert len(messages) == 1 and f"cannot be kept in {place}" in messages[0] and "memory only" in messages[0]
    assert folder.read(NAME) is None and folder.entries() == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_folder_still_serves_what_it_has(tmp_path: Path) -> None:
    CacheFolder(tmp_path).write(NAME, b"old")
    tmp_path.chmod(0o500)
    folder = CacheFolder(tmp_path)
    try:
        messages = warning_count(lambda: folder.write("cd" * 32, b"x"))
        assert len(messages) == 1 and folder.read(NAME) == b"old"
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_failed_write_leaves_nothing_behind(
    folder: CacheFolder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder.write(NAME, b"old")

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "replace", fail)
    messages = warning_count(lambda: folder.write(NAME, b"new"))
    assert len(messages) == 1 and os.strerror(number) in messages[0]
    assert folder.path is not None and [p.name for p in folder.path.iterdir()] == [NAME + ".kernel"]
    assert folder.read(NAME) == b"old"


def test_an_interrupted_write_leaves_nothing_behind(folder: CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        folder.write(NAME, b"new")
    assert folder.path is not None and list(folder.path.iterdir()) == []


def test_use_is_noted_but_not_every_time(folder: CacheFolder) -> None:
    folder.write(NAME, b"x")
    (entry,) = folder.entries()
    recent, old = time.time() - 60, time.time() - 86400
    for before in (recent, old):
        os.utime(entry.path, (before, before))
        folder.read(NAME)
        (after,) = folder.entries()
        assert (after.last_use > before + 1) == (before == old)


def test_abandoned_files_go_after_an_hour(folder: CacheFolder) -> None:
    folder.write(NAME, b"x")
    assert folder.path is not None
    fresh, stale = folder.path / ".tmp-fresh", folder.path / ".tmp-stale"
    for path in (fresh, stale):
        path.write_bytes(b"half")
    os.utime(stale, (0, time.time() - 7200))
    folder.remove_abandoned()
    assert sorted(p.name for p in folder.path.iterdir()) == [".tmp-fresh", NAME + ".kernel"]
