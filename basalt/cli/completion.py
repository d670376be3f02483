"""``bslc completion``: the script with which a shell completes command lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

__all__ = ["COMPLETE_VARIABLE", "complete", "completion"]

COMPLETE_VARIABLE = "_BSLC_COMPLETE"
"""The environment variable with which a shell's script asks."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes bslc's command lines.

    \b
    bash:  eval "$(bslc completion bash)"          in ~/.bashrc
    zsh:   eval "$(bslc completion zsh)"           in ~/.zshrc, after compinit
    fish:  bslc completion fish > ~/.config/fish/completions/bslc.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "bslc", COMPLETE_VARIABLE)
    # The source method would start a shell to ask for its version.
    print(script.source_template % script.source_vars())


class _Bash(BashComplete):
    """bash takes NAME=FILE for three words, of which the last is the one to complete."""

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        words = split_arg_string(os.environ["COMP_WORDS"])
        given, incomplete = _joined(words, int(os.environ["COMP_CWORD"]))
        self._before = incomplete.rpartition("=")[0]
        return given[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        before = f"{self._before}="
        if item.type == "plain" and self._before and item.value.startswith(before):
            item = CompletionItem(item.value.removeprefix(before))
        return super().format_completion(item)


def _joined(words: Sequence[str], current: int) -> tuple[list[str], str]:
    """The words before the one that is completed, and this one as far as it is typed, joined at equals signs."""
    joined: list[str] = []
    for place, word in enumerate([*words[:current], words[current] if current < len(words) else ""]):
        if joined and place > 1 and (word == "=" or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined[:-1], joined[-1]


def complete(command: click.Command, asked: str) -> int:
    """Answer a shell's script, which asks with a variable that says what; the exit status."""
    add_completion_class(_Bash)
    return shell_complete(command, {}, "bslc", COMPLETE_VARIABLE, asked)
