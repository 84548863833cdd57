"""Coverage-guided fuzzing of the importers. Run by hand where `atheris` is installed beside this project's packages:

python -m tests.fuzz.atheris_importers [-max_total_time=180] [CORPUS]

The first byte chooses the importer and the shape of its source. Of the rest, every four bytes are one change of the
source's JSON; or, for an Inspect log, of the bytes of its zip.
"""

import sys

import atheris

with atheris.instrument_imports(include=["replay.importing", "zipfile", "schemas.codec"]):
    from tests.fuzz.importing import eval_file, imported, korvid_source, workplace

FOUR = 4


def changes(data: bytes) -> list[int]:
    """Three numbers for each four bytes: place, kind of change, what is put there."""
    numbers: list[int] = []
    for at in range(0, len(data) - FOUR + 1, FOUR):
        numbers += [int.from_bytes(data[at : at + 2], "little"), data[at + 2], data[at + 3]]
    return numbers


def one(data: bytes) -> None:
    """A source becomes campaigns that verify, or one error of ours that leaves nothing behind."""
    if not data:
        return
    kind, rest = data[0], data[1:]
    with workplace() as here:
        source = here / "a.eval"
        if kind % 3 == 0:
            source = korvid_source(here / "in", kind // 3, changes(rest))
        elif kind % 3 == 1:
            eval_file(source, bool(kind & 128), changes(rest))
        else:
            whole = bytearray(eval_file(source, False, []).read_bytes())
            for at in range(0, len(rest) - FOUR + 1, FOUR):
                whole[int.from_bytes(rest[at : at + 3], "little") % len(whole)] = rest[at + 3]
            source.write_bytes(whole)
        imported(source, here / "out")


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
