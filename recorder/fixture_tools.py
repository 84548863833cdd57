"""Run one tool on a case's fixture, as a model's call would: for checking what evidence a fixture gives."""

from typing import Any

from packs.check import ToolAnswer
from recorder.cluster import FakeCluster
from recorder.tools import Toolbox, armed
from recorder.workspace import Workspace
from schemas.cases import Case
from schemas.policy import LIMITS, Tier


def run_tool(case: Case, name: str, arguments: dict[str, Any], tier: Tier = "low") -> ToolAnswer:
    """What the tool gives back in a tier, cut to that tier's length: the text the model would see."""
    cluster = FakeCluster(case.stimulus.cluster)
    specs = armed(tier, cluster=case.stimulus.cluster)
    if name not in {spec.name for spec in specs}:
        specs = armed("high", cluster=case.stimulus.cluster)
    toolbox = Toolbox(cluster, Workspace(case.stimulus.interaction, cluster), specs, LIMITS[tier])
    outcome = toolbox.execute(name, arguments)
    return ToolAnswer(outcome.ok, outcome.shown, outcome.error_class)
