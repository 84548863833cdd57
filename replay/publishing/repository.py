"""Git plumbing on one repository: objects, trees, commits and refs. Work tree, index and HEAD are never touched.

Every call is one `git` process with a fixed environment: no prompts, no locale, no variables of a hook that the caller
may run in. Blobs are stored without filters, so the bytes that were checked are the bytes that are published. Commits
carry a neutral identity and UTC, because a name, an address or a time zone is private too.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from schemas.errors import UsageError, WorkError

AUTHOR = "korvid-replay"
MAIL = "korvid-replay@localhost"

_UNSET = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE",
          "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX")  # fmt: skip
_QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false", "-c", "commit.gpgSign=false")
_TREE, _FILE = "040000", "100644"


class Entry(msgspec.Struct, frozen=True):
    """One entry of a tree."""

    mode: str
    kind: str
    sha: str
    name: str


class Git:
    """The repository at `path`. Every method raises `WorkError` with what git said if git fails."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(
        self, *arguments: str, data: bytes | None = None, check: bool = True
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run git. Raises `WorkError` if it fails and `check` is set, `UsageError` if there is no git."""
        environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
        environment |= {
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": AUTHOR,
            "GIT_AUTHOR_EMAIL": MAIL,
            "GIT_COMMITTER_NAME": AUTHOR,
            "GIT_COMMITTER_EMAIL": MAIL,
        }
        if arguments[0] == "commit-tree":
            environment["GIT_AUTHOR_DATE"] = environment["GIT_COMMITTER_DATE"] = f"@{int(time.time())} +0000"
        try:
            done = subprocess.run(
                ["git", "-C", str(self.path), *_QUIET, *arguments],
                input=data,
                capture_output=True,
                env=environment,
                check=False,
            )
        except FileNotFoundError:
            raise UsageError("git: not found; install git, or put it on the PATH") from None
        if check and done.returncode:
            raise WorkError(f"{self.path}: git {arguments[0]} failed: {said(done)}")
        return done

    def text(self, *arguments: str, data: bytes | None = None) -> str:
        """What git prints, without the last line break."""
        return self.run(*arguments, data=data).stdout.decode().rstrip("\n")

    def ref(self, name: str) -> str | None:
        """The commit of a ref, or None."""
        done = self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
        return done.stdout.decode().strip() or None

    def move(self, name: str, to: str, was: str | None) -> bool:
        """Move a ref if it still is where it was (None: not there). Whether it was."""
        return self.run("update-ref", name, to, was or "0" * 40, check=False).returncode == 0

    def entries(self, tree: str) -> dict[str, Entry]:
        """The entries of a tree (any tree-ish), by name."""
        found = {}
        for line in self.run("ls-tree", "-z", tree).stdout.decode("utf-8", "surrogateescape").split("\0"):
            if line:
                head, _, name = line.partition("\t")
                mode, kind, sha = head.split(" ")
                found[name] = Entry(mode, kind, sha, name)
        return found

    def tree(self, entries: dict[str, Entry]) -> str:
        """Store a tree of these entries."""
        lines = [f"{entry.mode} {entry.kind} {entry.sha}\t{entry.name}\0" for entry in entries.values()]
        return self.text("mktree", "-z", data="".join(lines).encode("utf-8", "surrogateescape"))

    def blob(self, sha: str) -> bytes:
        """The bytes of a blob."""
        return self.run("cat-file", "blob", sha).stdout

    def store(self, data: bytes) -> str:
        """Store bytes as a blob."""
        return self.text("hash-object", "-w", "--stdin", data=data)

    def store_directory(self, directory: Path) -> str:
        """Store a directory as a tree: its files as they are, and its directories."""
        children = sorted(directory.iterdir())
        files = [child for child in children if child.is_file()]
        paths = "".join(f"{path.resolve()}\n" for path in files).encode()
        shas = self.text("hash-object", "-w", "--no-filters", "--stdin-paths", data=paths).split() if files else []
        found = {path.name: Entry(_FILE, "blob", sha, path.name) for path, sha in zip(files, shas, strict=True)}
        for child in children:
            if child.is_dir():
                found[child.name] = tree_entry(child.name, self.store_directory(child))
        return self.tree(found)

    def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Store a commit."""
        options = [option for parent in parents for option in ("-p", parent)]
        return self.text("commit-tree", tree, *options, data=message.encode())

    def contains(self, commit: str, ancestor: str) -> bool:
        """Whether `ancestor` is in the history of `commit`."""
        return self.run("merge-base", "--is-ancestor", ancestor, commit, check=False).returncode == 0


def tree_entry(name: str, sha: str) -> Entry:
    """An entry for a directory."""
    return Entry(_TREE, "tree", sha, name)


def file_entry(name: str, sha: str) -> Entry:
    """An entry for a file."""
    return Entry(_FILE, "blob", sha, name)


def said(done: "subprocess.CompletedProcess[bytes]") -> str:
    """The line of git's output that says what went wrong, or what ended it."""
    lines = [line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "!", "remote:"))]
    ended = signal.strsignal(-done.returncode) if done.returncode < 0 else None
    return (told or lines or [ended or f"exit {done.returncode}"])[0]


def opened(path: Path) -> Git:
    """The repository that holds `path`. Raises `UsageError` if there is none, or git is older than 2.29."""
    git = Git(path)
    if not path.is_dir():
        raise UsageError(f"--repo {path}: no such directory")
    if git.run("rev-parse", "--git-dir", check=False).returncode:
        raise UsageError(f"--repo {path}: not a git repository; give one, or make one with git init")
    version = git.text("version").split()[2]
    if tuple(int(part) for part in version.split(".")[:2]) < (2, 29):
        raise UsageError(f"git {version} is too old to publish with; 2.29 or newer is needed")
    return git
