"""The serving passport: which engine, which weights, how much context. Sources: evaluation semantics 10.2."""

from recorder.embedded.facts import LocalFacts
from recorder.serving.gguf import GgufError, GgufFacts, read_gguf
from recorder.serving.probe import probe, provider_facts
from recorder.serving.target import Served
from schemas.provenance import passport_changed

__all__ = [
    "GgufError",
    "GgufFacts",
    "LocalFacts",
    "Served",
    "passport_changed",
    "probe",
    "provider_facts",
    "read_gguf",
]
