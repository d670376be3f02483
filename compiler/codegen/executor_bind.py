"""The executor's front: checking the arrays of a call and writing their addresses into the rows' tables.

It reads NumPy's array objects directly: one look costs a few nanoseconds where Python takes a microsecond. Whatever
is not exactly as the program wants it is left to the careful path in Python (``runtime/feeds.py``).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from basalt.runtime.layout import CALL_SYMBOL, OBJECT_HEADS, Array, Env, Frame, Patch, Status, Tensor

from .emitter import I64, POINTER, Emitter

__all__ = ["build_calls"]


def build_calls(module: ir.Module, execute: Emitter) -> None:
    """Builtin functions for CPython (METH_FASTCALL): ``basalt_call_H(inputs, outputs, given) -> status``.

    Their ``self`` is the int64 array that holds the frame; there is one for each H, the bytes of CPython's object head,
    as all else about its objects is read from the frame. ``inputs`` and ``outputs`` are tuples of arrays; ``given`` is
    True if the outputs are the caller's own, which may overlap. The rows run with the GIL released. Returns what
    ``basalt_execute`` returns, or ``Status.UNBOUND - t`` if tensor ``t`` (inputs first) is not as expected or overlaps
    another one.
    """
    call = _call(module, _bind_all(module), execute)
    for head in OBJECT_HEADS:
        e = Emitter(module, f"{CALL_SYMBOL}_{head}", 3, internal=False)
        words, args, _ = e.args
        e.ret(e.call(call, e.load(e.builder.add(words, I64(head)), Array.DATA), args))


def _call(module: ir.Module, bind_all: Emitter, execute: Emitter) -> Emitter:
    """``(frame, args) -> PyObject *``"""
    e = Emitter(module, "call", 2)
    frame, args = e.args
    env = e.load(frame, Frame.ENV)
    make_int = e.load(env, Env.LONG_FROM)
    given = e.builder.zext(e.compare("==", e.load(args, 2), e.load(env, Env.TRUE)), I64)
    status = e.call(bind_all, frame, e.load(args, 0), e.load(args, 1), given)
    with e.when(e.compare("!=", status, Status.DONE)):
        e.ret(e.call_address(make_int, I64, status))
    thread = e.call_address(e.load(env, Env.SAVE_THREAD), POINTER)
    status = e.call(execute, frame)
    e.call_address(e.load(env, Env.RESTORE_THREAD), ir.VoidType(), thread)
    e.ret(e.call_address(make_int, I64, status))
    return e


def _bind_all(module: ir.Module) -> Emitter:
    """``(frame, inputs, outputs, given) -> status``: checks all arrays and writes their addresses into the tables."""
    bind, overlaps, patch = _bind(module, _fits(module)), _overlaps(module), _patch(module)
    e = Emitter(module, "bind_all", 4)
    frame, inputs, outputs, given = e.args
    first_output = e.load(frame, Frame.INPUT_COUNT)
    count = e.load(frame, Frame.TENSOR_COUNT)
    for objects, first, last in ((inputs, I64(0), first_output), (outputs, first_output, count)):
        status = e.call(bind, frame, objects, first, last)
        with e.when(e.compare("!=", status, Status.DONE)):
            e.ret(status)
    with e.when(e.compare("!=", given, 0)):
        status = e.call(overlaps, frame)
        with e.when(e.compare("!=", status, Status.DONE)):
            e.ret(status)
    e.call(patch, frame)
    e.ret(Status.DONE)
    return e


def _tensor(e: Emitter, frame: Any, index: Any) -> Any:
    return e.builder.add(e.load(frame, Frame.TENSORS), e.builder.mul(index, I64(8 * Tensor.WORDS)))


def _bind(module: ir.Module, fits: Emitter) -> Emitter:
    """``(frame, tuple, first, last) -> status``: keeps the addresses of the arrays for tensors first .. last - 1."""
    e = Emitter(module, "bind", 4)
    frame, objects, first, last = e.args
    env = e.load(frame, Frame.ENV)
    items = e.builder.add(objects, e.load(env, Env.TUPLE_ITEMS))
    head = e.load(env, Env.OBJECT_HEAD)
    pointers = e.load(frame, Frame.POINTERS)
    with e.count(first, last) as index:
        array = e.load(items, e.builder.sub(index, first))
        fit = e.call(fits, array, _tensor(e, frame, index), env)
        with e.when(e.compare("==", fit, 0)):
            e.ret(e.builder.sub(I64(Status.UNBOUND), index))
        e.store(e.load(e.builder.add(array, head), Array.DATA), pointers, index)
    e.ret(Status.DONE)
    return e


def _fits(module: ir.Module) -> Emitter:
    """``(object, tensor, env) -> 1`` if the object is an ndarray of exactly the tensor's type, shape and flags."""
    e = Emitter(module, "fits", 3)
    array, tensor, env = e.args
    body = e.builder.add(array, e.load(env, Env.OBJECT_HEAD))

    def require(left: Any, right: Any) -> None:
        with e.when(e.compare("!=", left, right)):
            e.ret(0)

    require(e.load(body, -1), e.load(env, Env.ARRAY_TYPE))
    require(e.load(body, Array.DTYPE), e.load(tensor, Tensor.DTYPE))
    require(e.load32(body, Array.RANK), e.load(tensor, Tensor.RANK))
    flags = e.load(tensor, Tensor.FLAGS)
    require(e.builder.and_(e.load32(body, Array.FLAGS), flags), flags)
    sizes, expected = e.load(body, Array.DIMS), e.load(tensor, Tensor.DIMS)
    with e.count(0, e.load(tensor, Tensor.RANK)) as axis:
        require(e.load(sizes, axis), e.load(expected, axis))
    e.ret(1)
    return e


def _overlaps(module: ir.Module) -> Emitter:
    """``(frame) -> status``: whether an output shares bytes with an input or an earlier output."""
    e = Emitter(module, "overlaps", 1)
    (frame,) = e.args
    pointers = e.load(frame, Frame.POINTERS)
    with e.count(e.load(frame, Frame.INPUT_COUNT), e.load(frame, Frame.TENSOR_COUNT)) as output:
        start = e.load(pointers, output)
        stop = e.builder.add(start, e.load(_tensor(e, frame, output), Tensor.NBYTES))
        with e.count(0, output) as other:
            other_start = e.load(pointers, other)
            other_stop = e.builder.add(other_start, e.load(_tensor(e, frame, other), Tensor.NBYTES))
            low = e.builder.select(e.compare(">", start, other_start), start, other_start)
            high = e.builder.select(e.compare("<", stop, other_stop), stop, other_stop)
            with e.when(e.compare("<", low, high)):
                e.ret(e.builder.sub(I64(Status.UNBOUND), output))
    e.ret(Status.DONE)
    return e


def _patch(module: ir.Module) -> Emitter:
    """``(frame)``: writes the arrays' addresses into the tables."""
    e = Emitter(module, "patch", 1)
    (frame,) = e.args
    patches, tables = e.load(frame, Frame.PATCHES), e.load(frame, Frame.TABLES)
    pointers = e.load(frame, Frame.POINTERS)
    with e.count(0, e.load(frame, Frame.PATCH_COUNT)) as index:
        patch = e.builder.add(patches, e.builder.mul(index, I64(8 * Patch.WORDS)))
        data = e.load(pointers, e.load(patch, Patch.TENSOR))
        e.store(e.builder.add(data, e.load(patch, Patch.OFFSET)), tables, e.load(patch, Patch.ENTRY))
    e.ret(0)
    return e
