"""Sizes of caches, as Linux describes them."""

from __future__ import annotations

from pathlib import Path

from basalt.runtime.caches import CacheSizes, cache_sizes, read_sizes


def describe(place: Path, caches: list[tuple[str, str, str]]) -> None:
    for number, (level, kind, size) in enumerate(caches):
        folder = place / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")


def test_the_description_is_read(tmp_path: Path) -> None:
    described = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M"), ("3", "Unified", "30M")]
    describe(tmp_path, described)
    assert read_sizes(tmp_path) == CacheSizes(48 << 10, 2 << 20)


def test_what_is_not_described_is_of_a_usual_size(tmp_path: Path) -> None:
    assert read_sizes(tmp_path / "nowhere") == CacheSizes()
    describe(tmp_path, [("1", "Data", "unknown"), ("2", "Unified", "0K")])
    (tmp_path / "index2").mkdir()
    assert read_sizes(tmp_path) == CacheSizes()


def test_this_machine_has_caches() -> None:
    assert 0 < cache_sizes().first < cache_sizes().second
