"""The tools that an agent is given: what they are called, which are armed, and the executor that runs them."""

from recorder.tools.arming import armed, schemas_for
from recorder.tools.catalog import NAMES, READS, SCREEN, WRITES, ToolSpec, describe
from recorder.tools.check import Checked, check_call
from recorder.tools.toolbox import Outcome, Toolbox, refusal

__all__ = [
    "NAMES",
    "READS",
    "SCREEN",
    "WRITES",
    "Checked",
    "Outcome",
    "ToolSpec",
    "Toolbox",
    "armed",
    "check_call",
    "describe",
    "refusal",
    "schemas_for",
]
