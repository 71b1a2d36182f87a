from sigcontract.driver.cuda.api import (
    ArgumentAddresses as ArgumentAddresses,
    BuildApi as BuildApi,
    DriverApi as DriverApi,
    KernelLaunch as KernelLaunch,
    LaunchObservations as LaunchObservations,
    ReadApi as ReadApi,
    UpdateOutcome as UpdateOutcome,
)
from sigcontract.driver.cuda.driver import (
    default_driver as default_driver,
)
from sigcontract.driver.cuda.functions import (
    Entry as Entry,
)
from sigcontract.driver.cuda.handles import (
    GRAPH_CLASSES as GRAPH_CLASSES,
    graph_handle as graph_handle,
    handle_number as handle_number,
)
from sigcontract.driver.cuda.layouts import (
    ATTRIBUTE_VALUE_BYTES as ATTRIBUTE_VALUE_BYTES,
    EDGE_DATA_BYTES as EDGE_DATA_BYTES,
    KERNEL_NODE_PARAMS_BYTES as KERNEL_NODE_PARAMS_BYTES,
    ConditionalNodeParams as ConditionalNodeParams,
    GraphNodeParams as GraphNodeParams,
    LaunchAttribute as LaunchAttribute,
    LaunchConfig as LaunchConfig,
    MemAccessDesc as MemAccessDesc,
    MemcpyParams as MemcpyParams,
    StreamBatchMemOpParams as StreamBatchMemOpParams,
)
from sigcontract.driver.cuda.library import (
    SUCCESS as SUCCESS,
    Library as Library,
    resolve_with_bindings as resolve_with_bindings,
)
from sigcontract.driver.cuda.parameter_buffer import (
    ParameterBuffer as ParameterBuffer,
)
