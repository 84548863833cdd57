"""Text of others inside Markdown of ours."""

import re

_MARKUP = re.compile(r"[\\`*_~$&#|<>\[\]]|:(?=//)|(?<=\bwww)\.", re.IGNORECASE)
"""What may be read as markup within a line, by GitHub too; an address links itself by `://` or `www.`"""


def escaped(text: str) -> str:
    """The text in one line, as it stands: it ends no cell of a table and starts no code, emphasis, tag, entity or link.

    An e-mail address may still become a link to itself.
    """
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
