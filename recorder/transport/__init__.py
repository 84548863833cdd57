"""The model transport: one endpoint, asked through LiteLLM, with every byte that left and arrived recorded.

`endpoint_from_env` says where the model is, `ModelClient.complete` asks it, `RequestLedger` turns the traffic into
events. Importing this package does not import LiteLLM; the first request does.
"""

from recorder.transport.calls import calls_in_content
from recorder.transport.client import ModelClient, ModelFailure
from recorder.transport.endpoint import Endpoint, describe, endpoint_from_env, make_endpoint, split_model_ref
from recorder.transport.ledger import RequestLedger
from recorder.transport.secret import Scrubber, Secret

__all__ = [
    "Endpoint",
    "ModelClient",
    "ModelFailure",
    "RequestLedger",
    "Scrubber",
    "Secret",
    "calls_in_content",
    "describe",
    "endpoint_from_env",
    "make_endpoint",
    "split_model_ref",
]
