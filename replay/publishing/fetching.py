"""Copy published campaigns from a remote, a git repository or a plain directory, and never change what is there.

Nothing is checked out: blobs are read out of a bare scratch repository and written as files, so neither filters nor
hooks nor links of a stranger's repository take part. A campaign gets its name when it is whole.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from replay.publishing import results
from replay.publishing.limits import BRANCH
from replay.publishing.repository import Entry, Git, said
from schemas.errors import UsageError, WorkError
from schemas.publication import CAMPAIGNS, PUBLICATION, RESULTS
from schemas.sealed import run_id_problem

_LISTED = 8


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What was fetched: directory names of the branch, which of them were there already, and the commit (of git)."""

    source: str
    out: str
    commit: str | None
    campaigns: tuple[str, ...]
    already: tuple[str, ...]


def fetch(source: str, campaign: str | None, out: Path, branch: str = BRANCH) -> Fetched:
    """Copy all campaigns of `source`, or the one whose name is or begins with `campaign`, into `out`.

    Raises `UsageError` if there is nothing there, `WorkError` if it cannot be read or `out` holds something else under
    the same name.
    """
    path = Path(source)
    with tempfile.TemporaryDirectory(prefix="korvid-fetch-") as scratch:
        if path.is_dir() and not _is_repository(path):
            held, commit = _from_directory(path), None
        else:
            git, commit = _from_git(source, branch, Path(scratch))
            held = _exported(git, commit, campaign, Path(scratch) / "tree")
        names = _chosen(source, sorted(held), campaign)
        return _kept(source, held, names, out, commit, whole=campaign is None)


def _is_repository(path: Path) -> bool:
    """Whether a directory is itself a git repository, rather than a directory inside of one."""
    if (path / ".git").exists():
        return True
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _from_directory(path: Path) -> dict[str, Path]:
    """The published directories at a path: the branch as files, its `campaigns/`, or one of them."""
    if (path / PUBLICATION).is_file():
        return {path.resolve().name: path}
    for parent in (path / CAMPAIGNS, path):
        found = {child.name: child for child in sorted(parent.glob("*")) if (child / PUBLICATION).is_file()}
        if found:
            return found
    raise UsageError(f"{path}: nothing is published there; give a repository, or a directory with {CAMPAIGNS}/")


def _from_git(source: str, branch: str, scratch: Path) -> tuple[Git, str]:
    if source.startswith("-"):
        raise UsageError(f"{source}: not a source; give a directory, a repository or its URL")
    if ":" not in source and not Path(source).exists():
        raise UsageError(f"{source}: no such file or directory; give a repository, its URL, or a directory")
    bare = scratch / "git"
    bare.mkdir()
    git = Git(bare)
    git.run("init", "--quiet", "--bare", ".")
    url = str(Path(source).resolve()) if Path(source).exists() else source
    done = git.run("fetch", "--quiet", "--no-tags", "--", url, f"+refs/heads/{branch}:refs/heads/{branch}", check=False)
    if done.returncode:
        raise WorkError(f"{source}: cannot fetch the branch {branch}: {said(done)}")
    commit = git.ref(f"refs/heads/{branch}")
    assert commit is not None
    return git, commit


def _exported(git: Git, commit: str, campaign: str | None, target: Path) -> dict[str, Path]:
    """Write the campaigns of a commit (with RESULTS.md) below `target`; those that are not asked for stay empty."""
    root = git.entries(commit)
    if CAMPAIGNS not in root:
        raise UsageError(
            f"commit {commit[:12]}: has no {CAMPAIGNS}/; nothing was published on that branch by this tool"
        )
    target.mkdir()
    if RESULTS in root:
        (target / RESULTS).write_bytes(git.blob(root[RESULTS].sha))
    held = {}
    for name, entry in git.entries(root[CAMPAIGNS].sha).items():
        held[name] = target / CAMPAIGNS / name
        if campaign is None or name.startswith(campaign):
            _write(git, entry, held[name], f"{CAMPAIGNS}/{name}")
    return held


def _write(git: Git, entry: Entry, target: Path, where: str) -> None:
    problem = run_id_problem(entry.name)
    if problem is not None or (entry.kind, entry.mode) not in (("tree", "040000"), ("blob", "100644")):
        raise WorkError(
            f"{where}: {problem or 'is a link or a module'}, which no publication holds; it was not fetched"
        )
    if entry.kind == "blob":
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(git.blob(entry.sha))
        return
    target.mkdir(parents=True)
    for name, child in git.entries(entry.sha).items():
        _write(git, child, target / name, f"{where}/{name}")


def _chosen(source: str, names: list[str], campaign: str | None) -> list[str]:
    if campaign is None:
        return names
    if campaign in names:
        return [campaign]
    found = [name for name in names if name.startswith(campaign)]
    if len(found) == 1:
        return found
    listed = ", ".join((found or names)[:_LISTED]) or "none"
    if not found:
        raise UsageError(f"{source}: no campaign {campaign!r}; there are: {listed}")
    raise UsageError(f"{source}: {campaign!r} fits {len(found)} campaigns ({listed}); give more of the name")


def _kept(
    source: str, held: dict[str, Path], names: list[str], out: Path, commit: str | None, *, whole: bool
) -> Fetched:
    already = []
    try:
        (out / CAMPAIGNS).mkdir(parents=True, exist_ok=True)
        for name in names:
            target = out / CAMPAIGNS / name
            if target.exists():
                _refuse_other(held[name], target)
                already.append(name)
            else:
                _copy(held[name], target)
        if whole:
            _keep_index(next(iter(held.values())).parent.parent / RESULTS, out / RESULTS)
    except OSError as error:
        raise WorkError(f"{error.filename or out}: cannot be written: {error.strerror}") from None
    return Fetched(source=source, out=str(out), commit=commit, campaigns=tuple(names), already=tuple(already))


def _copy(source: Path, target: Path) -> None:
    """Copy a directory of plain files; it has its name only when it is whole."""
    for path in source.rglob("*"):
        if path.is_symlink():
            raise WorkError(f"{path}: is a link, which no publication holds; it was not fetched")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
        made = Path(shutil.copytree(source, Path(scratch) / target.name))
        made.rename(target)


def _refuse_other(source: Path, target: Path) -> None:
    """Raises `WorkError` if what was fetched before is not what the source has; grades added here since are fine."""
    for path in _files(source):
        mine = target / path.relative_to(source)
        if not mine.is_file() or mine.read_bytes() != path.read_bytes():
            raise WorkError(f"{mine}: is not what the source has; move {target} away and fetch again")


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file())


def _keep_index(source: Path, target: Path) -> None:
    """Copy RESULTS.md; one that was fetched before may only grow."""
    if not source.is_file():
        return
    data = source.read_bytes()
    if target.is_file() and target.read_bytes() != data:
        mine, theirs = results.parse(target.read_bytes()), results.parse(data)
        data = results.render(results.union(theirs, mine))
    target.write_bytes(data)
