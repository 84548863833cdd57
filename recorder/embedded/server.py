"""The child process that serves an embedded model: `python -m recorder.embedded.server`.

It loads the weights into llama.cpp's own HTTP server on a loopback port, prints one line of JSON (`url`, `port`,
`engine`, `version`) and lives until its standard input ends or its parent is gone. SIGTERM and SIGINT end it at once:
it owns nothing that needs to be put in order. Its log goes to standard error.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from recorder.embedded.catalogue import DEFAULT_CONTEXT_TOKENS, ENGINE_PACKAGE, TEMPLATE

_PARENT_CHECK_S = 1.0


def main(arguments: list[str] | None = None) -> None:
    """Serve until standard input ends. Exits with the engine's own error if the model cannot be loaded."""
    options = _parser().parse_args(arguments)
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        # The default action works while the engine holds the interpreter, a Python handler would not.
        signal.signal(number, signal.SIG_DFL)
    # Spinning threads on a busy machine are ten times slower; read by the OpenMP library when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    engine = importlib.import_module(ENGINE_PACKAGE)
    try:
        server = engine.Server(_parameters(engine, options))
    except RuntimeError as error:
        raise SystemExit(f"the engine cannot serve {options.model}: {error}") from None
    _announce(server.listening_address)
    _wait_for_end_of(parent)
    # No destructor: it would wait for an answer that is still being generated.
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m recorder.embedded.server")
    parser.add_argument("--weights", required=True, help="GGUF file")
    parser.add_argument("--model", required=True, help="tag that the server answers to")
    parser.add_argument("--template", default=str(TEMPLATE), help="chat template (Jinja)")
    parser.add_argument("--context", type=int, default=DEFAULT_CONTEXT_TOKENS, help="context size in tokens")
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 takes a free one")
    parser.add_argument("--threads", type=int, default=0, help="threads; 0 means one a core")
    return parser


def _parameters(engine: Any, options: argparse.Namespace) -> Any:
    parameters = engine.CommonParams()
    parameters.model.path = options.weights
    parameters.model_alias = {options.model}
    parameters.chat_template = Path(options.template).read_text(encoding="utf-8")
    parameters.use_jinja = True
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_ctx = options.context
    threads = options.threads or cores()
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    # One slot: parallel requests change the text of answers.
    parameters.n_parallel = 1
    # An over-long prompt is refused, never shifted. Only the slot itself keeps a prefix: memory stays bounded.
    parameters.ctx_shift = False
    parameters.cache_ram_mib = 0
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False
    # No page in a browser may call it.
    parameters.cors_origins = "http://127.0.0.1"
    return parameters


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _announce(url: str) -> None:
    line = {
        "url": url,
        "port": int(url.rsplit(":", 1)[1]),
        "engine": ENGINE_PACKAGE,
        "version": importlib.metadata.version(ENGINE_PACKAGE),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _wait_for_end_of(parent: int) -> None:
    """Return when standard input ends, or when another process inherited its other end and the parent is gone."""
    stdin = sys.stdin.fileno()
    while os.getppid() == parent:
        readable, _, _ = select.select([stdin], [], [], _PARENT_CHECK_S)
        if readable and not os.read(stdin, 4096):
            return


if __name__ == "__main__":
    main()
