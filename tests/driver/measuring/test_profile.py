"""Measuring a driver: what kernels see decides, on the fake driver and on a real one."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack

import pytest

import sigcontract as sc
from sigcontract.driver.cuda.driver import CudaDriver
from sigcontract.driver.measuring import profile as doctor
from sigcontract.driver.measuring.kernels import REPORT_BYTES, parse_report, probe_ptx
from sigcontract.driver.measuring.profile import measure_profile
from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.observing.cupti import loaded_cupti
from sigcontract.errors import DriverCallError
from sigcontract.model.cuda import AttributeId
from sigcontract.model.profile import DriverProfile
from sigcontract.profiles import shipped_profile
from sigcontract.wire.codec import decode, encode
from tests.driver import fake as fake_module
from tests.driver.conftest import Workshop
from tests.driver.fake import FakeDriver
from tests.driver.fake_state import FakeNode
from tests.driver.fake_update import Answer, carry

PACKAGE = str(Path(sc.__file__).parent)


def test_what_is_measured_can_be_saved_and_loaded(driver: CudaDriver) -> None:
    steps: list[str] = []
    measured = measure_profile(driver, progress=steps.append)
    assert decode(encode(measured), expect=DriverProfile) == measured
    assert steps[0] == "kernels"
    assert "attribute cluster_dimension" in steps
    assert steps[-1] == "update rule"
    assert measured.cuda_driver_version == driver.driver_version()
    assert all(entry.note for entry in measured.attributes if entry.readable == "no")


def test_what_is_measured_agrees_with_the_shipped_profile(driver: CudaDriver) -> None:
    """Where both know: the doctor may not see what other means showed, and must not contradict them."""
    measured = measure_profile(driver)
    shipped = shipped_profile("nvidia-h200-cuda-13.0")
    if (measured.compute_capability_major, measured.cuda_driver_version) != (9, shipped.cuda_driver_version):
        pytest.skip("another device or driver than the shipped profile's")
    for mine, theirs in zip(measured.attributes, shipped.attributes, strict=True):
        for field in ("readable", "settable", "becomes_edge", "has_effect", "update"):
            known = {getattr(mine, field), getattr(theirs, field)} - {"unknown"}
            assert len(known) <= 1, f"{AttributeId(mine.id).name}.{field}: {mine}"
    # Of a driver on which CUPTI was used in this process, the doctor does not say that it carries the function.
    cooperative = (
        shipped.cooperative_function_update if loaded_cupti() is None else measured.cooperative_function_update
    )
    assert cooperative in {"unknown", shipped.cooperative_function_update}
    assert (measured.cluster_fixed_at, measured.cooperative_function_update, measured.update_rule) == (
        shipped.cluster_fixed_at,
        cooperative,
        shipped.update_rule,
    )


def test_the_states_of_executables_are_measured_by_histories(driver: CudaDriver) -> None:
    measured = measure_profile(driver)
    if measured.cluster_fixed_at != "first_launch":
        pytest.skip("the state model is that of drivers that fix the cluster at the first launch")
    assert measured.exec_state == "stored_and_fixed"


def _carries_every_cluster(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
    carry(old, new, other_work=other_work)
    old.fixed_cluster = None


def _keeps_the_cluster_of_the_first_launch(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
    fixed = old.fixed_cluster
    carry(old, new, other_work=other_work)
    old.fixed_cluster = fixed


def _keeps_the_function_of_a_cooperative_node(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
    function = old.runs_function
    carry(old, new, other_work=other_work)
    old.runs_function = function if new.cooperative else new.function


def _forgets_what_was_stored(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
    carry(old, new, other_work=other_work)
    old.stored_cluster = new.cluster


@pytest.mark.parametrize(
    "other",
    [
        _carries_every_cluster,
        _keeps_the_cluster_of_the_first_launch,
        _keeps_the_function_of_a_cooperative_node,
        _forgets_what_was_stored,
    ],
)
def test_a_driver_that_keeps_something_else_has_no_state_model(
    monkeypatch: pytest.MonkeyPatch, other: Callable[..., None]
) -> None:
    monkeypatch.setattr(fake_module, "carry", other)
    assert measure_profile(FakeDriver().driver()).exec_state == "unknown"


@pytest.mark.parametrize(("loaded", "effect"), [(None, "applied"), ("/lib/libcupti.so.13", "unknown")])
def test_a_function_that_was_carried_is_believed_only_where_no_profiler_can_be_at_work(
    monkeypatch: pytest.MonkeyPatch, loaded: str | None, effect: str
) -> None:
    def carries_the_function(old: FakeNode, new: FakeNode, *, other_work: bool) -> None:
        carry(old, new, other_work=other_work)
        old.runs_function = new.function

    monkeypatch.setattr(doctor, "loaded_cupti", lambda: loaded)
    monkeypatch.setattr(fake_module, "carry", carries_the_function)
    assert measure_profile(FakeDriver().driver()).cooperative_function_update == effect


def test_a_kernel_reports_what_it_was_launched_with(workshop: Workshop) -> None:
    rig = ProbeRig(workshop.driver, workshop.stack)
    report = rig.run(rig.instantiate(rig.graph(Probe(code=2, value=77))))
    assert report == ((1, 1, 1), (8, 1, 1), 0, 77, 2)


def test_nothing_is_left_behind(fake: FakeDriver) -> None:
    measure_profile(fake.driver())
    assert (fake.leaks(), fake.misuse) == ([], [])


def test_without_a_context_the_primary_one_is_borrowed() -> None:
    fake = FakeDriver(context=False)
    measured = measure_profile(fake.driver())
    assert measured.cluster_fixed_at == "first_launch"
    assert (fake.leaks(), fake.misuse, fake.contexts) == ([], [], [])


class CallSites(Counter[str]):
    """Calls of the driver by function; besides, the number of the first call of each site: its stack in the package."""

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[object, int] = {}

    def __setitem__(self, name: str, count: int) -> None:
        stack = [
            (frame.f_code, line) for frame, line in walk_stack(None) if frame.f_code.co_filename.startswith(PACKAGE)
        ]
        self.first.setdefault((name, *stack), self.total())
        super().__setitem__(name, count)


def test_whichever_call_fails_nothing_is_left_behind() -> None:
    """The first call of every call site of a measurement is failed; most failures end it, some are answers."""
    whole = FakeDriver()
    sites = whole.calls = CallSites()
    measure_profile(whole.driver())
    assert len(sites.first) > 150
    ended = 0
    for index in sites.first.values():
        fake = FakeDriver()
        driver = fake.driver()
        fake.fail(None, 999, after=index)
        try:
            measure_profile(driver)
        except DriverCallError as error:
            ended += 1
            failed_giving_back = error.function.endswith(("Destroy", "Free", "Unload", "Release", "PopCurrent"))
            assert failed_giving_back or fake.leaks() == []
        assert fake.misuse == []
    assert ended > 50


def test_a_device_without_clusters_says_so() -> None:
    fake = FakeDriver(compute_capability=(8, 0), version=12080)
    measured = measure_profile(fake.driver())
    cluster = measured.attribute(AttributeId.CLUSTER_DIMENSION)
    assert cluster is not None
    assert (cluster.settable, cluster.has_effect, cluster.update) == ("no", "no", "unknown")
    assert "clusters need compute capability 9.0" in cluster.note
    assert measured.cluster_fixed_at == "unknown"
    assert measured.update_rule == "cuda-13.0"


def test_a_preferred_cluster_that_has_effect_is_found_stale() -> None:
    """Unreadable, and kept stale: what hung a server on a GB300."""
    measured = measure_profile(FakeDriver(compute_capability=(10, 0)).driver())
    preferred = measured.attribute(AttributeId.PREFERRED_CLUSTER_DIMENSION)
    assert preferred is not None
    assert (preferred.readable, preferred.has_effect, preferred.update) == ("no", "yes", "stale")
    assert "after a launch and an update a kernel sees width 2, a fresh one 4" in preferred.note


def test_an_attribute_newer_than_the_driver_has_no_effect_there(fake: FakeDriver) -> None:
    newer = measure_profile(fake.driver()).attribute(AttributeId.SHARED_MEMORY_MODE)
    assert newer is not None
    assert (newer.readable, newer.settable, newer.has_effect) == ("no", "no", "no")


def test_what_no_kernel_can_see_stays_unknown(fake: FakeDriver) -> None:
    measured = measure_profile(fake.driver())
    for attribute_id in (
        AttributeId.PRIORITY,
        AttributeId.MEM_SYNC_DOMAIN,
        AttributeId.PREFERRED_SHARED_MEMORY_CARVEOUT,
    ):
        entry = measured.attribute(attribute_id)
        assert entry is not None
        assert entry.update == "unknown"
        assert "SUCCESS, which is no proof" in entry.note


def test_a_driver_of_another_rule_is_not_called_one_of_this(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_module, "answer", lambda *_args: Answer(6))
    measured = measure_profile(fake.driver())
    assert measured.update_rule == "unknown"
    assert measured.cluster_fixed_at == "unknown"
    assert measured.cooperative_function_update == "rejected"


def test_the_kernels_need_compute_capability_7_0_and_clusters_9_0() -> None:
    plain, clusters = (probe_ptx({"k": 1}, clusters=needed).decode() for needed in (False, True))
    assert ".target sm_70" in plain
    assert "cluster_nctaid" not in plain
    assert ".target sm_90" in clusters
    assert "%cluster_nctaid.z" in clusters


def test_a_report_is_nine_words() -> None:
    data = b"".join(word.to_bytes(4, "little") for word in range(1, 10))
    assert len(data) == REPORT_BYTES
    assert parse_report(data) == ((1, 2, 3), (4, 5, 6), 7, 8, 9)


@pytest.mark.gpu
def test_the_plain_kernels_run_on_this_device(real_driver: CudaDriver) -> None:
    """The PTX for devices without clusters also runs on one that has them."""
    module = real_driver.module_load(probe_ptx({"k": 1}, clusters=False))
    try:
        assert real_driver.module_function(module, "k")
    finally:
        real_driver.module_unload(module)
