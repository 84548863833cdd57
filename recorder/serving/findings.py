"""The passport while it is being filled in: facts with their sources, and what went wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from recorder.serving.target import Trouble
from schemas.provenance import ServingPassport, unavailable_facts


class Findings:
    """Facts found so far. The first source of a fact wins."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._facts: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._troubles: list[str] = []
        self._guesses: list[str] = []
        self.warmup: bool | None = None

    def note(self, fact: str, value: Any, source: str) -> None:
        """Keep a fact; None is no fact."""
        if value is not None and fact not in self._facts:
            self._facts[fact] = value
            self._sources[fact] = source

    def has(self, fact: str) -> bool:
        """Whether the fact is known already."""
        return fact in self._facts

    def guessed(self, message: str) -> None:
        """Keep that the server is not of some kind: worth telling only if it is of no kind that we know."""
        self._guesses.append(message)

    def recognised(self) -> None:
        """The server is of a known kind; the guesses before are no news."""
        self._guesses.clear()

    @contextmanager
    def tolerating(self) -> Iterator[None]:
        """A step whose failure is kept and does not stop the others."""
        try:
            yield
        except Trouble as trouble:
            self._troubles.append(str(trouble))

    def passport(self) -> ServingPassport:
        """The passport with all that was found."""
        passport = ServingPassport(
            model=self._model,
            **self._facts,
            warmup=self.warmup,
            sources=self._sources,
            error="; ".join(self._guesses + self._troubles) or None,
        )
        return msgspec.structs.replace(passport, unavailable=unavailable_facts(passport))
