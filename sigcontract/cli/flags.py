"""``--flags``: instantiation flags of the executables."""

import argparse
from typing import Final

from sigcontract.cli.parser import Parser

__all__ = ["add_flags"]

#: CUgraphInstantiate_flags by CUDA's names, without prefix.
_FLAGS: Final = {
    "AUTO_FREE_ON_LAUNCH": 1,
    "UPLOAD": 2,
    "DEVICE_LAUNCH": 4,
    "USE_NODE_PRIORITY": 8,
}


def add_flags(parser: Parser) -> None:
    """Add the option. Its value is one integer, 0 by default."""
    parser.add_argument(
        "--flags",
        type=_flags,
        default=0,
        metavar="FLAG[,FLAG]",
        help="CUgraphInstantiate_flags of the executables: USE_NODE_PRIORITY (PyTorch and XLA set it), "
        "AUTO_FREE_ON_LAUNCH, or an integer (default: none)",
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
            raise argparse.ArgumentTypeError(f"{part!r} is not a flag; flags: {', '.join(_FLAGS)}")
    return number
