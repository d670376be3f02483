"""If, Loop, Scan and SequenceMap against ONNX Runtime: nested bodies, values from around them, sizes that change."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from basalt.errors import BasaltError
from basalt.onnx_backend import Backend

from .bodies import BOOL, FLOAT, INT64, body, compare, constant, model, node, same, value

RNG = np.random.default_rng(0)


@pytest.fixture(params=["interpret", "verify"], autouse=True)
def debug(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs through NumPy and compiled."""
    monkeypatch.setenv("BASALT_DEBUG", request.param)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def number(n: int) -> np.ndarray:
    return np.array(n, np.int64)


LOOP_INPUTS = [value("i", INT64, []), value("c", BOOL, []), value("v")]


def adding_loop(*, scans: bool = True, condition: Any = None) -> Any:
    """v += w + i, with w from around; gives the last v and all of them."""
    nodes = [
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Add", ["v", "w"], ["a"]),
        node("Add", ["a", "f"], ["v2"]),
        condition or node("Identity", ["c"], ["c2"]),
        *([node("Identity", ["v2"], ["all"])] if scans else []),
    ]
    outputs = [value("c2", BOOL, []), value("v2"), *([value("all", FLOAT, [3])] if scans else [])]
    return body(nodes, LOOP_INPUTS, outputs)


X3 = value("x", FLOAT, ["n"])


class TestLoop:
    @pytest.mark.parametrize("opset", [1, 11, 13, 17, 19, 21])
    def test_versions(self, opset: int) -> None:
        """A trip count that a run gives, and values from around, in every version."""
        nodes = [node("Mul", ["x", "x"], ["w"]), node("Loop", ["m", "", "x"], ["y", "ys"], body=adding_loop())]
        made = model(nodes, [X3, value("m", INT64, [])], [value("y"), value("ys")], max(opset, 7))
        compare(made, *[{"x": random(3), "m": number(m)} for m in (2, 5, 1)])

    @pytest.mark.parametrize("times", [0, 1, 4])
    def test_known_trip_counts(self, times: int) -> None:
        nodes = [
            constant("m", number(times)),
            node("Mul", ["x", "x"], ["w"]),
            node("Loop", ["m", "", "x"], ["y", "ys"], body=adding_loop()),
        ]
        compare(model(nodes, [X3], [value("y"), value("ys")]), {"x": random(3)}, {"x": random(3)})

    def test_no_iteration(self) -> None:
        """Nothing is stacked; the rows have the shape that the body declares."""
        nodes = [node("Loop", ["m", "", "x"], ["y", "ys"], body=adding_loop()), node("Mul", ["x", "x"], ["w"])]
        made = model([nodes[1], nodes[0]], [X3, value("m", INT64, [])], [value("y"), value("ys")])
        ((y, ys),) = compare(made, {"x": random(3), "m": number(0)})
        assert ys.shape == (0, 3) and y.shape == (3,)

    def test_sizes_that_change_from_run_to_run(self) -> None:
        nodes = [node("Mul", ["x", "x"], ["w"]), node("Loop", ["m", "", "x"], ["y"], body=adding_loop(scans=False))]
        made = model(nodes, [X3, value("m", INT64, [])], [value("y")])
        compare(made, *[{"x": random(n), "m": number(m)} for n, m in ((3, 2), (5, 3), (1, 0), (8, 1), (3, 4), (7, 2))])

    def test_ends_by_its_condition(self) -> None:
        """Doubles until the sum exceeds a limit."""
        inner = body(
            [
                node("Add", ["v", "v"], ["v2"]),
                node("ReduceSum", ["v2"], ["s"], keepdims=0),
                node("Less", ["s", "limit"], ["c2"]),
            ],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2"), value("s")],
        )
        nodes = [node("Loop", ["", "start", "x"], ["y", "sums"], body=inner)]
        inputs = [X3, value("limit", FLOAT, []), value("start", BOOL, [])]
        made = model(nodes, inputs, [value("y"), value("sums", FLOAT, ["k"])])
        ones = np.ones(3, np.float32)
        runs = [(100.0, True), (10.0, True), (0.0, True)]
        compare(made, *[{"x": ones, "limit": np.array(b, np.float32), "start": np.array(s)} for b, s in runs])

    def test_condition_that_begins_false(self) -> None:
        nodes = [
            node("Mul", ["x", "x"], ["w"]),
            node("Loop", ["m", "start", "x"], ["y"], body=adding_loop(scans=False)),
        ]
        made = model(nodes, [X3, value("m", INT64, []), value("start", BOOL, [])], [value("y")])
        for start in (False, True):
            compare(made, {"x": random(3), "m": number(3), "start": np.array(start)})

    def test_growing_values(self) -> None:
        """Each iteration appends what it carries to itself."""
        inner = body(
            [node("Concat", ["v", "x"], ["v2"], axis=0), node("Identity", ["c"], ["c2"])],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2")],
        )
        made = model([node("Loop", ["m", "", "x"], ["y"], body=inner)], [X3, value("m", INT64, [])], [value("y")])
        results = compare(made, *[{"x": random(n), "m": number(m)} for n, m in ((2, 3), (1, 5), (3, 0))])
        assert [r[0].size for r in results] == [8, 6, 3]

    def test_growing_values_of_a_known_count(self) -> None:
        inner = body(
            [node("Concat", ["v", "x"], ["v2"], axis=0), node("Identity", ["c"], ["c2"])],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2")],
        )
        nodes = [constant("m", number(3)), node("Loop", ["m", "", "x"], ["y"], body=inner)]
        compare(model(nodes, [X3], [value("y")]), *[{"x": random(n)} for n in (2, 1, 4, 3)])

    def test_sequences_are_carried(self) -> None:
        inner = body(
            [
                node("Mul", ["x", "x"], ["row"]),
                node("SequenceInsert", ["v", "row"], ["v2"]),
                node("Identity", ["c"], ["c2"]),
            ],
            [*LOOP_INPUTS[:2], helper.make_tensor_sequence_value_info("v", FLOAT, None)],
            [value("c2", BOOL, []), helper.make_tensor_sequence_value_info("v2", FLOAT, None)],
        )
        nodes = [
            node("SequenceEmpty", [], ["none"]),
            node("Loop", ["m", "", "none"], ["rows"], body=inner),
            node("ConcatFromSequence", ["rows"], ["y"], axis=0),
        ]
        made = model(nodes, [X3, value("m", INT64, [])], [value("y")])
        compare(made, {"x": random(3), "m": number(2)}, {"x": random(2), "m": number(4)})

    def test_nested_loops_read_all_around_them(self) -> None:
        inner = body(
            [
                node("Add", ["u", "x"], ["a"]),
                node("Mul", ["a", "v"], ["u2"]),
                node("Identity", ["d"], ["d2"]),
            ],
            [value("j", INT64, []), value("d", BOOL, []), value("u")],
            [value("d2", BOOL, []), value("u2")],
        )
        outer = body(
            [node("Loop", ["k", "", "v"], ["v2"], body=inner), node("Identity", ["c"], ["c2"])],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2")],
        )
        inputs = [X3, value("m", INT64, []), value("k", INT64, [])]
        made = model([node("Loop", ["m", "", "x"], ["y"], body=outer)], inputs, [value("y")])
        runs = [(2, 2), (1, 3), (3, 0), (0, 2)]
        compare(made, *[{"x": random(4) * 0.5, "m": number(m), "k": number(k)} for m, k in runs])

    def test_bodies_that_the_host_interrupts_read_outer_values_again(self) -> None:
        """Repeated in place: what a node before the interruption reads is there in the next iteration too."""
        inner = body(
            [
                node("Mul", ["v", "w"], ["a"]),
                node("NonZero", ["a"], ["places"]),
                node("Shape", ["places"], ["size"]),
                node("Cast", ["size"], ["f"], to=FLOAT),
                node("ReduceSum", ["f"], ["count"], keepdims=0),
                node("Add", ["v", "count"], ["v2"]),
                node("Identity", ["c"], ["c2"]),
            ],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2")],
        )
        nodes = [
            constant("m", number(3)),
            node("Relu", ["x"], ["w"]),
            node("Loop", ["m", "", "x"], ["y"], body=inner),
        ]
        compare(model(nodes, [X3], [value("y")]), *[{"x": random(n)} for n in (4, 4, 6, 2)])

    def test_branches_inside(self) -> None:
        then = body([node("Add", ["v", "x"], ["t"])], [], [value("t")])
        other = body([node("Sub", ["v", "x"], ["e"])], [], [value("e")])
        for times in (4, 20):
            inner = body(
                [
                    node("ReduceSum", ["v"], ["s"], keepdims=0),
                    constant("zero", np.float32(0)),
                    node("Less", ["s", "zero"], ["low"]),
                    node("If", ["low"], ["v2"], then_branch=then, else_branch=other),
                    node("Identity", ["c"], ["c2"]),
                ],
                LOOP_INPUTS,
                [value("c2", BOOL, []), value("v2")],
            )
            nodes = [constant("m", number(times)), node("Loop", ["m", "", "x"], ["y"], body=inner)]
            compare(model(nodes, [X3], [value("y")]), {"x": random(3)}, {"x": random(3)})

    def test_bodies_with_initializers(self) -> None:
        from onnx import numpy_helper

        inner = body(
            [node("Add", ["v", "step"], ["v2"]), node("Identity", ["yes"], ["c2"])],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2")],
            [numpy_helper.from_array(np.float32(2), "step"), numpy_helper.from_array(np.array(True), "yes")],
        )
        made = model([node("Loop", ["m", "", "x"], ["y"], body=inner)], [X3, value("m", INT64, [])], [value("y")])
        compare(made, {"x": random(3), "m": number(3)})

    def test_several_threads(self) -> None:
        nodes = [node("Mul", ["x", "x"], ["w"]), node("Loop", ["m", "", "x"], ["y"], body=adding_loop(scans=False))]
        made = model(nodes, [X3, value("m", INT64, [])], [value("y")])
        ready = Backend.prepare(made)
        failures: list[BaseException] = []

        def work(size: int) -> None:
            try:
                for times in range(4):
                    x = np.full(size, 0.5, np.float32)
                    (y,) = ready.run({"x": x, "m": number(times)})
                    same([y], [x + np.float32(times * 0.25 + times * (times - 1) / 2)])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(size,)) for size in (1, 2, 3, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    def test_loop_that_never_ends_is_refused(self) -> None:
        nodes = [node("Mul", ["x", "x"], ["w"]), node("Loop", ["", "", "x"], ["y"], body=adding_loop(scans=False))]
        with pytest.raises(BasaltError, match="never ends"):
            Backend.prepare(model(nodes, [X3], [value("y")])).run({"x": random(3)})

    def test_rows_of_different_shapes_are_refused(self) -> None:
        inner = body(
            [
                node("Concat", ["v", "x"], ["v2"], axis=0),
                node("Identity", ["v2"], ["row"]),
                node("Identity", ["c"], ["c2"]),
            ],
            LOOP_INPUTS,
            [value("c2", BOOL, []), value("v2"), value("row")],
        )
        nodes = [node("Loop", ["m", "", "x"], ["y", "rows"], body=inner)]
        made = model(nodes, [X3, value("m", INT64, [])], [value("y"), value("rows")])
        with pytest.raises(BasaltError, match="Loop"):
            Backend.prepare(made).run({"x": random(2), "m": number(3)})


class TestIf:
    @pytest.mark.parametrize("opset", [7, 11, 13, 16, 19, 21])
    def test_versions(self, opset: int) -> None:
        then = body([node("Add", ["x", "x"], ["t"])], [], [value("t")])
        other = body([node("Mul", ["x", "x"], ["e"])], [], [value("e")])
        nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other), node("Neg", ["y"], ["z"])]
        made = model(nodes, [X3, value("c", BOOL, [])], [value("z")], opset)
        compare(made, *[{"x": random(n), "c": np.array(c)} for n, c in ((3, True), (3, False), (5, False), (2, True))])

    def test_outputs_of_different_shapes(self) -> None:
        then = body([node("Concat", ["x", "x"], ["t"], axis=0)], [], [value("t")])
        other = body([node("Identity", ["x"], ["e"])], [], [value("e")])
        nodes = [
            node("ReduceMax", ["x"], ["top"], keepdims=0),
            constant("one", np.float32(1)),
            node("Less", ["top", "one"], ["c"]),
            node("If", ["c"], ["y"], then_branch=then, else_branch=other),
            node("Add", ["y", "one"], ["z"]),
        ]
        compare(
            model(nodes, [X3], [value("z")]), *[{"x": np.full(n, v, np.float32)} for n, v in ((2, 0), (3, 2), (4, 0))]
        )

    def test_nested_branches(self) -> None:
        deep_then = body([node("Add", ["x", "w"], ["dt"])], [], [value("dt")])
        deep_other = body([node("Sub", ["x", "w"], ["de"])], [], [value("de")])
        inner = node("If", ["d"], ["t"], then_branch=deep_then, else_branch=deep_other)
        other = body([node("Mul", ["x", "w"], ["e"])], [], [value("e")])
        nodes = [
            node("Exp", ["x"], ["w"]),
            node("If", ["c"], ["y"], then_branch=body([inner], [], [value("t")]), else_branch=other),
        ]
        made = model(nodes, [X3, value("c", BOOL, []), value("d", BOOL, [])], [value("y")])
        runs = [(c, d) for c in (True, False) for d in (True, False)]
        compare(made, *[{"x": random(3), "c": np.array(c), "d": np.array(d)} for c, d in runs])

    def test_condition_of_sizes(self) -> None:
        """A condition that follows from the input's shape costs no step of its own."""
        then = body([node("Add", ["x", "x"], ["t"])], [], [value("t")])
        other = body([node("Mul", ["x", "x"], ["e"])], [], [value("e")])
        nodes = [
            node("Shape", ["x"], ["s"]),
            constant("three", np.array([3])),
            node("Less", ["s", "three"], ["small"]),
            node("Squeeze", ["small"], ["c"]),
            node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        ]
        compare(model(nodes, [X3], [value("y")]), *[{"x": random(n)} for n in (2, 3, 4, 1, 5)])

    def test_condition_of_several_elements_is_refused(self) -> None:
        then = body([node("Add", ["x", "x"], ["t"])], [], [value("t")])
        made = model(
            [node("If", ["c"], ["y"], then_branch=then, else_branch=then)],
            [X3, value("c", BOOL, ["k"])],
            [value("y")],
        )
        with pytest.raises(BasaltError, match="2 elements"):
            Backend.prepare(made).run({"x": random(2), "c": np.array([True, False])})


def running_sum() -> Any:
    """state += row; gives the state and its double."""
    nodes = [node("Add", ["s", "row"], ["s2"]), node("Add", ["s2", "s2"], ["twice"])]
    return body(nodes, [value("s"), value("row")], [value("s2"), value("twice")])


class TestScan:
    @pytest.mark.parametrize("opset", [9, 11, 16, 19, 21])
    def test_versions(self, opset: int) -> None:
        nodes = [node("Scan", ["s", "x"], ["last", "all"], body=running_sum(), num_scan_inputs=1)]
        inputs = [value("s", FLOAT, [2]), value("x", FLOAT, ["n", 2])]
        made = model(nodes, inputs, [value("last"), value("all")], opset)
        compare(made, *[{"s": random(2), "x": random(n, 2)} for n in (3, 1, 5)])

    @pytest.mark.parametrize("length", [4, 700])
    def test_axes_and_directions(self, length: int) -> None:
        """In place and by the host."""
        attributes = {
            "scan_input_axes": [1],
            "scan_input_directions": [1],
            "scan_output_axes": [-1],
            "scan_output_directions": [1],
        }
        inner = body(
            [
                node("Add", ["s", "row"], ["s2"]),
                node("Tanh", ["s2"], ["a"]),
                node("Mul", ["a", "row"], ["b"]),
                node("Sub", ["b", "w"], ["out"]),
            ],
            [value("s"), value("row")],
            [value("s2"), value("out")],
        )
        nodes = [
            node("Neg", ["s"], ["w"]),
            node("Scan", ["s", "x"], ["last", "all"], body=inner, num_scan_inputs=1, **attributes),
        ]
        made = model(nodes, [value("s", FLOAT, [2]), value("x", FLOAT, [2, "n"])], [value("last"), value("all")])
        compare(made, {"s": random(2), "x": random(2, length)})

    def test_several_inputs(self) -> None:
        inner = body(
            [node("Mul", ["a", "b"], ["p"]), node("Add", ["s", "p"], ["s2"])],
            [value("s"), value("a"), value("b")],
            [value("s2"), value("p")],
        )
        nodes = [node("Scan", ["s", "x", "y"], ["last", "all"], body=inner, num_scan_inputs=2, scan_input_axes=[0, 1])]
        inputs = [value("s", FLOAT, [2]), value("x", FLOAT, ["n", 2]), value("y", FLOAT, [2, "n"])]
        made = model(nodes, inputs, [value("last"), value("all")])
        compare(made, *[{"s": random(2), "x": random(n, 2), "y": random(2, n)} for n in (3, 2)])
        with pytest.raises(BasaltError, match="length"):
            Backend.prepare(made).run({"s": random(2), "x": random(3, 2), "y": random(2, 2)})

    def test_nothing_to_scan(self) -> None:
        """ONNX Runtime refuses it; the states stay and the rows are none, along their axis."""
        inner = body(
            [node("Add", ["s", "row"], ["s2"]), node("Identity", ["s2"], ["out"])],
            [value("s"), value("row")],
            [value("s2"), value("out", FLOAT, [2])],
        )
        for axis, shape in ((0, (0, 2)), (1, (2, 0))):
            nodes = [node("Scan", ["s", "x"], ["last", "all"], body=inner, num_scan_inputs=1, scan_output_axes=[axis])]
            made = model(nodes, [value("s", FLOAT, [2]), value("x", FLOAT, ["n", 2])], [value("last"), value("all")])
            s = random(2)
            last, rows = Backend.prepare(made).run({"s": s, "x": np.zeros((0, 2), np.float32)})
            assert np.array_equal(last, s) and rows.shape == shape

    @pytest.mark.parametrize("lengths", [None, [3, 1], [2, 0]])
    @pytest.mark.parametrize("directions", [[0], [1]])
    def test_batches_of_version_8(self, directions: list[int], lengths: Any) -> None:
        inner = body(
            [node("Add", ["s", "row"], ["s2"]), node("Mul", ["s2", "w"], ["out"])],
            [value("s", FLOAT, [2]), value("row", FLOAT, [2])],
            [value("s2", FLOAT, [2]), value("out", FLOAT, [2])],
        )
        given = ["" if lengths is None else "k", "s", "x"]
        nodes = [
            node("Add", ["q", "q"], ["w"]),
            node("Scan", given, ["last", "all"], body=inner, num_scan_inputs=1, directions=directions),
        ]
        inputs = [value("s", FLOAT, [2, 2]), value("x", FLOAT, [2, "n", 2]), value("q", FLOAT, [2])]
        inputs += [] if lengths is None else [value("k", INT64, [2])]
        made = model(nodes, inputs, [value("last"), value("all")], 8)
        s, x, q = random(2, 2), random(2, 3, 2), random(2)
        feeds = {"s": s, "x": x, "q": q, **({} if lengths is None else {"k": np.array(lengths)})}
        last, rows = Backend.prepare(made).run(feeds)
        for b, length in enumerate(lengths or [3, 3]):
            state, expected = s[b], np.zeros((3, 2), np.float32)
            order = range(length)[:: -1 if directions[0] else 1]
            for t, i in enumerate(order):
                state = state + x[b, i]
                expected[t] = state * (q + q)
            np.testing.assert_allclose(last[b], state, rtol=1e-5)
            np.testing.assert_allclose(rows[b], expected, rtol=1e-5)

    def test_wrong_bodies_are_refused(self) -> None:
        nodes = [node("Scan", ["s", "x"], ["last", "all"], body=running_sum(), num_scan_inputs=2)]
        inner = body([node("Add", ["s", "row"], ["s2"])], [value("s"), value("row"), value("t")], [value("s2")])
        others = [node("Scan", ["s", "x"], ["last"], body=inner, num_scan_inputs=1)]
        inputs = [value("s", FLOAT, ["n", 2]), value("x", FLOAT, ["m", 2])]
        for wrong in (nodes, others):
            with pytest.raises(BasaltError, match="Scan"):
                outputs = [value(name) for name in wrong[0].output]
                feeds = {"s": random(3, 2), "x": random(2, 2)}
                Backend.prepare(model(wrong, inputs, outputs)).run(feeds)


SEQUENCE = helper.make_tensor_sequence_value_info


class TestSequenceMap:
    def mapping(self) -> Any:
        nodes = [node("Add", ["e", "t"], ["a"]), node("Mul", ["a", "w"], ["out"])]
        return body(nodes, [value("e"), value("t")], [value("out")])

    def test_sequences_of_run_time(self) -> None:
        nodes = [node("Exp", ["t"], ["w"]), node("SequenceMap", ["q", "t"], ["y"], body=self.mapping())]
        made = model(nodes, [SEQUENCE("q", FLOAT, None), value("t", FLOAT, ["n"])], [SEQUENCE("y", FLOAT, None)])
        ready = Backend.prepare(made)
        for sizes in ([3, 1], [2], [], [1, 1, 3]):
            t = random(1)
            rows = [random(n) for n in sizes]
            (y,) = ready.run({"q": rows, "t": t})
            same(y, [(row + t) * np.exp(t) for row in rows])

    def test_sequences_of_known_length(self) -> None:
        nodes = [
            node("Exp", ["t"], ["w"]),
            node("SequenceConstruct", ["t", "w", "t"], ["q"]),
            node("SequenceMap", ["q", "t"], ["y"], body=self.mapping()),
        ]
        made = model(nodes, [value("t", FLOAT, ["n"])], [SEQUENCE("y", FLOAT, None)])
        ready = Backend.prepare(made)
        for size in (2, 3, 1, 4):
            t = random(size)
            (y,) = ready.run({"t": t})
            same(y, [(row + t) * np.exp(t) for row in (t, np.exp(t), t)])

    def test_different_lengths_are_refused(self) -> None:
        inner = body([node("Add", ["a", "b"], ["out"])], [value("a"), value("b")], [value("out")])
        inputs = [SEQUENCE("q", FLOAT, None), SEQUENCE("r", FLOAT, None)]
        made = model([node("SequenceMap", ["q", "r"], ["y"], body=inner)], inputs, [SEQUENCE("y", FLOAT, None)])
        with pytest.raises(BasaltError, match="lengths"):
            Backend.prepare(made).run({"q": [random(2)], "r": [random(2), random(2)]})


@pytest.mark.parametrize("precision", [None, TensorProto.DOUBLE])
def test_flex_attention(precision: Any) -> None:
    """Bodies scale the scores by a value from around, and halve the weights."""
    score = body([node("Mul", ["s", "f"], ["s2"])], [value("s")], [value("s2")])
    weight = body([node("Div", ["p", "two"], ["p2"])], [value("p")], [value("p2")])
    kind = TensorProto.DOUBLE if precision else FLOAT
    attributes = {"score_mod": score, "prob_mod": weight, **({"softmax_precision": precision} if precision else {})}
    nodes = [
        node("Cast", ["g"], ["f"], to=kind),
        node("Add", ["f", "f"], ["ff"]),
        node("Div", ["ff", "f"], ["two"]),
        node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **attributes),
    ]
    inputs = [value(n, FLOAT, ["b", h, "s" + n, 4]) for n, h in (("q", 4), ("k", 2), ("v", 2))]
    graph = helper.make_graph(nodes, "g", [*inputs, value("g", FLOAT, [])], [value("y")])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.preview", 1)]
    ready = Backend.prepare(helper.make_model(graph, opset_imports=imports))
    for length in (3, 2):
        q, k, v = random(2, 4, 5, 4), random(2, 2, length, 4), random(2, 2, length, 4)
        (y,) = ready.run({"q": q, "k": k, "v": v, "g": np.float32(0.7)})
        keys, values = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
        scores = q @ keys.swapaxes(2, 3) / 2 * 0.7
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(y, powers / powers.sum(-1, keepdims=True) / 2 @ values, rtol=1e-4, atol=1e-5)
