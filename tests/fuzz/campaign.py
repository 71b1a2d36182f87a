"""A run of many documents through every entry point: what is raised is ours, and all of them agree.

The run is guided by what documents show: where one meets a new fault, or a new set of rules, it joins the documents
that later ones are made from. That is coarser than the coverage of lines, and costs nothing.
"""

import tempfile
import traceback
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.entry_points import Bench, Shown, check
from tests.fuzz.mutation import Sample, mutated, seeds, spelled

__all__ = ["Failure", "campaign"]

#: Documents that the run makes others from, beside those that it began with.
_POOL = 2000
#: How many documents are made from valid ones, the others from what was refused.
_VALID = 0.75
#: Documents that are remembered, by a hash of 16 bytes, so that none of them is checked again.
_REMEMBERED = 2**20
_HASH_BYTES = 16


class Failure(NamedTuple):
    """A document that something was wrong with, the entry point, and what was raised."""

    data: bytes
    entry_point: str
    what: str


def campaign(seed: int, before: Callable[[bytes, Bench], bool]) -> Iterator[Failure]:
    """Check documents made from a seed, no two alike and the same ones each time, and yield those that fail.

    Parameters
    ----------
    seed
        What they are made from.
    before
        Called with each document before it is checked, and with the counts so far; the run ends where it returns False.
    """
    random = Random(seed)  # noqa: S311  no secret: the same documents are wanted again
    valid, refused = seeds(), seeds()
    first = len(valid)
    shown: set[Shown] = set()
    checked: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        while True:
            value = mutated(valid if random.random() < _VALID else refused, random)
            data = spelled(value, random)
            hashed = blake2b(data, digest_size=_HASH_BYTES).digest()
            if hashed in checked:
                continue
            if len(checked) == _REMEMBERED:
                checked.clear()
            checked.add(hashed)
            if not before(data, bench):
                return
            try:
                shows = check(data, bench, random.getrandbits(64))
            except Exception:  # noqa: BLE001  whatever it is, it should not have left the package
                yield Failure(data, bench.at, traceback.format_exc())
                continue
            if shows not in shown and "nesting" not in shows.facts:
                shown.add(shows)
                pool = valid if shows.valid else refused
                index = len(pool) if len(pool) < first + _POOL else first + random.randrange(_POOL)
                pool[index : index + 1] = [Sample(value)]
