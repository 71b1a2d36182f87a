"""Every exception that sigcontract raises.

Each has a stable ``code``, which is public API. Its message states the remedy and may change. Exceptions of msgspec,
pydantic and cuda-python never leave the package; they are the ``__cause__`` of one of these.
"""

import json
import re

__all__ = [
    "AttributeUnknownError",
    "CloseError",
    "ContractError",
    "DecodeError",
    "DriverCallError",
    "DriverError",
    "DriverUnavailableError",
    "EngineError",
    "FileError",
    "GraphReadError",
    "InvariantError",
    "LimitError",
    "MissingExtraError",
    "NotComparableError",
    "ObserveError",
    "RecordError",
    "RegistryError",
    "SigcontractError",
    "UsageError",
    "VersionError",
]


class SigcontractError(Exception):
    """Root of all errors of this package.

    Attributes
    ----------
    code
        Stable identifier for programs. Defaults to that of the class.
    """

    code: str = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(_shortened(message, _MOST_MESSAGE))
        if code is not None:
            self.code = code


#: Longest message, and longest value within one, in characters. Files choose their labels and names.
_MOST_MESSAGE = 600
_MOST_REASON = 360
_MOST_PATH = 200
_CUT = " […] "
#: One step of a path: a key, a key that is no name (as a JSON string), or an index.
_STEP = re.compile(r"""\.([^.\[\]"\s]+)(?=[.\[]|\Z)|\[("(?:[^"\\]|\\.)*")\]|\[([0-9]+)\]""")


def _shortened(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters by cutting out its middle."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}{_CUT}{text[-(most - most * 2 // 3 - 5) :]}"


class UsageError(SigcontractError, ValueError):
    """An argument names something that does not exist, such as a policy, rule or format."""

    code = "usage"


class MissingExtraError(SigcontractError, ImportError):
    """An optional dependency is not installed.

    Attributes
    ----------
    extra
        The extra that installs it.
    """

    code = "missing_extra"

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'sigcontract[{extra}]'")
        self.extra = extra


class FileError(SigcontractError, OSError):
    """A file cannot be read or written.

    Attributes
    ----------
    file
        The path as given.
    """

    code = "file"

    def __init__(self, message: str, *, file: str, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.file = file


class RecordError(SigcontractError, ValueError):
    """A record or document is invalid.

    Attributes
    ----------
    path
        Location in the document, such as ``$.graphs[3].nodes[0]``; ``$`` is the whole document.
    location
        The same as keys and indices, ``("graphs", 3, "nodes", 0)``. Where the path is cut, that of an enclosing value.
    pointer
        The location as a JSON Pointer (RFC 6901), ``/graphs/3/nodes/0``; empty for the whole document.
    """

    code = "record"

    def __init__(self, message: str, *, path: str = "$", code: str | None = None) -> None:
        self.path = _shortened(path, _MOST_PATH)
        self.reason = _shortened(message, _MOST_REASON)
        where = f" (at {self.pointer})" if self.pointer else ""
        super().__init__(f"{self.reason}{where}", code=code)

    @property
    def location(self) -> tuple[str | int, ...]:  # noqa: D102  an attribute of the class
        steps: list[str | int] = []
        shown, cut, _ = self.path.partition(_CUT)
        end = 1
        while step := _STEP.match(shown, end):
            end = step.end()
            key, quoted, index = step.groups()
            steps.append(int(index) if index else json.loads(quoted) if quoted else key)
        return tuple(steps[:-1] if cut and end == len(shown) else steps)

    @property
    def pointer(self) -> str:  # noqa: D102  likewise
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in self.location)


class DecodeError(RecordError):
    """Bytes that are not a valid document: malformed, wrong type, out of bounds, unknown field, duplicate key."""

    code = "decode"


class InvariantError(RecordError):
    """Fields contradict each other: an edge to a missing node, a cycle, attributes out of order."""

    code = "invariant"


class LimitError(RecordError):
    """An input exceeds the limit that bounds decoding time and memory."""

    code = "limit"


class VersionError(RecordError):
    """The document has an unknown kind or version.

    Attributes
    ----------
    document
        The kind named by the input, or None.
    found
        The version named by the input, or None.
    supported
        The versions this release reads.
    """

    code = "version"

    def __init__(  # noqa: PLR0913  found and supported are separate facts
        self,
        message: str,
        *,
        document: str | None,
        found: int | None,
        supported: tuple[int, ...],
        path: str = "$.version",
        code: str | None = None,
    ) -> None:
        super().__init__(message, path=path, code=code)
        self.document = None if document is None else _shortened(document, _MOST_PATH)
        self.found = found
        self.supported = supported


class ContractError(SigcontractError, ValueError):
    """A contract file is invalid.

    Attributes
    ----------
    file
        The contract file, as given.
    faults
        One `RecordError` per fault, with its path in the contract.
    lines
        The line of each fault, from 1.
    """

    code = "contract"

    def __init__(self, file: str, faults: tuple[RecordError, ...], lines: tuple[int, ...]) -> None:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        super().__init__(f"{file} is not a valid contract: {faults[0]}{more}; docs/contract.md describes every key")
        self.file = file
        self.faults = faults
        self.lines = lines


class AttributeUnknownError(SigcontractError, LookupError):
    """The value of a launch attribute is not in the record: unreadable, or never queried."""

    code = "attribute_unknown"


class NotComparableError(SigcontractError):
    """Two inputs cannot be compared: different document kinds, a repeated label, a profile of another driver."""

    code = "not_comparable"


class EngineError(SigcontractError):
    """A query engine is unreachable, rejects the query, or died."""

    code = "engine"


class RegistryError(SigcontractError):
    """The registry refuses the call: sealed, closed, entry of another registry."""

    code = "registry"


class CloseError(RegistryError):
    """Closing a registry failed to destroy some executables or to reset some captures.

    Attributes
    ----------
    errors
        A `DriverError` for each executable, and exceptions from captures' ``reset()`` or callbacks.
    """

    code = "close"

    def __init__(self, errors: tuple[Exception, ...]) -> None:
        lost = sum(isinstance(error, DriverError) for error in errors)
        parts = [f"executables not destroyed, whose memory may leak: {lost}"] if lost else []
        if lost < len(errors):
            parts.append(f"failed calls of reset() or of the callback: {len(errors) - lost}")
        super().__init__(f"{'; '.join(parts)}; the first: {errors[0]}")
        self.errors = errors


class DriverError(SigcontractError):
    """Root of errors from the CUDA driver."""

    code = "driver"


class DriverUnavailableError(DriverError):
    """The CUDA driver is unavailable.

    Attributes
    ----------
    reason
        ``no_bindings``, ``no_libcuda``, ``no_device``, ``no_context`` or ``missing_function``; also the code.
    """

    code = "driver_unavailable"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, code=reason)
        self.reason = reason


class DriverCallError(DriverError):
    """A driver function returned an error.

    Attributes
    ----------
    function
        The CUDA driver function, such as ``cuGraphGetNodes``.
    result
        The name of the CUresult, such as ``CUDA_ERROR_INVALID_VALUE``.
    value
        Its integer value.
    """

    code = "driver_call"

    def __init__(self, function: str, *, result: str, value: int, advice: str) -> None:
        super().__init__(f"{function} failed with {result} ({value}): {advice}")
        self.function = function
        self.result = result
        self.value = value


class GraphReadError(DriverError):
    """The argument is not a readable graph: handle 0, an object of an unknown type, a reset capture."""

    code = "graph_read"


class ObserveError(DriverError):
    """Launches cannot be observed: CUPTI is missing, or in use by another tool."""

    code = "observe"
