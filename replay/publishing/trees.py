"""The tree of a branch of results: add directories to it, or join two of them, and never change what is there."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from replay.publishing import results
from replay.publishing.repository import Entry, Git, file_entry, tree_entry
from schemas.errors import LogError, UsageError, WorkError
from schemas.publication import CAMPAIGNS, PUBLICATION, RESULTS, SCOREBOARD_HTML, SCOREBOARD_MD, Publication
from schemas.sealed import SUMS

_DERIVED = frozenset((PUBLICATION, SCOREBOARD_MD, SCOREBOARD_HTML, SUMS))
"""Files that a newer build may write otherwise about the very same logs and grades."""


class Staged(msgspec.Struct, frozen=True):
    """A directory that is ready to be published."""

    directory: Path
    publication: Publication

    def row(self, name: str) -> str:
        """Its line in RESULTS.md under this directory name."""
        sums = (self.directory / SUMS).read_bytes()
        return results.row(name, self.publication, hashlib.sha256(sums).hexdigest())


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Where a campaign lies on the branch. `already` is whether it had been published before, with the same bytes."""

    campaign_id: str
    directory: str
    already: bool


def with_new(git: Git, commit: str | None, staged: Sequence[tuple[Staged, str]]) -> tuple[str | None, list[Placed]]:
    """The tree of `commit` with these directories (each with its stored tree) added; None if all are there already.

    Raises `WorkError` where a directory of that name holds something else, `UsageError` where what is to be superseded
    is not there.
    """
    root = git.entries(commit) if commit else {}
    campaigns = git.entries(root[CAMPAIGNS].sha) if CAMPAIGNS in root else {}
    index = _index(git, root)
    placed, rows = [], {}
    for one, tree in staged:
        name, already = _place(git, campaigns, one, tree)
        if not already:
            campaigns[name] = tree_entry(name, tree)
            rows[name] = one.row(name)
        placed.append(Placed(campaign_id=one.publication.campaign_id, directory=f"{CAMPAIGNS}/{name}", already=already))
    if not rows:
        return None, placed
    root[CAMPAIGNS] = tree_entry(CAMPAIGNS, git.tree(campaigns))
    root[RESULTS] = _stored_index(git, results.union(index, results.Index(index.preamble, rows)))
    return git.tree(root), placed


def joined(git: Git, first: str, second: str) -> str:
    """The tree that holds all of two commits. Raises `WorkError` naming a path that is not the same in both."""
    return _joined(git, git.text("rev-parse", f"{first}^{{tree}}"), git.text("rev-parse", f"{second}^{{tree}}"), "")


def _joined(git: Git, first: str, second: str, path: str) -> str:
    left, right = git.entries(first), git.entries(second)
    made = dict(left)
    for name, entry in right.items():
        mine, where = left.get(name), f"{path}{name}"
        if mine is None or mine == entry:
            made[name] = entry
        elif where == RESULTS:
            made[name] = _stored_index(git, results.union(_index(git, left), _index(git, right)))
        elif mine.kind == entry.kind == "tree" and path != f"{CAMPAIGNS}/":
            made[name] = tree_entry(name, _joined(git, mine.sha, entry.sha, f"{where}/"))
        else:
            raise WorkError(
                f"{where}: was published twice with different content, here and on the remote; move your branch aside "
                f"(git branch -m) and publish again, with --supersedes {where} if yours corrects the other"
            )
    return git.tree(made)


def _place(git: Git, campaigns: dict[str, Entry], one: Staged, tree: str) -> tuple[str, bool]:
    """The directory name of a campaign on the branch, and whether it is there already."""
    for name, entry in campaigns.items():
        if entry.sha == tree:
            return name, True
    wanted, supersedes = one.publication.campaign_id, one.publication.supersedes
    if supersedes is not None:
        if supersedes not in campaigns:
            raise UsageError(f"--supersedes {CAMPAIGNS}/{supersedes}: not on the branch; it has {_listed(campaigns)}")
        number = 2
        while f"{wanted}-{number}" in campaigns:
            number += 1
        return f"{wanted}-{number}", False
    if wanted not in campaigns:
        return wanted, False
    refuse_other(git, campaigns[wanted], one)
    return wanted, True


def refuse_other(git: Git, published: Entry, one: Staged) -> None:
    """Raises `WorkError` if a published directory is not this one, but for what a newer build may render otherwise."""
    held = git.entries(published.sha).get(SUMS)
    there = set(git.blob(held.sha).splitlines()) if held else set()
    here = set((one.directory / SUMS).read_bytes().splitlines())
    differing = {line[66:].decode(errors="replace") for line in there ^ here} - _DERIVED
    if differing or held is None:
        where = f"{CAMPAIGNS}/{published.name}"
        raise WorkError(
            f"{where}: published already with other content ({', '.join(sorted(differing)[:6]) or SUMS}); what is "
            f"published never changes: publish a correction with --supersedes {where}"
        )


def _listed(campaigns: dict[str, Entry]) -> str:
    return ", ".join(sorted(campaigns)[:8]) or "no campaign yet"


def _index(git: Git, root: dict[str, Entry]) -> results.Index:
    if RESULTS not in root:
        return results.Index()
    if root[RESULTS].kind != "blob":
        raise LogError(f"{RESULTS}: is a directory on the branch; publish to another --branch")
    return results.parse(git.blob(root[RESULTS].sha))


def _stored_index(git: Git, index: results.Index) -> Entry:
    return file_entry(RESULTS, git.store(results.render(index)))
