"""Memory that Python writes and the executor reads: blocks of 64-bit words, addressed by word.

The executor is machine code (built in ``compiler/codegen/executor.py``); everything it knows comes from these blocks,
so that one executor serves every program, every threading layer and every Python.
"""

from __future__ import annotations

__all__ = [
    "ABI",
    "CALL_SYMBOL",
    "EXECUTE_SYMBOL",
    "KERNEL_SYMBOL",
    "OBJECT_HEADS",
    "PARALLEL_SYMBOL",
    "WORD",
    "WORKER_SYMBOL",
    "Array",
    "Env",
    "Frame",
    "Job",
    "Patch",
    "Pool",
    "Region",
    "Row",
    "Status",
    "Tensor",
]

WORD = 8
"""Bytes of a word."""
ABI = 2
"""Version of all that machine code knows of these blocks and of its callers; files hold code for one version."""

CALL_SYMBOL, EXECUTE_SYMBOL, KERNEL_SYMBOL = "basalt_call", "basalt_execute", "basalt_kernel"
PARALLEL_SYMBOL, WORKER_SYMBOL = "basalt_parallel_for", "basalt_worker"
"""Names of the functions that the executor's and the kernels' object code export."""
OBJECT_HEADS = (16, 32)
"""Bytes of PyObject_HEAD in the CPythons there are: with the GIL, and free-threaded."""


class Env:
    """One block a process: functions that the executor calls, and where CPython and NumPy keep what it reads."""

    PARALLEL_FOR = 0  # parallel_for of the threading layer in use: Numba's or our own
    YIELD = 1  # int sched_yield(void) or the platform's equal
    SAVE_THREAD = 2  # PyEval_SaveThread
    RESTORE_THREAD = 3  # PyEval_RestoreThread
    ARRAY_TYPE = 4  # address of numpy.ndarray
    TUPLE_ITEMS = 5  # offset in bytes of a tuple's first item
    OBJECT_HEAD = 6  # bytes of PyObject_HEAD; its last word is the type
    TRUE = 7  # address of True
    LONG_FROM = 8  # PyLong_FromLongLong
    CLOCK = 9  # clock_gettime or QueryPerformanceCounter; 0 if there is no clock
    CLOCK_ID = 10  # what clock_gettime is asked for; 0 for QueryPerformanceCounter
    CLOCK_TICK = 11  # nanoseconds that the first word of the clock's answer counts
    POOL = 12  # block of our own threads; 0 if another layer is in use
    ACTIVE = 16  # teams that run now, on a cache line of its own
    WORDS = 24


class Pool:
    """Our own threads. The functions are pthread's, or those of Windows' slim locks, which are called the same way."""

    LOCK = 0  # (mutex)
    UNLOCK = 1  # (mutex)
    WAIT = 2  # (condition, mutex, INFINITE, 0), of which pthread takes two
    WAKE = 3  # (condition): one waiter
    MUTEX = 4
    CONDITION = 5
    SPINS = 6  # looks at the launches before a worker goes to sleep
    LAUNCHES = 8  # grows with each job
    SLEEPING = 16
    JOBS = 24
    JOB_COUNT = 32
    WORDS = JOBS + 8 * JOB_COUNT


class Job:
    """Work that a team launches. State: the number of workers inside << 32 | places left."""

    STATE = 0
    MEMBER = 1
    ARGS = 2
    SIZES = 3
    STEPS = 4
    FRAME = 5
    USED = 6
    WORDS = 8


class Array:
    """Words of PyArrayObject after PyObject_HEAD (fixed by NumPy's C ABI)."""

    DATA = 0
    RANK = 1  # 32 bits
    DIMS = 2
    DTYPE = 5
    FLAGS = 6  # 32 bits


class Tensor:
    """What an input or output must look like to be used in place; one block a tensor, shared by all frames."""

    DTYPE = 0  # address of the dtype object
    RANK = 1
    DIMS = 2  # address of the sizes
    FLAGS = 3  # NumPy flags that must all be set
    NBYTES = 4
    WORDS = 5


class Patch:
    """One table entry that depends on the arrays of a call: tables[ENTRY] = data of TENSOR + OFFSET bytes."""

    ENTRY = 0
    TENSOR = 1
    OFFSET = 2
    WORDS = 3


class Region:
    """Consecutive rows that run either on the calling thread alone or by a team launched once."""

    FIRST = 0
    LAST = 1  # exclusive
    PARALLEL = 2
    WORDS = 3


class Row:
    """One row: a cache line of its own, because the team counts chunks in it."""

    KERNEL = 0
    TABLE = 1
    START = 2
    STOP = 3
    STEP = 4  # units a chunk
    CHUNKS = 5
    CLAIMED = 6
    DONE = 7
    WORDS = 8


class Frame:
    """State of one run. Words that threads write while others read lie on cache lines of their own."""

    ENV = 0
    ROWS = 1
    ROW_COUNT = 2
    REGIONS = 3
    REGION_COUNT = 4
    TENSORS = 5
    INPUT_COUNT = 6
    TENSOR_COUNT = 7
    POINTERS = 8  # TENSOR_COUNT addresses, filled in by each call
    PATCHES = 9
    PATCH_COUNT = 10
    TABLES = 11
    REGION = 12  # the region that the team works on
    TEAM = 13  # number of threads to run on
    GROUPS = 14  # a word a row: the end of the rows that are opened to the team together with it
    DEADLINE = 15  # nanoseconds of the clock at which the run stops; 0 if it has none
    LED = 16  # 1 once a thread has taken the lead
    CURRENT = 24  # row open to helpers; -1 before the first, -2 after the last
    ERROR = 32  # a Status, or row << 32 | status
    GRAINS = 40  # with a deadline: a word a row, units to run between two looks at the clock
    WORDS = 48


class Status:
    """What the executor returns when it is not ``row << 32 | status of the kernel``."""

    DONE = -1
    LATE = -(1 << 62)  # the deadline passed
    UNBOUND = -2  # tensor t (inputs first) cannot be used in place: UNBOUND - t
