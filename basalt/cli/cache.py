"""``bslc cache``: look at the cache of compiled kernels, fill it, and make it smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from basalt.cli.arguments import BYTES, help_if_alone
from basalt.cli.output import json_option, print_json, print_table, size_text
from basalt.cli.warm import warm

if TYPE_CHECKING:
    from basalt.runtime.kernel_cache import CacheInfo

__all__ = ["cache"]


@click.group(invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """Show, fill or shrink the cache of compiled kernels."""
    help_if_alone(context)


@cache.command()
@json_option
def info(as_json: bool) -> None:
    """Show the cache's folder and size."""
    state = _info()
    if as_json:
        print_json(_description(state))
    else:
        rows = [["folder", _folder(state)], ["files", str(state.files)], ["size", size_text(state.nbytes)]]
        print_table(["cache", ""], rows)


@cache.command()
@click.option("--max-size", type=BYTES, required=True, help="What may remain, such as 500MB, 2GB or 64MiB.")
@json_option
def prune(max_size: int, as_json: bool) -> None:
    """Remove the kernels unused for longest.

    They go one by one until the others take at most --max-size.
    """
    _shrink(max_size, as_json)


@cache.command()
@json_option
def clear(as_json: bool) -> None:
    """Remove all compiled kernels.

    Nothing is asked: what is needed later is compiled again.
    """
    _shrink(0, as_json)


cache.add_command(warm)


def _info() -> CacheInfo:
    from basalt.runtime.kernel_cache import cache_info

    return cache_info()


def _shrink(limit: int, as_json: bool) -> None:
    from basalt.runtime.kernel_cache import cache_prune

    before = _info()
    removed = cache_prune(limit)
    after = _info()
    files = max(0, before.files - after.files)
    if as_json:
        print_json({"removed_files": files, "removed_bytes": removed} | _description(after))
    else:
        print(f"removed {_count(files)} ({size_text(removed)}) from {_folder(after)}")
        print(f"left    {_count(after.files)} ({size_text(after.nbytes)})")
    if after.nbytes > limit:
        raise click.ClickException(f"files of {size_text(after.nbytes)} could not be removed from {_folder(after)}")


def _description(state: CacheInfo) -> dict[str, str | int | None]:
    return {"folder": state.folder, "files": state.files, "bytes": state.nbytes}


def _folder(state: CacheInfo) -> str:
    return state.folder or "no folder: neither BASALT_CACHE_DIR nor a home folder is set"


def _count(files: int) -> str:
    return f"{files} file" if files == 1 else f"{files} files"
