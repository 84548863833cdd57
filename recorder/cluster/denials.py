"""Denied reads: which requests a fixture's rules refuse.

An omitted key of a rule matches everything, the subresource included, so a rule on pods refuses their logs too. A list
is authorised as a whole, as the API server does it: a rule on one namespace refuses the list over all namespaces, and a
rule on one object refuses any list that would contain it. Nothing is ever filtered out silently. Source: evaluation
semantics 2.1.
"""

from collections.abc import Iterable

from recorder.cluster.api import forbidden
from schemas.cases import Denial
from schemas.errors import CaseError
from schemas.kinds import Kind, denial_problem


def check_denials(rules: Iterable[Denial]) -> None:
    """Raise `CaseError` for the first rule that could never match a read, naming its index and key."""
    for index, rule in enumerate(rules):
        problem = denial_problem(rule)
        if problem is not None:
            raise CaseError(f"cluster.forbidden[{index}].{problem}")


class Denials:
    """The rules of one fixture, asked once per request."""

    def __init__(self, rules: Iterable[Denial], user: str) -> None:
        self._rules = tuple(rules)
        self._user = user
        check_denials(self._rules)

    def check(
        self, verb: str, kind: Kind, namespace: str | None, name: str | None, subresource: str | None = None
    ) -> None:
        """Raise a 403 if a rule refuses the request. `name` None is a list; `namespace` None is every namespace."""
        for rule in self._rules:
            if _matches(rule, kind, namespace, name, subresource):
                raise forbidden(self._user, verb, kind, namespace if kind.namespaced else None, subresource)


def _matches(rule: Denial, kind: Kind, namespace: str | None, name: str | None, subresource: str | None) -> bool:
    if rule.kind.lower() != kind.plural:
        return False
    if rule.subresource is not None and rule.subresource != subresource:
        return False
    if rule.name is not None and rule.name != name:
        return False
    if rule.namespace is None:
        return True
    # A request over all namespaces needs the right in each of them.
    return namespace is None or rule.namespace == namespace
