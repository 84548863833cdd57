"""The one loader of case packs: a bundled pack by name, or any directory of `*.yaml` files with one case in each.

A pack is sorted by case id and carries a digest over its content, which depends on neither path, file name, key order
nor mtime. Everything wrong is a `UsageError` or `CaseError` before anything runs.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from packs import form, yaml_strict
from packs.reading import At
from schemas.cases import Case, pack_digest
from schemas.errors import CaseError, UsageError

_HOME = Path(__file__).parent
DEFAULT_PACK = "scenarios"


class Pack(msgspec.Struct, frozen=True):
    """Cases to run. `path` is the directory they came from, `sha256` the digest of the cases in `cases`."""

    name: str
    path: str
    cases: tuple[Case, ...]
    sha256: str


def bundled() -> tuple[str, ...]:
    """The names of the packs that come with the program, sorted."""
    return tuple(sorted({file.parent.name for file in _HOME.glob("*/*.yaml")}))


def load_pack(ref: str | Path = DEFAULT_PACK, given_as: str = "PACK") -> Pack:
    """Load a bundled pack by name, or the pack in a directory, which a person gave as the flag or argument `given_as`.

    A name of a bundled pack wins over a directory that is called alike; write `./scenarios` for the latter.
    Raises `UsageError` if there is no such pack and `CaseError` for whatever is wrong in it.
    """
    folder = _folder(ref, given_as)
    cases = tuple(sorted(_cases(folder), key=lambda case: case.id))
    return Pack(folder.name, str(folder), cases, pack_digest(list(cases)))


def select(pack: Pack, case_ids: Sequence[str]) -> Pack:
    """The pack of only these cases, sorted by id. Raises `UsageError` for an empty, blank, repeated or unknown id."""
    if not case_ids:
        raise UsageError("--case: no case id was given; leave the flag out to take the whole pack")
    known = [case.id for case in pack.cases]
    for index, case_id in enumerate(case_ids):
        if not case_id.strip():
            raise UsageError(f"--case: blank case id; give one of the {len(known)} ids of pack {pack.name}")
        if case_id in case_ids[:index]:
            raise UsageError(f"--case: {case_id} is given twice; give each id once")
        if case_id not in known:
            raise UsageError(f"--case: pack {pack.name} has no case {case_id!r}; {_near(case_id, known)}")
    cases = tuple(case for case in pack.cases if case.id in case_ids)
    return Pack(pack.name, pack.path, cases, pack_digest(list(cases)))


def load_case(file: Path) -> Case:
    """The case of one file. Raises `CaseError`."""
    try:
        content = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise CaseError(f"{file}: not UTF-8 at byte {error.start} - save the file as UTF-8 text") from None
    except OSError as error:
        raise CaseError(f"{file}: cannot be read ({error.strerror}) - check the path and its permissions") from None
    return form.case(At(str(file), "", yaml_strict.load(content, str(file))))


def _folder(ref: str | Path, given_as: str) -> Path:
    names = bundled()
    if isinstance(ref, str) and ref in names:
        return _HOME / ref
    if not str(ref).strip():
        raise UsageError(f"{given_as}: blank name; give one of {', '.join(names)} or a directory")
    folder = Path(ref)
    if folder.is_dir():
        return folder.resolve()
    if folder.is_file():
        raise UsageError(f"{given_as}: {ref} is a file; give the directory that holds it")
    raise UsageError(f"{given_as}: there is no pack and no directory {str(ref)!r}; {_near(str(ref), names)}")


def _cases(folder: Path) -> list[Case]:
    for file in sorted(folder.glob("*.yml")):
        raise CaseError(f"{file}: would be left out - rename it to {file.stem}.yaml")
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise CaseError(f"{folder}: holds no case - put one case a file in it, named <id>.yaml")
    cases: list[Case] = []
    seen: dict[str, Path] = {}
    for file in files:
        case = load_case(file)
        if case.id in seen:
            raise CaseError(f"{file}: id: {seen[case.id].name} has the same id ({case.id!r}) - give each case its own")
        seen[case.id] = file
        cases.append(case)
    return cases


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
