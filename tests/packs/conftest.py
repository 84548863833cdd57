"""A small case that loads, and ways to break it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from packs.loader import load_case
from schemas.cases import Case

UID = "3f0a2f6e-64c1-4b1d-9a51-0d4b3f3a9c11"

GOOD: dict[str, Any] = {
    "id": "stopped-queue",
    "stimulus": {
        "question": "Why is the queue stopped?",
        "interaction": {
            "kube_context": "eval-fixture",
            "context_epoch": 1,
            "focused_pane": {
                "kind": "pods",
                "scope": "shop",
                "selected": {"kind": "pods", "name": "queue-0", "namespace": "shop", "uid": UID},
            },
        },
        "cluster": {
            "objects": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "queue-0", "namespace": "shop", "uid": UID, "labels": {"app": "queue"}},
                    "spec": {"containers": [{"name": "queue", "image": "images.example.com/queue:1.4.0"}]},
                    "status": {"phase": "Running", "startTime": "2026-07-27T07:00:00Z"},
                }
            ],
            "events": [
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": "queue-0.1", "namespace": "shop"},
                    "involvedObject": {"kind": "Pod", "name": "queue-0", "namespace": "shop", "uid": UID},
                    "reason": "Frozen",
                    "message": "the disk is full",
                    "type": "Warning",
                    "count": 3,
                }
            ],
            "logs": {"shop/queue-0/queue": {"current": ["2026-07-27T07:59:00Z no space left on device"]}},
        },
    },
    "rubric": {
        "root_cause": "disk_full",
        "must_mention": [["disk is full", "no space left"]],
        "must_not_mention": [["out of memory"]],
        "expected_evidence": [
            [
                {
                    "tool": "get_logs",
                    "args": {"pod": "queue-0", "namespace": "shop"},
                    "contains": "no space left on device",
                }
            ]
        ],
    },
    "pins": {"pass": ["The disk is full."], "fail": ["It ran out of memory."]},
}

JOURNEY: dict[str, Any] = {
    **GOOD,
    "stimulus": {
        "interaction": GOOD["stimulus"]["interaction"],
        "turns": [
            {"user": "Why is it stopped?"},
            {"user": "And now?", "interaction": {"focused_pane": {"kind": "pods", "scope": "*"}}},
        ],
        "cluster": GOOD["stimulus"]["cluster"],
    },
    "rubric": {
        "root_cause": "disk_full",
        "turns": [
            {
                "must_mention": [["disk is full"]],
                "expected_evidence": GOOD["rubric"]["expected_evidence"],
                "max_tool_calls": 2,
                "forbidden_targets": [{"name": "queue-1"}],
            },
            {"must_mention": [["still"]], "expected_evidence": GOOD["rubric"]["expected_evidence"]},
        ],
    },
    "pins": [{"pass": ["The disk is full."], "fail": ["No."]}, {"pass": ["Still full."], "fail": ["No."]}],
}


class Author:
    """Writes cases into a directory and loads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def text(self, content: str, name: str = "case.yaml") -> Path:
        file = self.folder / name
        file.write_text(content, "utf-8")
        return file

    def write(self, document: dict[str, Any], name: str = "case.yaml") -> Path:
        unshared = json.loads(json.dumps(document))
        return self.text(yaml.safe_dump(unshared, sort_keys=False), name)

    def load(self, document: dict[str, Any]) -> Case:
        return load_case(self.write(document))

    def broken(self, path: str, value: Any, document: dict[str, Any] = GOOD) -> Case:
        """Load the case with the member at a dotted path replaced (`...` removes it)."""
        changed = copy.deepcopy(document)
        node: Any = changed
        *way, last = [int(key) if key.isdigit() else key.replace("~", "/") for key in path.split("/")]
        for key in way:
            node = node[key]
        if value is ...:
            del node[last]
        else:
            node[last] = value
        return self.load(changed)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    """Somebody who writes cases."""
    return Author(tmp_path)
