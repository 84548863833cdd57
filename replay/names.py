"""Names from strangers as names of files. Pure."""

import hashlib
import re

_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80


def file_name(text: str) -> str:
    """`text` as one part of a path, without a suffix.

    What had to be changed for it carries the start of its SHA-256, so that no two texts become one name.
    """
    name = _OTHER.sub("-", text).strip("-.")[:_LONGEST]
    if name == text:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{digest}" if name else digest
