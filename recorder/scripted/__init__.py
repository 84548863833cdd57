"""A scripted model behind a real HTTP server, for tests and for baseline agents that need no model.

It speaks Ollama's native API and the OpenAI-compatible one, streaming and not, and can misbehave on request.
"""

from recorder.scripted.replies import Call, ModelCard, Reply, Script
from recorder.scripted.server import CapturedRequest, ScriptedServer

__all__ = ["Call", "CapturedRequest", "ModelCard", "Reply", "Script", "ScriptedServer"]
