"""Write the dumps of the examples: graphs read now, no host name, no process number, no paths."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

import sigcontract as sc
from sigcontract.driver import environment, read_graph, read_profile, torch_blocks
from sigcontract.model.dump import LabeledGraph

__all__ = ["output_path", "write"]


def output_path(description: str | None) -> Path:
    """Return the path that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("output", type=Path, help="the dump to write, as clusters.dump.json")
    path: Path = parser.parse_args().output
    return path


def write(
    path: Path, graphs: Mapping[str, Any], *libraries: str, observations: Any = None, arguments: bool = False
) -> None:
    """Read the graphs, in order, and write them under their labels."""
    here = environment()
    used = {"cuda-bindings", *libraries}
    dump = sc.SignatureDump(
        environment=msgspec.structs.replace(
            here,
            hostname=None,
            process_id=None,
            libraries=tuple(library for library in here.libraries if library.name in used),
        ),
        profile=read_profile().id,
        complete=True,
        graphs=tuple(
            LabeledGraph(
                label=label,
                graph=read_graph(
                    graph,
                    observations=observations,
                    arguments=arguments,
                    blocks=torch_blocks(graph) if arguments else None,
                ),
            )
            for label, graph in graphs.items()
        ),
        extensions={},
    )
    sc.save(dump, path)
    for entry in dump.graphs:
        print(f"{path.name}: {entry.label}: {len(entry.graph.nodes)} nodes")
