"""Logs made of what others published: the reference project's artifacts, and Inspect's `.eval` files.

Each imported run is an ordinary log whose `run_started` says where its bytes came from and what was never recorded. The
source is read in memory within fixed bounds and nothing of it is ever extracted or run. `korvid` and `inspect_logs` are
the entrances; the other modules are read by them.
"""
