"""Numbers that the command line shows in its help, apart from what is slow to import."""

BRANCH = "eval-results"
"""The branch of results."""

DEFAULT_MAX_MIB = 95
"""Code hosts refuse a file of 100 MB; a clone carries every publication for ever."""
