"""The errors that reach a person. Each carries a message that names the file, the key or the flag, and the way out."""


class KorvidError(Exception):
    """Base of every error of ours; `exit_code` is what a command line returns for it."""

    exit_code = 1


class UsageError(KorvidError):
    """Wrong usage or configuration, found before a file is made or a model called (exit 2)."""

    exit_code = 2


class CaseError(UsageError):
    """A case or a prompt layer that does not load; the message names file, path and value (exit 2)."""


class WorkError(KorvidError):
    """The work was understood and failed (exit 1)."""


class LogError(WorkError):
    """A log that cannot be trusted or written; the message names the file and the byte offset (exit 1)."""
