"""Helm releases from the Secrets that Helm keeps them in.

A Secret of type `helm.sh/release.v1` is one revision of a release. Its labels carry name, revision and status; chart
and application version are inside the payload (base64 twice, then gzip), which a fixture may leave out.
"""

import base64
import binascii
import zlib
from typing import Any

from recorder.cluster.api import Release
from schemas.codec import parse_json

SECRET_TYPE = "helm.sh/release.v1"

_MAX_PAYLOAD = 4 * 1024 * 1024
"""No release of a real cluster exceeds etcd's limit of 1.5 MiB compressed by much; more is refused unread."""


def latest_releases(secrets: tuple[dict[str, Any], ...]) -> tuple[Release, ...]:
    """The newest revision of each release, sorted by namespace and name. Secrets of another type are passed over."""
    newest: dict[tuple[str, str], Release] = {}
    for secret in secrets:
        release = _release(secret)
        if release is None:
            continue
        key = (release.namespace, release.name)
        if key not in newest or release.revision > newest[key].revision:
            newest[key] = release
    return tuple(newest[key] for key in sorted(newest))


def _release(secret: dict[str, Any]) -> Release | None:
    if secret.get("type") != SECRET_TYPE:
        return None
    metadata = secret["metadata"]
    labels = metadata.get("labels") or {}
    revision = str(labels.get("version", ""))
    if "name" not in labels or not revision.isdecimal():
        return None
    chart = _payload(secret).get("chart")
    about = chart.get("metadata") if isinstance(chart, dict) else None
    about = about if isinstance(about, dict) else {}
    return Release(
        namespace=str(metadata.get("namespace", "")),
        name=str(labels["name"]),
        revision=int(revision),
        status=str(labels.get("status", "unknown")),
        chart=f"{about['name']}-{about['version']}" if "name" in about and "version" in about else None,
        app_version=str(about["appVersion"]) if "appVersion" in about else None,
        updated=metadata.get("creationTimestamp"),
    )


def _payload(secret: dict[str, Any]) -> dict[str, Any]:
    packed = (secret.get("data") or {}).get("release")
    if not isinstance(packed, str):
        return {}
    try:
        squeezed = base64.b64decode(base64.b64decode(packed, validate=True), validate=True)
        plain = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(squeezed, _MAX_PAYLOAD)
        value = parse_json(plain)
    except (binascii.Error, zlib.error, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
