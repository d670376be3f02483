"""NonMaxSuppression: boxes that no better box of the same class overlaps too much."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import integer, number, real_tensor
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _corners(boxes: np.ndarray, center_point_box: int) -> np.ndarray:
    """The boxes [..., 4] as (x_min, y_min, x_max, y_max), from any pair of opposite corners or centre and size."""
    if center_point_box:
        half = boxes[..., 2:] / 2
        return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)
    y1, x1, y2, x2 = np.moveaxis(boxes, -1, 0)
    return np.stack([np.minimum(x1, x2), np.minimum(y1, y2), np.maximum(x1, x2), np.maximum(y1, y2)], axis=-1)


def _overlaps(box: np.ndarray, others: np.ndarray, threshold: np.floating) -> np.ndarray:
    """Which of ``others`` [n, 4] have an intersection over union with ``box`` above the threshold, in float32.

    Boxes without area, with negative sizes or with NaN overlap nothing.
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = high - low
    intersection = sides[:, 0] * sides[:, 1]
    extent, extents = box[2:] - box[:2], others[:, 2:] - others[:, :2]
    area, areas = extent[0] * extent[1], extents[:, 0] * extents[:, 1]
    union = area + areas - intersection
    meets = (sides > 0).all(axis=1) & (intersection > 0) & (area > 0) & (areas > 0) & (union > 0)
    return meets & (np.divide(intersection, union, out=np.zeros_like(union), where=meets) > threshold)


def _select(corners: np.ndarray, scores: np.ndarray, limit: int, iou: np.floating, least: float | None) -> list[int]:
    """The boxes that stay, best score first, equal scores by index."""
    order = np.argsort(-scores, kind="stable")
    if least is not None:
        order = order[scores[order] > least]
    selected: list[int] = []
    while order.size and len(selected) < limit:
        best, order = order[0], order[1:]
        selected.append(int(best))
        order = order[~_overlaps(corners[best], corners[order], iou)]
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
    with np.errstate(invalid="ignore", over="ignore"):
        corners = _corners(boxes, int(n.attr("center_point_box", 0)))
        rows = [
            (batch, label, box)
            for batch in range(batches)
            for label in range(classes)
            for box in _select(corners[batch], scores[batch, label], limit, iou, least)
        ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
