"""Profiles and verdicts."""

import itertools

import msgspec
import pytest

from sigcontract.errors import InvariantError
from sigcontract.model.dump import SignatureDump
from sigcontract.model.findings import DumpDiff, Verdict
from sigcontract.model.profile import DriverProfile
from sigcontract.wire import codec
from tests.wire.test_corpus import CORPUS

PROFILE = codec.load(CORPUS / "sigcontract.profile-1" / "valid" / "one.json", expect=DriverProfile)
DIFF = codec.load(CORPUS / "sigcontract.diff-1" / "valid" / "one.json", expect=DumpDiff)
DUMP = codec.load(CORPUS / "sigcontract.dump-2" / "valid" / "every_node.json", expect=SignatureDump)


def test_a_profile_answers_by_id() -> None:
    entry = PROFILE.attribute(4)
    assert entry is not None
    assert entry.update == "stale"
    assert PROFILE.attribute(99) is None


def test_a_profile_lists_each_attribute_once_and_ascending() -> None:
    with pytest.raises(InvariantError) as caught:
        DriverProfile(**msgspec.structs.asdict(PROFILE) | {"attributes": PROFILE.attributes[::-1]})
    assert str(caught.value) == "attribute 2 follows 4; list each id once, ascending (at /attributes/1/id)"


def test_the_worst_verdict_is_never_the_safer_of_two() -> None:
    assert Verdict.worst([]) is Verdict.IDENTICAL
    for one, other in itertools.product(Verdict, repeat=2):
        worst = Verdict.worst([one, other])
        assert worst is Verdict.worst([other, one])
        assert worst in (one, other)
        assert worst.safe == (one.safe and other.safe)
    assert not Verdict.UNDETERMINED.safe
    assert Verdict.worst([Verdict.UNDETERMINED, Verdict.REJECTED]) is Verdict.REJECTED
    assert Verdict.worst([Verdict.UNDETERMINED, Verdict.UPDATABLE]) is Verdict.UNDETERMINED


def test_the_findings_of_a_diff_are_those_of_its_parts() -> None:
    (graph,) = DIFF.graphs
    both = msgspec.structs.replace(DIFF, environment=graph.findings)
    assert both.findings == graph.findings * 2


def test_a_dump_gives_the_first_graph_of_a_label() -> None:
    assert DUMP.graph("again") is DUMP.graphs[1].graph
    with pytest.raises(KeyError, match="gone"):
        DUMP.graph("gone")
