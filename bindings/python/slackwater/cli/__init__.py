"""The command line: ``slackwater plan``, ``batch``, ``stats`` and more.

Exit codes: 0 done, 1 done but ``--strict`` found rows in error or odd readings, or
nobody read the answer to its end, 2 bad input with one line on stderr, 3 done but
``replay`` or ``diff`` found a difference, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

NEEDED = frozenset({"pyarrow", "rich", "typer"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Words after the name of the program; those of the process
            by default.

    Returns:
        The exit code.
    """
    try:
        from slackwater.cli.app import run  # noqa: PLC0415  needs an optional extra
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        hint = "pip install slackwater[cli]"
        print(f"error: the command line needs {error.name}: {hint}", file=sys.stderr)
        return 2
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` has. Nothing may be flushed
        # into the closed pipe when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SystemExit as ended:
        # Rich and Typer end the process themselves when a pipe is closed.
        return ended.code if isinstance(ended.code, int) else 1
    return code
