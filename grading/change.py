"""One entry of the claims grader's history."""

import msgspec


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the history: `story` says what went wrong without it, `switch` is its field in `Rules`."""

    id: str
    title: str
    switch: str
    story: str


def change(id: str, switch: str, title: str, story: str) -> Change:
    """An entry whose story is written over several lines."""
    return Change(id=id, title=title, switch=switch, story=" ".join(story.split()))
