"""Every exception that sigcontract raises.

Each has a stable ``code`` (part of the public API; the message is not) and says what to do. Exceptions of
msgspec, pydantic and cuda-python never leave the package: they are the ``__cause__`` of one of these.
"""

__all__ = [
    "AttributeUnknownError",
    "CloseError",
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
    """Root of every error of this package.

    Attributes
    ----------
    code
        Stable slug, for programs. The class gives the default; a more specific one may be passed.
    """

    code: str = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UsageError(SigcontractError, ValueError):
    """A call or a command line asks for something that does not exist (a policy, a rule, a format)."""

    code = "usage"


class MissingExtraError(SigcontractError, ImportError):
    """An optional dependency is not installed.

    Attributes
    ----------
    extra
        The name of the extra that brings it.
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
        The path as it was given.
    """

    code = "file"

    def __init__(self, message: str, *, file: str, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.file = file


class RecordError(SigcontractError, ValueError):
    """A record or a document is not what the contract says.

    Attributes
    ----------
    path
        Where, as ``$.graphs[3].nodes[0]``. ``$`` is the whole document.
    """

    code = "record"

    def __init__(self, message: str, *, path: str = "$", code: str | None = None) -> None:
        super().__init__(f"{message} (at {path})", code=code)
        self.path = path
        self.reason = message


class DecodeError(RecordError):
    """Bytes that are not a document: not JSON, a wrong type, out of bounds, an unknown field, a duplicate key."""

    code = "decode"


class InvariantError(RecordError):
    """Well-typed parts that do not fit together: an edge to a missing node, a cycle, attributes out of order."""

    code = "invariant"


class LimitError(RecordError):
    """An input is larger than the limit that keeps decoding bounded in time and memory."""

    code = "limit"


class VersionError(RecordError):
    """A document of an unknown kind or version.

    Attributes
    ----------
    document
        The kind that the input names, or None.
    found
        The version that it names, or None.
    supported
        The versions that this release reads.
    """

    code = "version"

    def __init__(  # noqa: PLR0913  what was found and what would do are separate facts
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
        self.document = document
        self.found = found
        self.supported = supported


class AttributeUnknownError(SigcontractError, LookupError):
    """The value of a launch attribute was asked for, and the record does not know it (unreadable or never asked)."""

    code = "attribute_unknown"


class NotComparableError(SigcontractError):
    """Two inputs cannot be compared: other kinds of document, a label twice, a profile of another driver."""

    code = "not_comparable"


class EngineError(SigcontractError):
    """An engine that was asked a question cannot be reached, does not take the query, or died."""

    code = "engine"


class RegistryError(SigcontractError):
    """A registry cannot do what was asked: sealed, closed, a foreign entry."""

    code = "registry"


class CloseError(RegistryError):
    """A registry was closed, and some of its executables could not be destroyed, or captures not be reset.

    Attributes
    ----------
    errors
        What went wrong: a `DriverError` for each executable, and what the captures' ``reset()`` or a callback raised.
    """

    code = "close"

    def __init__(self, errors: tuple[Exception, ...]) -> None:
        lost = sum(isinstance(error, DriverError) for error in errors)
        parts = [f"executables that could not be destroyed and may still hold memory: {lost}"] if lost else []
        if lost < len(errors):
            parts.append(f"calls of reset() or of the callback that failed: {len(errors) - lost}")
        super().__init__(f"{'; '.join(parts)}; the first: {errors[0]}")
        self.errors = errors


class DriverError(SigcontractError):
    """Root of what goes wrong at the CUDA driver."""

    code = "driver"


class DriverUnavailableError(DriverError):
    """There is no CUDA driver to talk to.

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
    """A driver function answered with an error.

    Attributes
    ----------
    function
        The CUDA driver function, as ``cuGraphGetNodes``.
    result
        The name of the CUresult, as ``CUDA_ERROR_INVALID_VALUE``.
    value
        Its number.
    """

    code = "driver_call"

    def __init__(self, function: str, *, result: str, value: int, advice: str) -> None:
        super().__init__(f"{function} failed with {result} ({value}): {advice}")
        self.function = function
        self.result = result
        self.value = value


class GraphReadError(DriverError):
    """What was given is not a graph that can be read (handle 0, an object of an unknown type, a reset capture)."""

    code = "graph_read"


class ObserveError(DriverError):
    """Launches cannot be observed (CUPTI missing, or taken by another tool)."""

    code = "observe"
