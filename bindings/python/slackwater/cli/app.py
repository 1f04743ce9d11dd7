"""The commands in one program, and what each kind of failure looks like."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from slackwater._engine import InputError, __version__
from slackwater._public import tell_renamed
from slackwater.cli.area import area
from slackwater.cli.batch import batch
from slackwater.cli.plan import plan
from slackwater.cli.saved import diff, explain, replay
from slackwater.cli.screen import warnings_as_lines
from slackwater.cli.stats import stats
from slackwater.cli.stays import stays

REFUSED, INTERRUPTED = 2, 130
# Where times of a file lack a zone, the package tells methods of libraries of tables.
LIBRARY_WAY = re.compile(r"give them the zone of the clock that they are from \(.*\)$")
FILE_WAY = "write them with their UTC offset, such as 2026-01-05T18:00+01:00"
# What the parser of options says of a word that is no number.
PARSER = re.compile(r"Input should be (.+?)(, unable to parse .*)?$")

app = typer.Typer(
    name="slackwater",
    help="Optimal smart charging, with a proof and a reason for every plan.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(plan)
app.command()(explain)
app.command()(replay)
app.command()(diff)
app.command()(batch)
app.command()(area)
app.command()(stays)
app.command()(stats)


@app.callback(invoke_without_command=True)
def slackwater(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Optimal smart charging, with a proof and a reason for every plan."""
    if version:
        sys.stdout.write(f"slackwater {__version__}\n")
    elif context.invoked_subcommand is None:
        context.get_help()


def run(arguments: Sequence[str] | None) -> int:
    """Run a command and turn failures into one line and an exit code."""
    words = None if arguments is None else list(arguments)
    try:
        with warnings_as_lines():
            code = app(args=words, prog_name="slackwater", standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        message = _refusal(error)
        if message is None:
            raise
        print("error:", " ".join(message.split()), file=sys.stderr)
        return REFUSED
    return code if isinstance(code, int) else 0


def _renamed_option(option: str, context: typer.Context) -> str | None:
    """What to say of an earlier name of an option; ``None`` if it is none."""
    known = [parameter.name for parameter in context.command.params if parameter.name]
    today = tell_renamed("", option.lstrip("-").replace("-", "_"), known)
    return None if today is None else f"{option} is called --{today.replace('_', '-')}"


def _refusal(error: Exception) -> str | None:
    """What to say of bad input; ``None`` if the error is a defect of ours."""
    match error:
        case InputError():
            return LIBRARY_WAY.sub(FILE_WAY, str(error))
        case ModuleNotFoundError(name="matplotlib"):
            return "--plot needs matplotlib: pip install slackwater[plot]"
        case OSError(filename=str() as name):
            return f"{name}: {error.strerror}"
        case OSError():
            return str(error)
    # Typer brings its own copy of click or takes the installed one, depending
    # on its version: a wrong option is known by what it can do.
    if not hasattr(error, "format_message"):
        return None
    text = PARSER.sub(r"it has to be \1", error.format_message().strip().rstrip("."))
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "slackwater"
    option = getattr(error, "option_name", None)
    if isinstance(option, str) and context is not None:
        text = _renamed_option(option, context) or text
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"
