"""Dumps of graphs that a test holds."""

from collections.abc import Mapping
from typing import Final

from sigcontract.model import Environment, GraphSignature, LabeledGraph, SignatureDump

__all__ = ["UNKNOWN_ENVIRONMENT", "dump_of"]

#: Environment of a bare signature, which has none.
UNKNOWN_ENVIRONMENT: Final = Environment(
    sigcontract_version="unknown",
    created_at="unknown",
    hostname=None,
    process_id=None,
    rank=None,
    world_size=None,
    cuda_driver_version=None,
    display_driver_version=None,
    devices=(),
    libraries=(),
)


def dump_of(graphs: Mapping[str, GraphSignature], where: Environment, profile: str | None) -> SignatureDump:
    """Return a complete dump of graphs by their labels."""
    return SignatureDump(
        environment=where,
        profile=profile,
        complete=True,
        graphs=tuple(LabeledGraph(label=label, graph=graph) for label, graph in graphs.items()),
        extensions={},
    )
