"""Publish campaigns to an append-only git branch, fetch them from anywhere, and audit what was fetched.

`staging` builds the directory that is published, `scan` searches it for what must not leave, `redact` and `regrading`
take that out; `repository`, `trees` and `landing` put it on a branch with git plumbing; `results` is the index of the
branch; `fetching` reads it back and `audit` checks it.
"""
