"""The standard streams, in whatever state the process was given them."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["discard_output", "is_closed_output", "prepare_streams"]


def prepare_streams() -> None:
    """Have all three streams open, and print what their encoding lacks as an escape instead of failing on it.

    A file that is opened while a standard stream is closed would get its number, and what anybody prints would go into
    it. What is read from a closed stdin ends at once, what is printed to a closed stderr vanishes, and printing to a
    closed stdout fails.
    """
    # The first number that is free is the one that is missing. Writing fails with a file that is open for reading.
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def is_closed_output(error: OSError) -> bool:
    """Whether this is what printing to a closed stdout raises."""
    return error.errno == errno.EBADF and error.filename is None


def discard_output() -> None:
    """Print what is still to be printed; if that fails, forget it.

    The interpreter flushes stdout once more at exit, which must not fail a second time.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
