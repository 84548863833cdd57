import pytest

from recorder.settings import Flags, resolve


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, 900.0),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": ""}, 900.0),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 1200}'}, 1200.0),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 1200}', "KORVID_EVAL_TIMEOUT_SECONDS": "5"}, 5.0),
    ],
)
def test_the_embedded_model_is_given_time_unless_the_user_says_how_much(env: dict[str, str], seconds: float) -> None:
    endpoint = resolve(Flags(), env).endpoint
    assert endpoint is not None
    assert endpoint.timeout_s == seconds


def test_a_provider_variable_left_from_another_server_does_not_reach_the_embedded_one() -> None:
    endpoint = resolve(Flags(), {"KORVID_EVAL_PROVIDER": "ollama"}).endpoint
    assert endpoint is not None
    assert (endpoint.provider, endpoint.dialect) == ("openai", "openai")
