"""The measuring rig: graphs of reporting kernels, and their reports."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from sigcontract.driver.cuda import (
    BuildApi,
    KernelLaunch,
)
from sigcontract.driver.measuring.kernels import REPORT_BYTES, Report, parse_report, probe_ptx
from sigcontract.driver.reading import (
    encode_attribute,
)
from sigcontract.errors import DriverError
from sigcontract.model import (
    CLUSTERS_SINCE,
    AttributeId,
    AttributeValue,
)

__all__ = ["Probe", "ProbeRig"]

#: Kernel name -> the constant it reports.
_KERNELS = {"sigcontract_probe_1": 1, "sigcontract_probe_2": 2}

_EVENT_ATTRIBUTES = frozenset({AttributeId.PROGRAMMATIC_EVENT, AttributeId.LAUNCH_COMPLETION_EVENT})


class Probe(NamedTuple):
    """One kernel node to build."""

    #: Which kernel: the constant it reports, 1 or 2.
    code: int = 1
    value: int = 0
    attributes: Mapping[int, AttributeValue] = {}
    #: Indices of its dependencies in the graph, in order.
    after: tuple[int, ...] = ()


class ProbeRig:
    """A context, two reporting kernels and their report memory.

    Parameters
    ----------
    api
        The driver to measure.
    stack
        Releases everything when closed.

    Raises
    ------
    DriverCallError
        The driver cannot load the kernels, or is out of memory.
    """

    def __init__(self, api: BuildApi, stack: ExitStack) -> None:
        self.api = api
        self._stack = stack
        if not api.current_context():
            context = api.primary_context_retain(0)
            stack.callback(api.primary_context_release, 0)
            api.context_push(context)
            stack.callback(api.context_pop)
        self.device = api.current_device()
        self.compute_capability = api.compute_capability(self.device)
        self.clusters = self.compute_capability >= CLUSTERS_SINCE
        module = api.module_load(probe_ptx(_KERNELS, clusters=self.clusters))
        stack.callback(api.module_unload, module)
        self._functions = {code: api.module_function(module, name) for name, code in _KERNELS.items()}
        #: Device memory of the reports.
        self.report_address = self.kept(api.mem_alloc(REPORT_BYTES), api.mem_free)
        self.event = self.kept(api.event_create(), api.event_destroy)

    def kept(self, handle: int, give_back: Callable[[int], None]) -> int:
        """Return the handle; the rig releases it at its end."""
        self._stack.callback(give_back, handle)
        return handle

    def graph(self, *probes: Probe) -> int:
        """Build a graph of these kernels, which the rig destroys at its end.

        Raises
        ------
        DriverCallError
            The driver refuses an attribute.
        """
        graph = self.kept(self.api.graph_create(), self.api.graph_destroy)
        nodes: list[int] = []
        for probe in probes:
            node = self.api.add_kernel_node(graph, self._launch(probe), [nodes[index] for index in probe.after])
            nodes.append(node)
            for attribute_id, value in probe.attributes.items():
                self.api.set_kernel_attribute(node, attribute_id, encode_attribute(attribute_id, value))
        return graph

    def captured(self, *probes: Probe) -> int:
        """Capture launches of these kernels in sequence from a stream. The rig destroys the graph at its end.

        After a launch with an event attribute, the next launch is on a second stream that waits for the event.
        """
        with ExitStack() as stack:
            first = self.api.stream_create()
            stack.callback(self.api.stream_destroy, first)
            second = self.api.stream_create()
            stack.callback(self.api.stream_destroy, second)
            return self._capture(first, second, probes)

    def instantiate(self, graph: int, flags: int = 0) -> int:
        """Instantiate a graph. The rig destroys the executable at its end."""
        return self.kept(self.api.graph_instantiate(graph, flags), self.api.graph_exec_destroy)

    def run(self, graph_exec: int) -> Report:
        """Launch an executable of one kernel, wait, and return its report."""
        (report,) = self.reports(graph_exec, self.report_address, 1)
        return report

    def reports(self, graph_exec: int, address: int, count: int) -> list[Report]:
        """Launch an executable, wait, and return ``count`` reports, starting at an address."""
        self.api.copy_to_device(address, bytes(REPORT_BYTES * count))
        stream = self.api.stream_create()
        try:
            self.api.graph_launch(graph_exec, stream)
            self.api.stream_synchronize(stream)
        finally:
            self.api.stream_destroy(stream)
        data = self.api.copy_from_device(address, REPORT_BYTES * count)
        return [parse_report(data[start : start + REPORT_BYTES]) for start in range(0, len(data), REPORT_BYTES)]

    def _launch(self, probe: Probe) -> KernelLaunch:
        arguments = (self.report_address.to_bytes(8, "little"), probe.value.to_bytes(4, "little"))
        encoded = {key: encode_attribute(key, value) for key, value in probe.attributes.items()}
        return KernelLaunch(self._functions[probe.code], (8, 1, 1), (32, 1, 1), arguments, 0, encoded)

    def _capture(self, first: int, second: int, probes: tuple[Probe, ...]) -> int:
        self.api.begin_capture(first)
        try:
            self._launch_all(first, second, probes)
        except DriverError:
            self._abandon(first)
            raise
        return self.kept(self.api.end_capture(first), self.api.graph_destroy)

    def _launch_all(self, first: int, second: int, probes: tuple[Probe, ...]) -> None:
        stream = first
        for probe in probes:
            self.api.launch_kernel(self._launch(probe), stream)
            if probe.attributes.keys() & _EVENT_ATTRIBUTES:
                self.api.stream_wait_event(second, self.event)
                stream = second
        if stream is not first:
            join = self.kept(self.api.event_create(), self.api.event_destroy)
            self.api.event_record(join, second)
            self.api.stream_wait_event(first, join)

    def _abandon(self, stream: int) -> None:
        """End a capture after an error that is already propagating."""
        try:
            graph = self.api.end_capture(stream)
        except DriverError:
            return
        self.api.graph_destroy(graph)
