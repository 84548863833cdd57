"""Every struct that crosses a file or a process, its codec and its digests.

This room does no I/O and knows no tool and no grader. It imports msgspec and the standard library only.
"""
