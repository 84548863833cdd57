"""What a Pod's status says: readiness, restarts, the status word of a list, and one line per container."""

from typing import Any

from recorder.tools.fields import at, condition, count, maps, pairs, text

Object = dict[str, Any]


def statuses(pod: Object) -> dict[str, Object]:
    """Container status by container name, init containers included."""
    entries = [*maps(pod, "status", "initContainerStatuses"), *maps(pod, "status", "containerStatuses")]
    return {text(entry, "name"): entry for entry in entries}


def container_names(pod: Object, key: str = "containers") -> list[str]:
    """The names of a pod's containers, or of its `initContainers`, in the order of its spec."""
    return [text(entry, "name") for entry in maps(pod, "spec", key)]


def ready_count(pod: Object) -> tuple[int, int]:
    """How many containers are ready, and how many there are; init containers are not counted."""
    entries = maps(pod, "status", "containerStatuses")
    total = len(maps(pod, "spec", "containers")) or len(entries)
    return sum(1 for entry in entries if entry.get("ready") is True), total


def restarts(pod: Object) -> int:
    """The restarts of all containers together."""
    return sum(count(entry, "restartCount") for entry in statuses(pod).values())


def is_ready(pod: Object) -> bool:
    """Whether the pod's Ready condition is True."""
    return condition(pod, "Ready").get("status") == "True"


def is_settled(pod: Object) -> bool:
    """Whether the pod needs no attention: ready, or run to its end."""
    return is_ready(pod) or text(pod, "status", "phase") == "Succeeded"


def status_word(pod: Object) -> str:
    """What kubectl shows as STATUS: the most specific reason that the pod's status states, else its phase."""
    if at(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    init = _init_word(pod)
    if init:
        return init
    for entry in maps(pod, "status", "containerStatuses"):
        word = text(entry, "state", "waiting", "reason") or _ended_word(entry)
        if word and word != "Completed":
            return word
    return text(pod, "status", "reason") or text(pod, "status", "phase")


def container_line(container: str, entry: Object | None) -> str:
    """`app:  waiting reason=CrashLoopBackOff  not-ready  restarts=9  last-exit=137 (OOMKilled)`."""
    if entry is None:
        return f"{container}:  no status"
    line = f"{container}:  {_state(entry)}  {'ready' if entry.get('ready') is True else 'not-ready'}"
    line += f"  restarts={count(entry, 'restartCount')}"
    last = at(entry, "lastState", "terminated")
    if last:
        line += f"  last-exit={count(last, 'exitCode')}"
        line += f" ({text(last, 'reason')})" if text(last, "reason") else ""
    return line


def container_details(entry: Object | None) -> list[str]:
    """The messages and times behind a container's state, one line each."""
    if entry is None:
        return []
    lines = []
    for label, path in (("waiting", "waiting"), ("terminated", "terminated"), ("running", "running")):
        state = at(entry, "state", path)
        detail = pairs({"since": text(state, "startedAt"), "ended": text(state, "finishedAt")})
        message = text(state, "message")
        if message or detail:
            lines.append(f"{label}: " + "  ".join(part for part in (detail, message) if part))
    last = at(entry, "lastState", "terminated")
    if last:
        when = pairs({"started": text(last, "startedAt"), "ended": text(last, "finishedAt")})
        message = text(last, "message")
        lines.append("last instance: " + "  ".join(part for part in (when, message) if part))
    return [line for line in lines if not line.endswith(": ")]


def in_trouble(entry: Object) -> bool:
    """Waiting, ended with a failure now or before, or restarted."""
    return bool(at(entry, "state", "waiting")) or failed_now(entry) or failed_before(entry) or restarted(entry)


def failed_now(entry: Object) -> bool:
    """Whether the container has ended with an exit code other than 0 and was not started again."""
    return count(entry, "state", "terminated", "exitCode") != 0


def failed_before(entry: Object) -> bool:
    """Whether the instance before this one ended with an exit code other than 0."""
    return count(entry, "lastState", "terminated", "exitCode") != 0


def restarted(entry: Object) -> bool:
    """Whether there is an instance before this one."""
    return count(entry, "restartCount") > 0


def claims(pod: Object) -> list[str]:
    """The names of the PersistentVolumeClaims that a pod mounts."""
    names = [text(volume, "persistentVolumeClaim", "claimName") for volume in maps(pod, "spec", "volumes")]
    return [claim for claim in names if claim]


def _init_word(pod: Object) -> str:
    entries = maps(pod, "status", "initContainerStatuses")
    for done, entry in enumerate(entries):
        ended = at(entry, "state", "terminated")
        if ended and count(ended, "exitCode") == 0:
            continue
        if at(entry, "started") is True and at(entry, "state", "running"):
            continue
        reason = text(entry, "state", "waiting", "reason") or _ended_word(entry)
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{done}/{len(container_names(pod, 'initContainers')) or len(entries)}"
    return ""


def _ended_word(entry: Object) -> str:
    ended = at(entry, "state", "terminated")
    if not ended:
        return ""
    return text(ended, "reason") or f"ExitCode:{count(ended, 'exitCode')}"


def _state(entry: Object) -> str:
    if at(entry, "state", "waiting") is not None:
        reason = text(entry, "state", "waiting", "reason")
        return f"waiting reason={reason}" if reason else "waiting"
    if at(entry, "state", "terminated") is not None:
        reason = text(entry, "state", "terminated", "reason")
        code = f"exit={count(entry, 'state', 'terminated', 'exitCode')}"
        return f"terminated reason={reason} {code}" if reason else f"terminated {code}"
    return "running" if at(entry, "state", "running") is not None else "no state"
