"""Seal a campaign into one file of frames, unseal it, and bring a damaged one back to a clean state.

`sealing` and `unsealing` hold the two procedures with the order of their steps, `salvage` and `recovering` the repair,
`packing` what a frame and a log file are made of, `disk` what must be durable, `sums` SHA256SUMS.
"""
