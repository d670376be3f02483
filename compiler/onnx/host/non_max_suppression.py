"""NonMaxSuppression: boxes that no better box of the same class overlaps too much."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import integer, number, real_tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op

_BLOCK = 64
"""Candidates that are compared with each other at once."""


def _corners(boxes: np.ndarray, center_point_box: int) -> np.ndarray:
    """The boxes [n, 4] as rows x_min, y_min, x_max, y_max and area, from opposite corners or centre and size."""
    if center_point_box:
        x, y, width, height = boxes.T
        corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    else:
        y1, x1, y2, x2 = boxes.T
        corners = [np.minimum(x1, x2), np.minimum(y1, y2), np.maximum(x1, x2), np.maximum(y1, y2)]
    area = (corners[2] - corners[0]) * (corners[3] - corners[1])
    return np.stack([*corners, area])


def _overlaps(rows: np.ndarray, others: np.ndarray, threshold: np.floating) -> np.ndarray:
    """Which of ``others`` [5, n] have an intersection over union with ``rows`` [5, m] above the threshold: [m, n].

    In float32. Boxes without area, with negative sizes or with NaN overlap nothing.
    """
    x1, y1, x2, y2, area = rows[:, :, None]
    width = np.minimum(x2, others[2]) - np.maximum(x1, others[0])
    height = np.minimum(y2, others[3]) - np.maximum(y1, others[1])
    intersection = width * height
    union = area + others[4] - intersection
    meets = (width > 0) & (height > 0) & (intersection > 0) & (area > 0) & (others[4] > 0) & (union > 0)
    return meets & (intersection / union > threshold)


def _select(corners: np.ndarray, scores: np.ndarray, limit: int, iou: np.floating, least: float | None) -> list[int]:
    """The boxes that stay, best score first, equal scores by index; a block of candidates at a time."""
    candidates = np.arange(len(scores)) if least is None else np.flatnonzero(scores > least)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    rows = corners[:, order]
    selected: list[int] = []
    while order.size and len(selected) < limit:
        block, rest = rows[:, :_BLOCK], rows[:, _BLOCK:]
        hidden = np.zeros(block.shape[1], dtype=np.bool_)
        kept: list[int] = []
        for place, hits in enumerate(_overlaps(block, block, iou)):
            if not hidden[place] and len(selected) + len(kept) < limit:
                kept.append(place)
                hidden |= hits
        selected.extend(order[kept].tolist())
        stays = ~_overlaps(block[:, kept], rest, iou).any(axis=0)
        order, rows = order[_BLOCK:][stays], rest[:, stays]
    return selected


@host_op("NonMaxSuppression", 10, 11)
def non_max_suppression(
    n: HostNode,
    boxes: np.ndarray,
    scores: np.ndarray,
    max_output_boxes_per_class: np.ndarray | None = None,
    iou_threshold: np.ndarray | None = None,
    score_threshold: np.ndarray | None = None,
) -> np.ndarray:
    """int64 [count, 3] of (batch, class, box), by batch, class and falling score.

    ``boxes`` is [batches, boxes, 4], ``scores`` [batches, classes, boxes]. A box stays while its score is above
    ``score_threshold`` (strictly, as ONNX's reference and ONNX Runtime compare) and no kept box of its class overlaps
    it by more than ``iou_threshold`` (0 if absent), up to ``max_output_boxes_per_class`` (0 if absent: none).
    """
    boxes, scores = real_tensor(n, "boxes", boxes, (3,)), real_tensor(n, "scores", scores, (3,))
    batches, classes, count = scores.shape
    if boxes.shape != (batches, count, 4):
        raise n.error(
            f"input 'boxes' has shape {boxes.shape}, expected {(batches, count, 4)} for scores {scores.shape}"
        )
    limit = 0
    if max_output_boxes_per_class is not None:
        limit = integer(n, "max_output_boxes_per_class", max_output_boxes_per_class)
    iou = np.float32(0 if iou_threshold is None else number(n, "iou_threshold", iou_threshold))
    if not 0 <= iou <= 1:
        raise n.error(f"input 'iou_threshold' is {iou}, expected 0 to 1")
    least = None if score_threshold is None else number(n, "score_threshold", score_threshold)
    with np.errstate(all="ignore"):
        corners = [_corners(b, int(n.attr("center_point_box", 0))) for b in boxes]
        rows = [
            (batch, label, box)
            for batch in range(batches)
            for label in range(classes)
            for box in _select(corners[batch], scores[batch, label], limit, iou, least)
        ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
