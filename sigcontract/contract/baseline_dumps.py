"""The golden dumps of a contract, each file read once."""

import json
from os import PathLike
from pathlib import Path

from sigcontract.model import GraphSignature, SignatureDump
from sigcontract.update import no_graph
from sigcontract.wire import MAX_DOCUMENT_BYTES, document_bytes, load

__all__ = ["GoldenDumps", "label_lines"]


class GoldenDumps:
    """Golden dumps by their path."""

    def __init__(self) -> None:
        self._dumps: dict[Path, SignatureDump] = {}
        self._labels: dict[Path, dict[str, int]] = {}

    def dump(self, path: Path) -> SignatureDump:
        """Return the dump in a file. Raises as `sigcontract.load`."""
        if path not in self._dumps:
            self._dumps[path] = load(path, expect=SignatureDump)
        return self._dumps[path]

    def graph(self, path: Path, label: str) -> GraphSignature:
        """Return the graph of that label in a file.

        Raises
        ------
        UsageError
            There is none.
        """
        dump = self.dump(path)
        try:
            return dump.graph(label)
        except KeyError as error:
            raise no_graph(label, [entry.label for entry in dump.graphs], str(path)) from error

    def line_of(self, path: Path, label: str) -> int | None:
        """Return the first line of a file that names a graph; None if none does or the file is not text."""
        if path not in self._labels:
            self._labels[path] = label_lines(path)
        return self._labels[path].get(label)


def label_lines(path: str | PathLike[str]) -> dict[str, int]:
    """Return the line on which a dump first names each graph; empty unless the file is uncompressed JSON.

    Raises
    ------
    FileError
        The file cannot be read.
    """
    found: dict[str, int] = {}
    if Path(path).suffix != ".json" or not Path(path).is_file():
        return found
    for number, line in enumerate(document_bytes(path, MAX_DOCUMENT_BYTES).split(b"\n"), start=1):
        _, key, rest = line.partition(b'"label":')
        if key:
            found.setdefault(_string_at(rest.lstrip()), number)
    return found


def _string_at(data: bytes) -> str:
    """Return the JSON string at the start of the data, or an empty one."""
    try:
        value, _ = json.JSONDecoder().raw_decode(data.decode())
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
