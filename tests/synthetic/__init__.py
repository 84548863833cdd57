"""Synthetic campaigns of any size, written by the real log writer, with the distributions of real ones.

`generate` writes one campaign directory for each (arm, model); the same options give the same bytes. Distributions:
evaluation semantics 12. Command line: `python -m tests.synthetic DIR --runs 1000`.
"""

from tests.synthetic.campaign import Options, generate

__all__ = ["Options", "generate"]
