"""A small real model with nothing else installed: weights and llama.cpp's server, both from the package index.

`with EmbeddedServer(choose("0.5b")) as server:` gives `server.base_url` and `server.model`. The server is a process of
its own; importing this package loads no engine.
"""

from recorder.embedded.catalogue import CHOICES, Choice, choose
from recorder.embedded.facts import LocalFacts
from recorder.embedded.foreground import serve
from recorder.embedded.process import EmbeddedServer
from recorder.embedded.weights import Progress, cache_directory, ensure_weights

__all__ = [
    "CHOICES",
    "Choice",
    "EmbeddedServer",
    "LocalFacts",
    "Progress",
    "cache_directory",
    "choose",
    "ensure_weights",
    "serve",
]
