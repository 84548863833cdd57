"""Run by the interpreter that has Inspect: read logs with its own reader and print what it saw, as JSON."""

import json
import sys

from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, write_eval_log

read_back = []
for path in sys.argv[1:]:
    log = read_eval_log(path)
    samples = [
        {
            "id": sample.id,
            "epoch": sample.epoch,
            "roles": [message.role for message in sample.messages],
            "answer": sample.output.completion,
            "calls": [
                [call.function, call.arguments]
                for message in sample.messages
                if message.role == "assistant"
                for call in message.tool_calls or ()
            ],
            "results": [message.text for message in sample.messages if message.role == "tool"],
            "scores": {name: score.value for name, score in (sample.scores or {}).items()},
            "error": sample.error.message if sample.error else None,
        }
        for sample in log.samples or ()
    ]
    summaries = [[summary.id, summary.epoch] for summary in read_eval_log_sample_summaries(path)]
    rewritten = path.removesuffix(".eval") + "-rewritten.eval"
    write_eval_log(log, rewritten)
    seen = {"status": log.status, "model": log.eval.model, "samples": samples, "summaries": summaries}
    read_back.append(seen | {"rewritten": rewritten})
sys.stdout.write(json.dumps(read_back))
