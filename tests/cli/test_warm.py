"""``bslc cache warm``, end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ..compiler.onnx.making import model, node, value
from .conftest import Bslc, cached_in


def test_several_models(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    environment = cached_in(own_cache)
    both = [models["affine"], models["pair"]]
    done = bslc("cache", "warm", *both, "--dim", "m=3", "--json", environment=environment)
    assert (done.status, done.err) == (0, "")
    report = json.loads(done.out)
    affine, pair = report["models"]
    assert report["cache"] == str(own_cache)
    assert (affine["model"], affine["shapes"], affine["compiled"]) == (str(both[0]), {"x": [1, 4]}, 2)
    assert pair["dims"] == {"m": 3, "n": 1} and pair["found"] == 1, "the executor is there by then"
    for path, sizes in ((both[0], []), (both[1], ["--dim", "m=3"])):
        ran = json.loads(bslc("run", path, "--random", *sizes, "--json", environment=environment).out)
        assert ran["compiled"] == 0
    again = bslc("cache", "warm", *both, "--dim", "m=3", environment=environment)
    lines = again.out.splitlines()
    assert lines[0].split() == ["model", "compiled", "cached", "time", "for"]
    assert lines[1].split()[:3] == [str(both[0]), "0", "2"] and lines[1].endswith("x=1x4")
    assert lines[-1].startswith("0 compiled in ") and lines[-1].endswith(f"({own_cache})")


def test_a_model_that_fails_does_not_keep_others_from_it(
    bslc: Bslc, models: Mapping[str, Path], own_cache: Path
) -> None:
    (bslc.folder / "bad.bsl").write_text("nothing")
    done = bslc("cache", "warm", "bad.bsl", models["affine"], environment=cached_in(own_cache))
    assert done.status == 1
    assert done.err.startswith("error: bad.bsl: ") and len(done.err.splitlines()) == 1
    assert [line.split()[1] for line in done.out.splitlines()[1:3]] == ["failed", "2"]
    report = json.loads(bslc("cache", "warm", "bad.bsl", "--json", environment=cached_in(own_cache)).out)
    assert "bad.bsl" in report["models"][0]["error"]


def test_a_model_in_steps_is_run(bslc: Bslc, own_cache: Path) -> None:
    nodes = [node("Exp", "x", "e"), node("NonZero", "e", "z"), node("Cast", "z", "f", to=1), node("Sin", "f", "y")]
    model(nodes, [value("x", shape=("n", 3))], [value("y", shape=(None, None))]).save(bslc.folder / "steps.onnx")
    environment = cached_in(own_cache)
    done = bslc("cache", "warm", "steps.onnx", "--dim", "n=2", "--json", environment=environment)
    assert (done.status, done.err) == (0, "")
    (entry,) = json.loads(done.out)["models"]
    assert entry["compiled"] > 0 and entry["shapes"] == {"x": [2, 3]}
    ran = bslc("run", "steps.onnx", "--random", "--dim", "n=2", "--json", environment=environment)
    assert json.loads(ran.out)["compiled"] == 0


def test_names_that_no_model_has(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("cache", "warm", models["affine"], models["pair"], "--dim", "batch=3")
    assert (done.status, done.out) == (2, "")
    message = "error: --dim: no model has a symbolic dimension 'batch'; there are m, n\n"
    assert done.err.startswith(message)
    done = bslc("cache", "warm", models["affine"], "--shape", "y=3x4")
    assert done.err.startswith("error: --shape: no model has an input 'y'; there are x\n") and done.status == 2
    assert bslc("cache", "warm").status == 2


def test_a_cache_that_cannot_be_written_is_an_error(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = bslc("cache", "warm", models["affine"], environment=cached_in(tmp_path / "file" / "cache"))
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith(f"error: {models['affine']}: 2 of 2 kernels could not be kept")


def test_one_bar_for_all(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    shown = bslc.on_terminal("cache", "warm", models["affine"], models["pair"], environment=cached_in(own_cache)).out
    assert "of 3 kernels" in shown or "of 4 kernels" in shown
