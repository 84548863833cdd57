"""Stopped from outside: the log says so, and the conversation can go on."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from recorder.agent import Agent
from recorder.cluster import FakeCluster
from recorder.conversation import Conversation
from recorder.plan import PlannedRun
from recorder.run import record_run
from recorder.scripted import Call, Reply, ScriptedServer
from recorder.tools import Toolbox, armed, schemas_for
from recorder.transport import ModelClient, RequestLedger
from recorder.workspace import Workspace
from replay.reader import read_all
from replay.verify import verify_run
from schemas.events import Interrupted, ModelRequest, RunFinished, ToolResult, TurnFinished, WireChunk
from schemas.policy import LIMITS
from tests.recorder.recording import LOGS, case_of, endpoint_of, setting_of
from tests.tools.fixtures import SCREEN, everything

LOOK = Reply(text="Let me look.", tool_calls=(Call(name="get_logs", arguments=LOGS),))


class StoppedAt(ModelClient):
    """A client whose user presses Ctrl-C when a word of the answer has appeared."""

    def __init__(self, endpoint: Any, word: str) -> None:
        super().__init__(endpoint)
        self._word = word
        self._seen = ""

    async def complete(self, *arguments: Any, on_text: Any = None, **more: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None

        def watch(text: str) -> None:
            on_text(text)
            self._seen += text
            if self._word and self._word in self._seen:
                self._word = ""
                task.cancel()

        return await super().complete(*arguments, on_text=watch, **more)


@pytest.mark.parametrize("api", ["native", "v1"])
async def test_a_run_stopped_in_the_middle_of_a_stream_says_so_and_keeps_what_had_come(
    tmp_path: Path, never: threading.Event, api: str
) -> None:
    held = Reply(text="It panics on a nil map.", hold=never, hold_at=4)
    with ScriptedServer([LOOK, held]) as server:
        async with StoppedAt(endpoint_of(server, api), "panics") as client:
            with pytest.raises(asyncio.CancelledError):
                await record_run(PlannedRun(case_of("Why?", "And?"), 1), setting_of(client), tmp_path)
        asked = len(server.chats)
    (path,) = tmp_path.iterdir()
    check = verify_run(path)
    assert (check.state, check.status) == ("interrupted", "interrupted")
    events: list[Any] = [record.event for record in read_all(path)[0]]
    stopped = next(event for event in events if isinstance(event, Interrupted))
    assert (stopped.turn, stopped.iteration) == (1, 2)
    assert stopped.content.startswith("It panics")
    turn = next(event for event in events if isinstance(event, TurnFinished))
    assert (turn.outcome, turn.answer, turn.iterations, turn.tool_calls) == ("interrupted", "", 2, 1)
    assert turn.usage_estimated, "the request that was stopped left and was not counted by the server"
    assert (turn.usage.input_tokens or 0) > 100
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].reason) == ("interrupted", "stopped from outside")
    assert len([event for event in events if isinstance(event, ModelRequest)]) == asked == 2
    raw = "".join(piece.text or "" for event in events if isinstance(event, WireChunk) for piece in event.pieces)
    assert "panics" in raw, "the pieces that had arrived are in the log"


async def test_the_conversation_is_repaired_so_that_the_next_turn_can_go_on(never: threading.Event) -> None:
    events: list[Any] = []
    held = Reply(text="It panics " + "x" * 3_000 + " on a nil map.", hold=never, hold_at=5)
    with ScriptedServer([LOOK, held, Reply(text="As I said.")]) as server:
        async with StoppedAt(endpoint_of(server), "xxx") as client:
            agent = agent_of(client, events)
            with pytest.raises(asyncio.CancelledError):
                await agent.run_turn(1, "Why?", "Why?", SCREEN)
            current = asyncio.current_task()
            assert current is not None
            current.uncancel()
            assert await agent.run_turn(2, "And?", "And?", SCREEN) == "answered"
        (result,) = [event for event in events if isinstance(event, ToolResult)]
        messages = json.loads(server.chats[-1].body)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert messages[3]["content"] == result.result, "the iteration that had ended before stays"
    note = messages[4]["content"]
    assert note.startswith("It panics xxx")
    assert note.endswith("\n[interrupted]")
    assert len(note) == 2_000 + len("\n[interrupted]")


async def test_stopped_before_a_word_had_come_leaves_only_the_mark(never: threading.Event) -> None:
    events: list[Any] = []
    with ScriptedServer([Reply(text="never seen", hold_before=never), Reply(text="Fine.")]) as server:
        async with ModelClient(endpoint_of(server)) as client:
            agent = agent_of(client, events)
            turn = asyncio.create_task(agent.run_turn(1, "Why?", "Why?", SCREEN))
            while not server.chats:
                await asyncio.sleep(0)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            assert agent.conversation.turns[-1][-1] == {"role": "assistant", "content": "[interrupted]"}


def agent_of(client: ModelClient, events: list[Any]) -> Agent:
    fixture = everything()
    cluster = FakeCluster(fixture)
    workspace = Workspace(SCREEN, cluster)
    specs = armed("low", cluster=fixture)
    setting = setting_of(client)
    return Agent(
        client=client,
        ledger=RequestLedger(events.append),
        toolbox=Toolbox(cluster, workspace, specs, LIMITS["low"]),
        workspace=workspace,
        tool_schemas=schemas_for(specs, "low"),
        conversation=Conversation(system="You read clusters.", limits=LIMITS["low"], tool_schema_chars=0),
        policy=setting.policy,
        emit=events.append,
    )
