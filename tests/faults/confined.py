"""What a forked command is denied before it begins: large files, space on its disk, or the right to write anywhere.

Each works on the process alone that asks for it. A small disk is a tmpfs in a mount namespace of its own, which goes
away with the process; `can_have_a_small_disk` says whether this machine lets us make one.
"""

import ctypes
import os
import resource
import shutil
from pathlib import Path
from typing import Any

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_MS_REMOUNT = 0x20
_CAPABILITIES_V3 = 0x20080522
_PR_CAPBSET_DROP = 24
_FILE_RIGHTS = (1, 2, 3)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER: what lets root write where nobody may."""
_ROOM = 64 << 20

AFTER = ".after"
"""What lay on the small disk in the end is copied beside the working directory, under its name with this behind it."""

_libc = ctypes.CDLL(None, use_errno=True)


def confine(request: dict[str, Any]) -> None:
    """Apply what a request asks for, and change to its working directory."""
    directory = Path(request["cwd"])
    if request.get("file_bytes") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_bytes"], request["file_bytes"]))
    if request.get("spare_bytes") is not None:
        directory = _on_small_disk(directory, request["spare_bytes"])
    if request.get("unprivileged"):
        _drop_file_rights()
    os.chdir(directory)


def leave(request: dict[str, Any]) -> None:
    """Bring what a command left on its small disk back to where it can be looked at."""
    if request.get("spare_bytes") is not None:
        shutil.copytree(".", request["cwd"] + AFTER, symlinks=True)


def can_have_a_small_disk() -> bool:
    """Whether a process may make a mount namespace and a tmpfs in it."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            _own_mounts()
            _mount_tmpfs(Path("/tmp"), _ROOM)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _on_small_disk(directory: Path, spare: int) -> Path:
    """A copy of the directory on a tmpfs that has so many bytes left, in whole pages."""
    disk = directory.with_name(directory.name + ".disk")
    disk.mkdir(exist_ok=True)
    _own_mounts()
    _mount_tmpfs(disk, _ROOM)
    shutil.copytree(directory, disk, symlinks=True, dirs_exist_ok=True)
    room = os.statvfs(disk)
    _mount_tmpfs(disk, (room.f_blocks - room.f_bfree) * room.f_frsize + spare, _MS_REMOUNT)
    return disk


def _own_mounts() -> None:
    user, group = os.geteuid(), os.getegid()
    _called(_libc.unshare(_CLONE_NEWNS | (_CLONE_NEWUSER if user else 0)), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _called(_libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None), "mount --make-rprivate /")


def _mount_tmpfs(path: Path, size: int, flags: int = 0) -> None:
    _called(_libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, f"size={size}".encode()), f"mount on {path}")


def _drop_file_rights() -> None:
    """Take these rights from this process and, where it had them, from what it starts."""
    if not os.geteuid():
        for right in _FILE_RIGHTS:
            _called(_libc.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0), "prctl")
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0)
    rights = (ctypes.c_uint32 * 6)()
    _called(_libc.capget(header, rights), "capget")
    rights[0] &= ~sum(1 << right for right in _FILE_RIGHTS)
    _called(_libc.capset(header, rights), "capset")


def _called(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
