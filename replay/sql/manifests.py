"""The rows of the view `campaigns`, from each campaign.json."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.campaigns import MANIFEST
from schemas.errors import WorkError


def campaign_rows(campaigns: Sequence[Path]) -> list[tuple[object, ...]]:
    """One row a campaign, in the order of `tables.CAMPAIGNS`. A campaign without a manifest has a row of NULLs.

    Raises `WorkError` if a manifest cannot be read or is not a JSON object.
    """
    return [_row(path, read_manifest(path)) for path in campaigns]


def read_manifest(campaign: Path) -> dict[str, Any]:
    """The manifest as plain data, empty where there is none. Raises `WorkError` if it cannot be read or is none."""
    path = campaign / MANIFEST
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise WorkError(f"{path}: cannot read the manifest: {error.strerror}; make it readable") from None
    except (ValueError, RecursionError) as error:
        raise WorkError(f"{path}: not a campaign manifest ({error}); restore it from a copy") from None
    if not isinstance(manifest, dict):
        raise WorkError(f"{path}: not a campaign manifest; restore it from a copy")
    return manifest


def _row(path: Path, manifest: dict[str, Any]) -> tuple[object, ...]:
    pack = manifest.get("pack")
    pack = pack if isinstance(pack, dict) else {}
    cases, repetitions = _whole(pack.get("count")), _whole(manifest.get("repetitions"))
    planned = _whole(manifest.get("planned_runs"))
    if planned is None and cases is not None and repetitions is not None:
        planned = cases * repetitions
    publishable = manifest.get("publishable")
    reasons = manifest.get("not_publishable_because")
    return (
        _string(manifest.get("campaign_id")),
        _string(manifest.get("created")),
        _string(manifest.get("arm")),
        _string(manifest.get("agent")),
        _string(manifest.get("model")),
        _string(pack.get("name")),
        cases,
        repetitions,
        planned,
        publishable if isinstance(publishable, bool) else None,
        [str(reason) for reason in reasons] if isinstance(reasons, list) else None,
        json.dumps(manifest, ensure_ascii=False) if manifest else None,
        str(path),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
