"""The command `cvxens`: its sub-commands, and what becomes of errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from cvxens import __version__
from cvxens.cli import commands
from cvxens.errors import CvxensError

UNUSABLE = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cvxens")
def cvxens() -> None:
    """Ensemble learning as convex modelling: fit, predict, report, certify, prove, check, export.

    Exit status: 0 where all is well, 1 where a check failed, 2 where something cannot be used, 130 after Ctrl-C.
    """


for each in vars(commands).values():
    if isinstance(each, click.Command):
        cvxens.add_command(each)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_command(cvxens, "cvxens", arguments)


def run_command(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error that a person can mend is one line on standard error, without a traceback."""
    try:
        status = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except CvxensError as error:
        click.echo(f"error: {error}", err=True)
        status = UNUSABLE
    except click.ClickException as error:
        error.show()
        status = UNUSABLE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        status = commands.INTERRUPTED
    # commands that end as they should say nothing
    sys.exit(status or 0)
