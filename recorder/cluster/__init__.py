"""The cluster that tools read: a protocol for any cluster, and the deterministic fake that fixtures describe."""

from recorder.cluster.api import ApiError, ClusterReader, Release
from recorder.cluster.denials import check_denials
from recorder.cluster.fake import FakeCluster

__all__ = ["ApiError", "ClusterReader", "FakeCluster", "Release", "check_denials"]
