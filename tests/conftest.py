"""What holds for every test."""


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test after the parameter, not after its bytes: these are no text, and may differ from run to run."""
    return argname if isinstance(val, bytes) else None
