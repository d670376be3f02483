"""A thin layer over llvmlite's IR builder: 64-bit words, loops and conditions, as the executor needs them."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

__all__ = ["I32", "I64", "POINTER", "Emitter", "pause_instruction"]

I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()


class Emitter:
    """Emits one function. Every value is an ``i64``; an address is one too until it is used."""

    def __init__(self, module: ir.Module, name: str, arity: int, *, internal: bool = True) -> None:
        self.function = ir.Function(module, ir.FunctionType(I64, [I64] * arity), name=name)
        if internal:
            self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    @property
    def args(self) -> tuple[Any, ...]:
        return self.function.args

    def address(self, base: Any, word: Any) -> Any:
        """Pointer to the ``word``-th word after ``base``."""
        offset = self.builder.mul(self.value(word), I64(8))
        return self.builder.inttoptr(self.builder.add(base, offset), I64.as_pointer())

    def load(self, base: Any, word: Any) -> Any:
        return self.builder.load(self.address(base, word), typ=I64)

    def load32(self, base: Any, word: Any) -> Any:
        """The 32-bit integer at the start of a word, zero extended."""
        pointer = self.builder.bitcast(self.address(base, word), I32.as_pointer())
        return self.builder.zext(self.builder.load(pointer, typ=I32), I64)

    def store(self, value: Any, base: Any, word: Any) -> None:
        self.builder.store(self.value(value), self.address(base, word))

    def load_acquire(self, base: Any, word: Any) -> Any:
        return self.builder.load_atomic(self.address(base, word), "acquire", 8, typ=I64)

    def store_release(self, value: Any, base: Any, word: Any) -> None:
        self.builder.store_atomic(self.value(value), self.address(base, word), "release", 8)

    def value(self, value: Any) -> Any:
        return I64(value) if isinstance(value, int) else value

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        return self.builder.icmp_signed(operator, left, self.value(right))

    def call(self, function: Emitter, *args: Any) -> Any:
        return self.builder.call(function.function, [self.value(arg) for arg in args])

    def call_address(self, address: Any, result: ir.Type, *args: Any) -> Any:
        kind = ir.FunctionType(result, [arg.type for arg in args])
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), args)

    def ret(self, value: Any) -> None:
        self.builder.ret(self.value(value))

    @contextmanager
    def when(self, condition: Any) -> Iterator[None]:
        with self.builder.if_then(condition):
            yield

    @contextmanager
    def count(self, start: Any, stop: Any) -> Iterator[Any]:
        """``for i in range(start, stop)``; yields ``i``."""
        builder = self.builder
        entry, head = builder.block, builder.append_basic_block("head")
        body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(I64)
        index.add_incoming(self.value(start), entry)
        builder.cbranch(self.compare("<", index, stop), body, after)
        builder.position_at_end(body)
        yield index
        index.add_incoming(builder.add(index, I64(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)

    @contextmanager
    def forever(self) -> Iterator[Any]:
        """``while True``; yields the block to branch to for leaving."""
        builder = self.builder
        body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        yield after
        builder.branch(body)
        builder.position_at_end(after)

    def leave(self, condition: Any, after: Any) -> None:
        """Branch to ``after`` if ``condition`` holds."""
        stay = self.builder.append_basic_block("stay")
        self.builder.cbranch(condition, after, stay)
        self.builder.position_at_end(stay)


def pause_instruction(module: ir.Module) -> ir.Function | None:
    """What a thread that waits does between two looks, on processors that have an instruction for it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    name = "llvm.x86.sse2.pause"
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(ir.VoidType(), []), name)
