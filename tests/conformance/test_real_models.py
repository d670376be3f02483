"""Trained models give the outputs that ONNX Runtime gave."""

from __future__ import annotations

import pytest

import basalt

from .real_models import MISSING, RealModel, all_models, wrong_outputs

MODELS = list(all_models())


@pytest.mark.slow
@pytest.mark.skipif(not MODELS, reason=MISSING)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.id)
def test_outputs_of_compiled_programs(model: RealModel) -> None:
    loaded = basalt.load(model.path, eager_first_run=False)
    assert wrong_outputs(model, loaded.run(model.feeds)) == []
    assert wrong_outputs(model, loaded.run(model.feeds)) == []
