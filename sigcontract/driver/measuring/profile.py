"""`measure_profile`: measures what this driver and device read, apply, keep stale and reject.

What no kernel can observe (priority, memory sync domain, carveout, scheduling policy, access policy) stays ``unknown``:
neither a success code nor a profiler's record proves what runs.
"""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Literal

from sigcontract.driver.cuda import (
    BuildApi,
    default_driver,
)
from sigcontract.driver.measuring.attributes import measure_attribute
from sigcontract.driver.measuring.rig import Probe, ProbeRig
from sigcontract.driver.observing import (
    loaded_cupti,
)
from sigcontract.driver.reading import (
    ATTRIBUTE_CUDA_VERSION,
    display_driver_version,
    profile_id,
)
from sigcontract.model import (
    AttributeId,
    ClusterDim,
    DriverProfile,
    InstantiateFlag,
    UpdateEffect,
)

__all__ = ["measure_profile"]

_TWO, _FOUR = ClusterDim(x=2, y=1, z=1), ClusterDim(x=4, y=1, z=1)

Fixed = Literal["first_launch", "instantiation", "never", "unknown"]


def measure_profile(driver: BuildApi | None = None, *, progress: Callable[[str], None] | None = None) -> DriverProfile:
    """Measure the driver and the current device (device 0 if no context is current).

    Builds and destroys some sixty graphs of one to five tiny kernels; leaves the rest of the process alone.

    Parameters
    ----------
    driver
        The driver to measure; by default this process's own.
    progress
        Called with the name of each step as it begins.

    Returns
    -------
    DriverProfile
        Unobservable effects are ``unknown``; each entry's note states how it was measured.

    Raises
    ------
    DriverUnavailableError
        No driver or device is available.
    DriverCallError
        A call that every measurement needs fails. All resources are released.
    """
    api = driver if driver is not None else default_driver()
    say = progress if progress is not None else lambda _step: None
    with ExitStack() as stack:
        say("kernels")
        rig = ProbeRig(api, stack)
        attributes = []
        for attribute_id in ATTRIBUTE_CUDA_VERSION:
            say(f"attribute {AttributeId(attribute_id).name.lower()}")
            attributes.append(measure_attribute(rig, attribute_id, api.driver_version()))
        say("when clusters are fixed")
        fixed = _cluster_fixed_at(rig)
        say("function of a cooperative node")
        cooperative = _cooperative_function_update(rig)
        say("update rule")
        rule: Literal["cuda-13.0", "unknown"] = "cuda-13.0" if _follows_rule(rig) else "unknown"
        name = api.device_name(rig.device)
        return DriverProfile(
            id=f"{profile_id(name, api.driver_version())}-measured",
            cuda_driver_version=api.driver_version(),
            display_driver_version=display_driver_version(),
            device_name=name,
            compute_capability_major=rig.compute_capability[0],
            compute_capability_minor=rig.compute_capability[1],
            measured_on=datetime.now(UTC).date().isoformat(),
            attributes=tuple(attributes),
            cluster_fixed_at=fixed,
            cooperative_function_update=cooperative,
            update_rule=rule,
        )


def _cluster_fixed_at(rig: ProbeRig) -> Fixed:
    """Update an executable before its first launch, launch it, update it again, launch it again."""
    if not rig.clusters:
        return "unknown"
    two, four = (rig.graph(Probe(attributes={AttributeId.CLUSTER_DIMENSION: size})) for size in (_TWO, _FOUR))
    launched = rig.instantiate(two)
    seen = []
    for candidate in (four, two):
        if rig.api.graph_exec_update(launched, candidate).result:
            return "unknown"
        seen.append(rig.run(launched).cluster_dim[0])
    answers: dict[tuple[int, ...], Fixed] = {(4, 4): "first_launch", (2, 2): "instantiation", (4, 2): "never"}
    return answers.get(tuple(seen), "unknown")


def _cooperative_function_update(rig: ProbeRig) -> UpdateEffect:
    """Launch a cooperative kernel, update its function alone, launch it again.

    With CUPTI loaded a new function proves nothing: once CUPTI was in use, the measured driver applies the function in
    that process, and keeps it stale in every other (H200, driver 580.159.04).
    """
    one, two = (rig.graph(Probe(code=code, attributes={AttributeId.COOPERATIVE: 1})) for code in (1, 2))
    launched = rig.instantiate(one)
    if rig.run(launched).code != 1:
        return "unknown"
    if rig.api.graph_exec_update(launched, two).result:
        return "rejected"
    applied: UpdateEffect = "applied" if loaded_cupti() is None else "unknown"
    answers: dict[int, UpdateEffect] = {1: "stale", 2: applied}
    return answers.get(rig.run(launched).code, "unknown")


_PLAIN = Probe()
_LATER = Probe(attributes={AttributeId.PRIORITY: -1})
_COOPERATIVE = Probe(attributes={AttributeId.COOPERATIVE: 1})


def _shape(*after: tuple[int, ...]) -> tuple[Probe, ...]:
    return tuple(Probe(after=indices) for indices in after)


_CHAIN = _shape((), (0,), (1,))
_FORK = _shape((), (0,), (0,))
_CROSS = _shape((), (), (0, 1), (0, 1), (2, 3))

#: Held, candidate, flags, and the answer under the CUDA 13.0 rule: result, index of the error node and of its
#: dependency. One case per clause.
_RULE_CASES: tuple[tuple[tuple[Probe, ...], tuple[Probe, ...], int, tuple[int, int | None, int | None]], ...] = (
    (_CHAIN, _CHAIN, 0, (0, None, None)),
    (_CHAIN, _shape((), (0,)), 0, (2, None, None)),
    (_CHAIN, _FORK, 0, (2, 1, None)),
    (_FORK, _CHAIN, 0, (2, None, None)),
    (_shape((), (), (0, 1)), _CHAIN, 0, (2, 2, None)),
    (_shape((), (0,), (0, 1)), _shape((), (0,), (1, 0)), 0, (2, 1, None)),
    (_CROSS, _shape((), (), (0, 1), (1, 0), (2, 3)), 0, (2, 3, 1)),
    ((_PLAIN,), (_COOPERATIVE,), 0, (8, 0, None)),
    ((_PLAIN,), (_LATER,), 0, (0, None, None)),
    ((_PLAIN,), (_LATER,), InstantiateFlag.USE_NODE_PRIORITY, (8, 0, None)),
)


def _follows_rule(rig: ProbeRig) -> bool:
    """Whether the driver pairs and refuses as the rule does, in every case tried."""
    return all(_answer(rig, held, candidate, flags) == expected for held, candidate, flags, expected in _RULE_CASES)


def _answer(
    rig: ProbeRig, held: tuple[Probe, ...], candidate: tuple[Probe, ...], flags: int
) -> tuple[int, int | None, int | None]:
    graph = rig.graph(*candidate)
    outcome = rig.api.graph_exec_update(rig.instantiate(rig.graph(*held), flags), graph)
    indices = {node: index for index, node in enumerate(rig.api.graph_nodes(graph))}
    return outcome.result, indices.get(outcome.node), indices.get(outcome.from_node)
