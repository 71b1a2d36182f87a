from sigcontract.driver.cuda.api import (
    BuildApi as BuildApi,
)
from sigcontract.driver.cuda.api import (
    DriverApi as DriverApi,
)
from sigcontract.driver.cuda.api import (
    KernelLaunch as KernelLaunch,
)
from sigcontract.driver.cuda.api import (
    LaunchObservations as LaunchObservations,
)
from sigcontract.driver.cuda.api import (
    ReadApi as ReadApi,
)
from sigcontract.driver.cuda.api import (
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
)
from sigcontract.driver.cuda.handles import (
    graph_handle as graph_handle,
)
from sigcontract.driver.cuda.handles import (
    handle_number as handle_number,
)
from sigcontract.driver.cuda.layouts import (
    ATTRIBUTE_VALUE_BYTES as ATTRIBUTE_VALUE_BYTES,
)
from sigcontract.driver.cuda.layouts import (
    EDGE_DATA_BYTES as EDGE_DATA_BYTES,
)
from sigcontract.driver.cuda.layouts import (
    KERNEL_NODE_PARAMS_BYTES as KERNEL_NODE_PARAMS_BYTES,
)
from sigcontract.driver.cuda.layouts import (
    ConditionalNodeParams as ConditionalNodeParams,
)
from sigcontract.driver.cuda.layouts import (
    GraphNodeParams as GraphNodeParams,
)
from sigcontract.driver.cuda.layouts import (
    LaunchAttribute as LaunchAttribute,
)
from sigcontract.driver.cuda.layouts import (
    LaunchConfig as LaunchConfig,
)
from sigcontract.driver.cuda.layouts import (
    MemAccessDesc as MemAccessDesc,
)
from sigcontract.driver.cuda.layouts import (
    MemcpyParams as MemcpyParams,
)
from sigcontract.driver.cuda.layouts import (
    StreamBatchMemOpParams as StreamBatchMemOpParams,
)
from sigcontract.driver.cuda.library import (
    NOT_SUPPORTED as NOT_SUPPORTED,
)
from sigcontract.driver.cuda.library import (
    SUCCESS as SUCCESS,
)
from sigcontract.driver.cuda.library import (
    Library as Library,
)
from sigcontract.driver.cuda.library import (
    resolve_with_bindings as resolve_with_bindings,
)
