"""``--flags``: the instantiation flags of the executables that are judged."""

import argparse
from typing import Final

from sigcontract.cli.parser import Parser

__all__ = ["add_flags"]

#: CUgraphInstantiate_flags by the names that CUDA gives them, without their prefix.
_FLAGS: Final = {
    "AUTO_FREE_ON_LAUNCH": 1,
    "UPLOAD": 2,
    "DEVICE_LAUNCH": 4,
    "USE_NODE_PRIORITY": 8,
}


def add_flags(parser: Parser) -> None:
    """Add the option; what it gives is one number, 0 where it is left out."""
    parser.add_argument(
        "--flags",
        type=_flags,
        default=0,
        metavar="FLAG[,FLAG]",
        help="CUgraphInstantiate_flags of the executables: USE_NODE_PRIORITY (PyTorch and XLA set it), "
        "AUTO_FREE_ON_LAUNCH, or their number (default: none)",
    )


def _flags(text: str) -> int:
    number = 0
    for part in text.split(","):
        name = part.strip().upper().removeprefix("CUDA_GRAPH_INSTANTIATE_FLAG_")
        if name in _FLAGS:
            number |= _FLAGS[name]
        elif name.isdecimal() and int(name) < 1 << 32:
            number |= int(name)
        else:
            raise argparse.ArgumentTypeError(f"{part!r} is no flag; there are {', '.join(_FLAGS)}")
    return number
