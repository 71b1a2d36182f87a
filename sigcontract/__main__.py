"""``python -m sigcontract``: the same as the command ``sigcontract``."""

from sigcontract.cli import console

__all__: list[str] = []

if __name__ == "__main__":
    console()
