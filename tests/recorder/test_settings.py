from pathlib import Path

import pytest

from recorder.resume import completed
from recorder.settings import Flags, resolve
from schemas.errors import UsageError
from tests.recorder.campaigns import campaign


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


def test_another_pack_for_a_campaign_that_goes_on_is_blamed_on_the_pack_and_not_on_a_flag_nobody_gave(
    tmp_path: Path,
) -> None:
    campaign(tmp_path / "c", agent="oracle")
    with pytest.raises(UsageError, match=r"^PACK: with --resume it comes from .*'scenarios' .*; leave PACK out$"):
        completed(Flags(pack="journeys"), tmp_path / "c")
    assert completed(Flags(pack="scenarios"), tmp_path / "c").pack == "scenarios"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (Flags(model="embedded/3b"), "--model: there is no embedded model '3b'"),
        (Flags(pack="nope"), "PACK: there is no pack and no directory 'nope'"),
        (Flags(pack=" "), "PACK: blank name"),
    ],
)
def test_a_wrong_value_is_blamed_on_the_flag_or_argument_that_gave_it(flags: Flags, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolve(flags, {})
    assert str(refused.value).startswith(named)
