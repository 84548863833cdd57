"""What we know of a server that we run ourselves. Light: the child process imports it too."""

import msgspec


class LocalFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known without asking of a server that we run ourselves. `weights` is the path of its GGUF file."""

    engine_name: str
    engine_version: str
    weights: str
    digest: str
