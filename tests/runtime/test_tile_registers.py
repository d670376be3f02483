"""Features of tiles are named only where they may be used."""

from __future__ import annotations

import pytest

from basalt.runtime import tile_registers
from basalt.runtime.tile_registers import without_tiles


@pytest.mark.parametrize(("granted", "expected"), [(True, "amx_int8 amx_tile avx2"), (False, "avx2")])
def test_features_without_leave_are_left_out(monkeypatch: pytest.MonkeyPatch, granted: bool, expected: str) -> None:
    monkeypatch.setattr(tile_registers, "may_use_tiles", lambda: granted)
    assert without_tiles("amx_int8 amx_tile avx2") == expected


def test_nothing_is_asked_for_where_there_are_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_registers, "may_use_tiles", lambda: pytest.fail("asked"))
    assert without_tiles("avx2 fma") == "avx2 fma"


def test_leave_is_refused_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_registers.sys, "platform", "darwin")
    assert not tile_registers.may_use_tiles.__wrapped__()
