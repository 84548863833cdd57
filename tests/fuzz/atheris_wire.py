"""Coverage-guided fuzzing of the wire parser. Run by hand where `atheris` is installed beside this project's packages:

python -m tests.fuzz.atheris_wire [-max_total_time=180] [CORPUS]

The first byte chooses dialect, framing and where the body is cut; the rest is the body.
"""

import sys

import atheris

with atheris.instrument_imports(include=["recorder", "schemas"]):
    from recorder.transport.wire import WireReader

KINDS = (("openai", "sse"), ("openai", "document"), ("ollama", "lines"), ("ollama", "document"))


def one(data: bytes) -> None:
    """Nothing raises, and a body cut in two is read like the whole one."""
    if not data:
        return
    kind, body = KINDS[data[0] % 4], data[1:]
    cut = (data[0] >> 2) * len(body) // 64
    found = []
    for pieces in ((body,), (body[:cut], body[cut:])):
        reader = WireReader(*kind)
        for piece in pieces:
            reader.feed(piece, 0.5)
        reader.finish(1.0)
        found.append((reader.content, reader.reasoning, reader.finish_reason, reader.problem, reader.calls.emitted(1)))
    assert found[0] == found[1]


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
