"""Words that every room shows to people in the same way."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun in the right number: `1 run`, `0 runs`; `plural` where `s` is not enough (`2 matches`)."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
