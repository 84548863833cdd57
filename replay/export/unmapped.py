"""For each format and each kind of event: whether it has a place there, and if not, why. A public table of losses.

A key is an event's type, or a type and a field. An empty reason means that the event is carried. A test holds that
every kind of event stands in every table, so a new kind cannot be lost in silence.
"""

_STREAM = "pieces of the raw stream have no place; the response they make up is carried"
_BODY = "the byte-exact body and its digest have no place; the messages are carried"
_SCREEN = "there is no screen in this format"
_TRIM = "dropping of old turns is not modelled; the messages of each request show it"
_CONTEXT = "whether the server cut the prompt has no place"
_SERVING = "a change of the serving engine has no place"
_CASE = "the fixture and the rubric have no place; their digests are carried"
_REDACTED = "what was masked in a result, and the whole of a result that the model saw cut, have no place"
_INTERRUPTED = "a recording stopped from outside has no event of its own; the run's status says so"

_SHARED = {
    "run_started": "",
    "run_started.stimulus": _CASE,
    "run_started.rubric": _CASE,
    "turn_started": "",
    "turn_started.interaction": _SCREEN,
    "message": "",
    "wire_chunk": _STREAM,
    "model_response": "",
    "tool_call": "",
    "tool_result": "",
    "tool_result.redactions": _REDACTED,
    "screen_action": _SCREEN,
    "screen_state": _SCREEN,
    "history_trimmed": _TRIM,
    "interrupted": _INTERRUPTED,
    "turn_finished": "",
    "context_checked": _CONTEXT,
    "serving_changed": _SERVING,
    "run_finished": "",
}
_REQUESTS = {**_SHARED, "toolset": "", "model_request": "", "model_request.body": _BODY, "model_error": ""}
"""Where a request and its response have a place of their own."""

PLACES: dict[str, dict[str, str]] = {
    "atif": _REQUESTS,
    "inspect": {
        **_SHARED,
        "toolset": "tool definitions stand in model events only, which are not made up here",
        "model_request": "model events are not made up from ours; the conversation is carried",
        "model_response.duration_s": "times of single responses have no place outside model events",
        "model_error": "failed and retried requests have no place; the sample's error is carried",
    },
    "otel": _REQUESTS,
    "parquet": {
        "run_started": "",
        "run_started.stimulus": "only what the views show of the fixture; its digest is carried",
        "turn_started": "",
        "message": "",
        "toolset": "the views have no table of tool definitions",
        "model_request": "",
        "model_request.body": _BODY,
        "wire_chunk": "the views have no table of stream pieces; the response they make up is carried",
        "model_response": "",
        "model_error": "",
        "tool_call": "",
        "tool_result": "",
        "screen_action": "",
        "screen_state": "the views have no table of screens",
        "history_trimmed": "the views have no table of it",
        "interrupted": _INTERRUPTED,
        "turn_finished": "",
        "context_checked": "the views have no table of it",
        "serving_changed": "the views have no table of it",
        "run_finished": "",
    },
}
