"""`korvid-rec packs`: list, show and check packs of cases. For authors."""

from collections.abc import Callable
from typing import Annotated

import typer

from packs.check import GradeClaims
from replay import output
from schemas.cases import Case, rubric_digest, stimulus_digest, to_wire
from schemas.words import counted

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
PackArgument = Annotated[str, typer.Argument(metavar="PACK", help="A bundled pack or a directory of case files.")]


def packs_app(grade_claims: Callable[[], GradeClaims]) -> typer.Typer:
    """The commands; `grade_claims` gives the newest claims grader, which lives in a room this one must not enter."""
    app = output.app("List, show and check packs of cases.")
    app.command("list")(_list)
    app.command("show")(_show)

    @app.command("check")
    def check(pack: PackArgument = "scenarios", as_json: JsonFlag = False) -> None:
        """Check a pack as its author: leaks, fixtures, every evidence location, every pinned answer.

        Exit 1 if there is a problem; each says where it is and what to do.
        """
        _check(pack, as_json, grade_claims())

    return app


def _list(as_json: JsonFlag = False) -> None:
    """List the bundled packs with their size and digest."""
    from packs.loader import bundled, load_pack

    found = [load_pack(name) for name in bundled()]
    rows = [{"name": pack.name, "cases": len(pack.cases), "sha256": pack.sha256} for pack in found]
    if as_json:
        output.print_json(rows)
    else:
        output.print_table(("pack", "cases", "sha256"), ([*row.values()] for row in rows))


def _show(
    pack: PackArgument = "scenarios",
    case: Annotated[str | None, typer.Option("--case", metavar="ID", help="One case, whole.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the cases of a pack: id, root cause, question, digests; or one case whole."""
    from packs.loader import load_pack, select

    loaded = load_pack(pack)
    if case is not None:
        output.print_json(_whole(select(loaded, [case]).cases[0]))
        return
    rows = [_row(item) for item in loaded.cases]
    if as_json:
        output.print_json(rows)
        return
    output.print_table(
        ("case", "root cause", "turns", "stimulus", "question"),
        (
            (row["id"], row["root_cause"], row["turns"], str(row["stimulus_sha256"])[:12], _first(row["question"]))
            for row in rows
        ),
    )
    output.print_note(f"{counted(len(rows), 'case')}, sha256 {loaded.sha256}")


def _whole(case: Case) -> dict[str, object]:
    return {
        "id": case.id,
        "kind": case.kind,
        "notes": case.notes,
        "stimulus_sha256": stimulus_digest(case.stimulus),
        "rubric_sha256": rubric_digest(case.rubric),
        "stimulus": to_wire(case.stimulus),
        "rubric": to_wire(case.rubric),
        "pins": case.pins,
    }


def _row(case: Case) -> dict[str, object]:
    return {
        "id": case.id,
        "kind": case.kind,
        "root_cause": case.rubric.root_cause,
        "turns": len(case.stimulus.turns),
        "question": case.stimulus.turns[0].user,
        "stimulus_sha256": stimulus_digest(case.stimulus),
        "rubric_sha256": rubric_digest(case.rubric),
    }


def _check(name: str, as_json: bool, grade: GradeClaims) -> None:
    from packs.check import check_case
    from packs.loader import load_pack
    from recorder.fixture_tools import run_tool

    pack = load_pack(name)
    problems = [problem for case in pack.cases for problem in check_case(case, run_tool, grade)]
    if as_json:
        output.print_json({"pack": pack.name, "cases": len(pack.cases), "problems": problems})
    else:
        for problem in problems:
            output.print_line(f"{problem.case_id}: {problem.where}: {problem.message}")
        output.print_note(f"{counted(len(pack.cases), 'case')}, {counted(len(problems), 'problem')}")
    if problems:
        raise typer.Exit(1)


def _first(text: object) -> str:
    """The beginning of a question, on one line."""
    line = " ".join(str(text).split())
    return line if len(line) <= 60 else f"{line[:57]}..."
