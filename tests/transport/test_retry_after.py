"""A server may ask for any moment to be asked again; one that does not read is as good as none."""

import httpx
import pytest

from recorder.transport.failures import retry_wait


@pytest.mark.parametrize(
    "moment",
    [f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT", f"Wed, 21 Oct 2015 07:28:00 +{'9' * 14}", "21 Oct 99999 07:28 GMT"],
)
def test_a_moment_that_no_calendar_holds_is_waited_for_as_if_none_were_named(moment: str) -> None:
    assert retry_wait(429, httpx.Headers({"retry-after": moment}), 1) == 1.0
