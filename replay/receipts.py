"""The receipts beside the grade files of a campaign: what is read of them, and what is said of a damaged one.

No verdict rests on a receipt, so one that does not read is passed over and named: its grades count, without the time at
which they were made. A grade file that is not the one of its receipt is another matter: which of the two was changed
cannot be told, and nobody is shown its verdicts.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.seal.disk import file_sha256
from schemas.grades import StoredReceipt

GRADES = "grades"
Note = Callable[[str], None]
Kind = TypeVar("Kind", "KnownReceipt", StoredReceipt)


class KnownReceipt(msgspec.Struct, frozen=True):
    """What is asked of the receipts of others: the grade file, its SHA-256, and when it was made (RFC 3339, UTC)."""

    grade_file: str
    grade_file_sha256: str
    created: str


def grade_files(directory: Path) -> list[Path]:
    """The grade files of a campaign, by name."""
    return sorted(path for path in (directory / GRADES).glob("*.parquet") if path.is_file())


def known_receipts(files: Sequence[Path], note: Note) -> dict[Path, KnownReceipt]:
    """The receipts of grade files by the file; `note` is told of each that is damaged, and how to have it back."""
    found = {}
    for file in files:
        path = file.with_suffix(".json")
        if path.is_file():
            receipt = _read(path, KnownReceipt)
            if isinstance(receipt, str):
                note(f"{path}: {receipt}; its grades count without their time")
            else:
                found[file] = receipt
    return found


def stored_receipt(file: Path) -> StoredReceipt | None:
    """The whole receipt of a grade file, or None if it does not read or is not the one of these bytes."""
    receipt = _read(file.with_suffix(".json"), StoredReceipt)
    return None if isinstance(receipt, str) or difference(file, receipt) else receipt


def difference(file: Path, receipt: KnownReceipt | StoredReceipt) -> str | None:
    """Why a grade file is not the one of its receipt, or None if it is. Reads the whole file. Raises `OSError`."""
    sha256 = file_sha256(file)
    if sha256 == receipt.grade_file_sha256:
        return None
    return (
        f"has SHA-256 {sha256}, its receipt says {receipt.grade_file_sha256}: one of the two was changed; move both "
        "away and run korvid-replay regrade"
    )


def cannot_be_read(error: OSError) -> str:
    """What is said of a file that is there and cannot be read."""
    return f"cannot be read: {error.strerror}; make it readable"


def problems(directory: Path) -> Iterator[tuple[Path, str]]:
    """The receipts of a campaign that are damaged and the grade files that are not theirs, and what is wrong."""
    for path in sorted(path for path in (directory / GRADES).glob("*.json") if path.is_file()):
        receipt = _read(path, StoredReceipt)
        if isinstance(receipt, str):
            yield path, receipt
            continue
        file = path.with_suffix(".parquet")
        try:
            lost = "is missing and its receipt is there; restore it from a copy"
            wrong = difference(file, receipt) if file.is_file() else lost
        except OSError as error:
            wrong = cannot_be_read(error)
        if wrong is not None:
            yield file, wrong


def _read(path: Path, kind: type[Kind]) -> Kind | str:
    """The receipt in a file, or what is wrong with it and the way out."""
    try:
        receipt = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        return cannot_be_read(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = str(error)
    else:
        if receipt.grade_file == path.with_suffix(".parquet").name:
            return receipt
        why = f"it is the one of {receipt.grade_file!r}"
    return f"not a receipt of grades ({why}); move it away and regrade with the same grader, which writes it again"
