"""NonMaxSuppression against a plain loop, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from .nodes import run, same
from .peer import onnxruntime_run


def select(boxes: np.ndarray, scores: np.ndarray, limit: int = 9, iou: float = 0.5, **more: object) -> list[int]:
    """The boxes kept of one class."""
    least = more.pop("least", None)
    inputs = [boxes[None].astype(np.float32), np.float32(scores)[None, None], np.array([limit]), np.float32([iou])]
    inputs += [] if least is None else [np.float32([least])]
    return run("NonMaxSuppression", 11, *inputs, **more)[:, 2].tolist()


UNIT = np.array([0, 0, 1, 1])


def test_equal_scores_go_by_index() -> None:
    assert select(np.stack([UNIT, UNIT + 5, UNIT + 9]), [1, 2, 2]) == [1, 2, 0]
    assert select(np.stack([UNIT, UNIT]), [-0.0, 0.0]) == [0]


def test_corners_may_be_swapped() -> None:
    boxes = np.stack([UNIT, [1, 1, 0, 0], [0, 1, 1, 0], [0, 0.5, 1, 1.5]])
    assert select(boxes, [4, 3, 2, 1]) == [0, 3]


def test_an_overlap_equal_to_the_threshold_is_kept() -> None:
    boxes = np.stack([UNIT * 2, [0, 0, 2, 1]])
    assert select(boxes, [2, 1], iou=0.5) == [0, 1]
    assert select(boxes, [2, 1], iou=0.49) == [0]


def test_a_score_equal_to_the_threshold_is_dropped() -> None:
    assert select(np.stack([UNIT, UNIT + 5]), [1, 2], least=1) == [1]


def test_boxes_without_area_and_nan_overlap_nothing() -> None:
    boxes = np.stack([UNIT, [0, 0, 1, 0], [0, 0, np.nan, 1], UNIT])
    assert select(boxes, [4, 3, 2, 1], iou=0) == [0, 1, 2]


def test_centre_and_size() -> None:
    boxes = np.array([[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [5, 5, 1, 1], [0.5, 0.5, -1, 1]])
    assert select(boxes, [4, 3, 2, 1], center_point_box=1) == [0, 2, 3]


def test_the_limit_is_per_class_and_none_by_default() -> None:
    boxes = np.stack([UNIT, UNIT + 5, UNIT + 9])
    assert select(boxes, [1, 2, 3], limit=2) == [2, 1]
    same(
        run("NonMaxSuppression", 10, boxes[None].astype(np.float32), np.ones((1, 1, 3), np.float32)),
        np.zeros((0, 3), np.int64),
    )


@pytest.mark.parametrize("center_point_box", [0, 1])
@pytest.mark.parametrize("limit", [6, 70, 1000])
def test_like_onnxruntime(center_point_box: int, limit: int) -> None:
    rng = np.random.default_rng(7)
    boxes = rng.integers(0, 30, (2, 200, 4)).astype(np.float32)
    scores = rng.integers(0, 9, (2, 3, 200)).astype(np.float32) / 8
    inputs = (boxes, scores, np.array([limit]), np.float32([0.3]), np.float32([0.25]))
    expected = onnxruntime_run("NonMaxSuppression", 11, *inputs, center_point_box=center_point_box)
    same(run("NonMaxSuppression", 11, *inputs, center_point_box=center_point_box), expected[0])


def test_wrong_values() -> None:
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.zeros((1, 1, 3), np.float32)
    with pytest.raises(ValidationError, match="expected \\(1, 3, 4\\)"):
        run("NonMaxSuppression", 11, boxes, scores)
    with pytest.raises(ValidationError, match="iou_threshold"):
        run("NonMaxSuppression", 11, boxes, scores[:, :, :2], np.array(1), np.float32(1.5))
