"""`korvid-rec serve`: the embedded model alone, in the foreground, until Ctrl-C."""

from collections.abc import Callable

from recorder.embedded.catalogue import DEFAULT_CONTEXT_TOKENS, Choice
from recorder.embedded.process import EmbeddedServer
from recorder.embedded.weights import Progress

_POLL_S = 0.5


def serve(
    choice: Choice,
    port: int = 0,
    *,
    context_tokens: int = DEFAULT_CONTEXT_TOKENS,
    echo: Callable[[str], None],
    progress: Progress | None = None,
) -> None:
    """Serve `choice` until Ctrl-C; `echo` gets the lines for standard output.

    Raises what `EmbeddedServer` raises, also `WorkError` if the server ends by itself.
    """
    server = EmbeddedServer(choice, port=port, context_tokens=context_tokens, progress=progress)
    try:
        with server:
            for line in announcement(server):
                echo(line)
            while not server.wait(_POLL_S):
                continue
            server.check()
    except KeyboardInterrupt:
        return


def announcement(server: EmbeddedServer) -> tuple[str, ...]:
    """What a person needs to use it: where it is, and the two variables that make the recorder use it."""
    return (
        f"{server.choice.model} at {server.base_url} ({server.context_tokens} tokens of context); Ctrl-C stops it",
        f"export KORVID_EVAL_BASE_URL={server.base_url}",
        f"export KORVID_EVAL_MODEL={server.model}",
    )
