"""Coverage-guided fuzzing of the claims grammar and of structured results. Run by hand where `atheris` is installed
beside this project's packages:

python -m tests.fuzz.atheris_grammar [-max_total_time=180] [CORPUS]

The first byte chooses the version and whether the case is a control; the rest is the answer.
"""

import sys

import atheris

with atheris.instrument_imports(include=["grading"]):
    from grading.changes import LATEST, rules_of
    from grading.claims import claim_findings
    from grading.structured import read_structured
    from schemas.cases import RubricTurn

RUBRIC = RubricTurn(
    must_mention=(("memory limit", "OOMKilled"), ("api-1",)),
    must_not_mention=(("image pull",), ("137",)),
    symptom=(("restarts",),),
)


def one(data: bytes) -> None:
    """Every answer is graded, and every span is the text that stands there."""
    if not data:
        return
    answer = data[1:].decode("utf-8", "surrogateescape")
    for finding in claim_findings(answer, RUBRIC, bool(data[0] & 1), rules_of(LATEST if data[0] & 2 else 1)):
        for span in (finding.span, *(span for _, span in finding.rejected)):
            assert span is None or answer[span.start : span.end] == span.text
    read_structured(answer)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
