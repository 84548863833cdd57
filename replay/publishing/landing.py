"""Put staged directories on a branch, and the branch on a remote, beside others who do the same.

Each try reads both ends, joins them if they went apart, adds what is new, pushes, and moves the local branch last. A
push is never forced and a local branch is moved only from where it was read, so whoever comes second is refused, and
tries again on top of what landed. Until its push is accepted a try leaves unreferenced objects and nothing else.
"""

import random
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from replay.publishing.limits import BRANCH
from replay.publishing.repository import Git, said
from replay.publishing.trees import Placed, Staged, joined, refuse_other, with_new
from schemas.errors import UsageError, WorkError

ATTEMPTS = 24
"""Every lost race means that somebody else's push landed, so this many tries outlast as many publishers."""

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 2.0
_FINAL = ("hook declined", "protected branch", "permission denied", "not permitted", "denied", "unpacker error")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to publish: a branch of a repository, and the remote (name or URL) to push it to, if any."""

    repository: Path
    branch: str = BRANCH
    remote: str | None = None

    @property
    def ref(self) -> str:
        """The full name of the branch."""
        return f"refs/heads/{self.branch}"


class Landed(msgspec.Struct, frozen=True, kw_only=True):
    """What a publication came to. `commit` is the tip of the branch, `attempts` how many tries it took."""

    commit: str
    branch: str
    pushed_to: str | None
    attempts: int
    placed: tuple[Placed, ...]


def land(git: Git, target: Target, staged: Sequence[Staged], note: Callable[[str], None] = lambda _: None) -> Landed:
    """Publish these directories in one commit.

    Raises `UsageError` for a branch that cannot be used, `WorkError` if a published path would change, the remote
    refuses, or others were faster every time. The branch is then as it was.
    """
    check_target(git, target)
    stored = [(one, git.store_directory(one.directory)) for one in staged]
    ours: set[str] = set()
    for attempt in range(1, ATTEMPTS + 1):
        local = git.ref(target.ref)
        remote = _incoming(git, target) if target.remote else None
        tip = _joined(git, local, remote)
        tree, placed = with_new(git, tip, stored)
        if tree is not None:
            tip = git.commit(tree, [tip] if tip else [], _message(placed))
        assert tip is not None
        pushed = target.remote is None or tip == remote or _pushed(git, target, tip)
        if pushed:
            ours |= {one.directory for one in placed if not one.already}
        if pushed and (tip == local or git.move(target.ref, tip, local)):
            return Landed(
                commit=tip,
                branch=target.branch,
                pushed_to=target.remote,
                attempts=attempt,
                placed=tuple(
                    msgspec.structs.replace(one, already=one.already and one.directory not in ours) for one in placed
                ),
            )
        note(f"somebody else published at the same moment; trying again ({attempt} of {ATTEMPTS})")
        time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt)))
    raise WorkError(f"{target.branch}: others published first {ATTEMPTS} times; nothing was published, try again")


def preview(git: Git, target: Target, staged: Sequence[Staged]) -> list[str]:
    """The names that the directories would get, without storing anything. Raises as `land` for what is in the way."""
    check_target(git, target)
    tip = git.ref(target.ref)
    listed = git.entries(f"{tip}:campaigns") if tip and "campaigns" in git.entries(tip) else {}
    names = []
    for one in staged:
        wanted, number = one.publication.campaign_id, 2
        if one.publication.supersedes is not None:
            if one.publication.supersedes not in listed:
                raise UsageError(f"--supersedes campaigns/{one.publication.supersedes}: not on the local branch")
            while f"{wanted}-{number}" in listed:
                number += 1
            wanted = f"{wanted}-{number}"
        elif wanted in listed:
            refuse_other(git, listed[wanted], one)
        names.append(wanted)
    return names


def check_target(git: Git, target: Target) -> None:
    """Raises `UsageError` if the branch has no good name, is checked out, or the remote is none."""
    if target.branch.startswith("-") or git.run("check-ref-format", target.ref, check=False).returncode:
        raise UsageError(f"--branch {target.branch}: not a name for a branch")
    worktrees = git.text("worktree", "list", "--porcelain").split("\n\n")
    for worktree in worktrees:
        lines = worktree.splitlines()
        if f"branch {target.ref}" in lines and "bare" not in lines:
            where = lines[0].removeprefix("worktree ")
            raise UsageError(
                f"--branch {target.branch}: checked out in {where}, whose files would no longer fit it; switch to "
                "another branch there"
            )
    if target.remote is not None and target.remote.startswith("-"):
        raise UsageError(f"--push {target.remote}: not a remote; give its name or its URL")


def _joined(git: Git, local: str | None, remote: str | None) -> str | None:
    if local is None or remote is None or local == remote:
        return local or remote
    if git.contains(local, remote):
        return local
    if git.contains(remote, local):
        return remote
    return git.commit(joined(git, local, remote), [local, remote], "Join results\n")


def _incoming(git: Git, target: Target) -> str | None:
    """The tip of the branch on the remote, fetched; None if it has no such branch."""
    assert target.remote is not None
    listed = git.run("ls-remote", "--", target.remote, target.ref, check=False)
    if listed.returncode:
        raise WorkError(f"--push {target.remote}: cannot be read: {said(listed)}; nothing was published")
    if not listed.stdout.strip():
        return None
    own = f"refs/korvid-replay/{secrets.token_hex(8)}"
    fetched = git.run(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--", target.remote,
        f"+{target.ref}:{own}", check=False,
    )  # fmt: skip
    if fetched.returncode:
        raise WorkError(f"--push {target.remote}: cannot be fetched: {said(fetched)}; nothing was published")
    tip = git.ref(own)
    git.run("update-ref", "-d", own)
    return tip


def _pushed(git: Git, target: Target, tip: str) -> bool:
    """Whether the remote took the commit. Raises `WorkError` if it never will."""
    assert target.remote is not None
    done = git.run("push", "--porcelain", "--no-follow-tags", "--", target.remote, f"{tip}:{target.ref}", check=False)
    if done.returncode == 0:
        return True
    told = next((line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("!")), "")
    if not told or any(reason in told.lower() for reason in _FINAL):
        reason = told.rpartition("\t")[2] or said(done)
        raise WorkError(f"--push {target.remote}: refused: {reason}; nothing was published")
    return False


def _message(placed: Sequence[Placed]) -> str:
    new = [one.directory.rpartition("/")[2] for one in placed if not one.already]
    return f"Results: {', '.join(new)}\n"
