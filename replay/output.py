"""How results reach a person or a script: tables and JSON on stdout, progress and errors on stderr."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from replay.unicode import encode_json
from schemas.errors import KorvidError, WorkError

_KEPT = "\t\u200c\u200d"
"""Not printable by themselves, and harmless: a tab, and what keeps the parts of an emoji apart or together."""
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def whole(low: int | None = None, high: int | None = None) -> Callable[[str], int]:
    """A parser of options that take a whole number, from `low` to `high`: plain digits, after a sign if need be.

    `int` by itself would read `1_0` as 10 and take the digits of other scripts.
    """

    def parse(text: str) -> int:
        if not _WHOLE.fullmatch(str(text)):
            raise typer.BadParameter(f"{str(text)!r} is not a whole number; write digits only, such as 12")
        number = int(text)
        if (low is not None and number < low) or (high is not None and number > high):
            span = f"{low} or more" if high is None else f"{low} to {high}"
            raise typer.BadParameter(f"{number} is out of range; give {span}")
        return number

    return parse


def one_of(*known: str) -> Callable[[str], str]:
    """A parser of options that take one of a few words."""

    def parse(text: str) -> str:
        if text not in known:
            raise typer.BadParameter(f"{text!r} is none of {', '.join(known)}")
        return text

    return parse


def app(help_text: str) -> typer.Typer:
    """A Typer application in the house style: plain help (fast to start), no traceback for a user's mistake."""
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def run(application: typer.Typer) -> None:
    """Run a command line: our errors become one line on stderr and their exit code; a closed pipe is no error."""
    application.callback()(_root)
    _whole_summaries(application)
    try:
        application()
    except KorvidError as error:
        print_note(f"error: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader has gone (`| head`); keep the interpreter from complaining when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _whole_summaries(application: typer.Typer) -> None:
    """Let the list of commands show the whole first line of each: the library would cut it after 45 characters."""
    for command in application.registered_commands:
        if command.callback is not None and command.callback.__doc__:
            command.short_help = command.callback.__doc__.partition("\n")[0]
    for group in application.registered_groups:
        if group.typer_instance is not None:
            _whole_summaries(group.typer_instance)


@contextmanager
def writing(where: Path) -> Iterator[None]:
    """A block that writes below `where`: what the disk refuses there becomes a `WorkError` that names the place."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        place = error.filename if isinstance(error.filename, str | Path) else where
        raise WorkError(
            f"{place}: {error.strerror or error}; nothing that was recorded is lost: make room there, or allow files "
            "to be written there, and try again"
        ) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_line(version("korvid-rec"))
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def print_json(value: Any) -> None:
    """One JSON document on stdout. Lone surrogates are shown as U+FFFD, which JSON can carry."""
    print_bytes(msgspec.json.format(encode_json(value), indent=2) + b"\n")


def print_bytes(data: bytes) -> None:
    """Raw bytes on stdout."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def printable(text: str) -> str:
    """Text that cannot move the cursor, change the terminal or break a line: what could is spelled out, `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in _KEPT or (char.isprintable() and not "\ud800" <= char <= "\udfff") else f"\\x{ord(char):02x}"
        for char in text
    )


def print_line(text: str = "") -> None:
    """A line, or several, on stdout."""
    typer.echo("\n".join(map(printable, text.split("\n"))))


def print_note(text: str) -> None:
    """A line on stderr: progress, notices, what to do next."""
    typer.echo("\n".join(map(printable, text.split("\n"))), err=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout: columns as wide as their widest cell, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max([len(heading), *(len(row[index]) for row in cells)]) for index, heading in enumerate(headings)]
    right = [all(_is_number(row[index]) for row in cells) and bool(cells) for index in range(len(headings))]
    print_line(_row(headings, widths, right))
    for row in cells:
        print_line(_row(row, widths, right))


def _row(row: Sequence[str], widths: list[int], right: list[bool]) -> str:
    fields = (
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(row, widths, right, strict=True)
    )
    return "  ".join(fields).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return printable(str(value))


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).isdigit()
