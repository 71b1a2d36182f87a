"""Line numbers of TOML tables and keys, which tomllib does not report."""

import re
from collections.abc import Iterator

__all__ = ["TomlLines"]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=")
#: A longer path is found at the line of what holds it.
_LONGEST = 1000
_MULTILINE = re.compile(r'"""|\'\'\'')


class TomlLines:
    """Lines of tables and keys, by paths such as ``graph[0].kernel[1].name``.

    The text is valid TOML. A key in an inline table has the line of the outermost key.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        table = ""
        for number, line in _outside_strings(text):
            header = _TABLE.match(line)
            if header:
                table = self._table(_parts(header[2]), array=header[1] == "[[")
                if len(table) <= _LONGEST:
                    self._lines.setdefault(table, number)
                continue
            key = _ASSIGNMENT.match(line)
            if key and len(table) + len(key[1]) <= _LONGEST:
                path = ".".join([*([table] if table else []), *_parts(key[1])])
                self._lines.setdefault(path, number)

    def line_of(self, path: str) -> int:
        """Return the line of a path, or of the nearest path that contains it; 1 for the whole file."""
        path = path.removeprefix("$").removeprefix(".")
        while path and path not in self._lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._lines.get(path, 1)

    def _table(self, parts: list[str], *, array: bool) -> str:
        path = ""
        for index, part in enumerate(parts):
            path = f"{path}.{part}" if path else part
            if array and index == len(parts) - 1:
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = f"{path}[{self._counts[path]}]"
        return path


def _parts(key: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, key)]


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that do not start inside a multi-line string, with their numbers."""
    closing = None
    for number, line in enumerate(text.splitlines(), start=1):
        if closing is None:
            yield number, line
        for mark in _MULTILINE.findall(line):
            closing = mark if closing is None else None if mark == closing else closing
