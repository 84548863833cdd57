"""What a cluster offers to be read, and how it says no.

Every method is a read, is synchronous, returns plain data that the caller may change, and raises `ApiError` with the
words an API server uses. Tools depend on this protocol only, so a live cluster can stand where the fake one does.
"""

from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from schemas.cases import LogRecord, MetricSeries
from schemas.kinds import Kind, resource

Reason = Literal["NotFound", "Forbidden", "BadRequest", "InternalError", "ServiceUnavailable"]


class ApiError(Exception):
    """A refusal by the API server: HTTP `status`, machine-readable `reason`, and `message`."""

    def __init__(self, status: int, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return f"API {self.status}: {self.message}"


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The latest revision of one Helm release. `chart` and `app_version` are None where the payload cannot be read."""

    namespace: str
    name: str
    revision: int
    status: str
    chart: str | None = None
    app_version: str | None = None
    updated: str | None = None


class ClusterReader(Protocol):
    """Every way in which a cluster can be read."""

    @property
    def now(self) -> datetime:
        """The moment that ages are reckoned against."""

    def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str | None = None, fields: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """The objects of a kind, sorted by namespace and name; `labels` and `fields` are selectors as kubectl's."""

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> dict[str, Any]:
        """One object."""

    def events(
        self, name: str, namespace: str | None, *, kind: str | None = None, uid: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """Events whose involved object has this name, and this kind (as manifests spell it) and uid where given."""

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str | None = None,
        *,
        previous: bool = False,
        tail_lines: int | None = None,
    ) -> tuple[str, ...]:
        """The lines of one container's running instance, or of the instance before it."""

    def releases(self, namespace: str | None = None) -> tuple[Release, ...]:
        """Helm releases, read from their Secrets."""

    def metrics(
        self, signal: str, namespace: str, *, workload: str | None = None, pod: str | None = None
    ) -> tuple[MetricSeries, ...]:
        """Series of a metrics backend."""

    def search_logs(
        self, namespace: str, *, workload: str | None = None, pod: str | None = None
    ) -> tuple[LogRecord, ...]:
        """Lines of a log search backend, oldest first."""


def not_found(kind: Kind, name: str) -> ApiError:
    """404 for one object."""
    return ApiError(404, "NotFound", f'{resource(kind)} "{name}" not found')


def forbidden(user: str, verb: str, kind: Kind, namespace: str | None, subresource: str | None = None) -> ApiError:
    """403 for one request; `namespace` None is the cluster scope."""
    path = f"{kind.plural}/{subresource}" if subresource else kind.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    group = f'in API group "{kind.group}"'
    return ApiError(
        403, "Forbidden", f'{path} is forbidden: User "{user}" cannot {verb} resource "{path}" {group} {where}'
    )


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)
