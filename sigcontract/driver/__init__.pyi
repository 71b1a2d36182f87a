from sigcontract.driver.cuda import (
    GRAPH_CLASSES as GRAPH_CLASSES,
    BuildApi as BuildApi,
    DriverApi as DriverApi,
    LaunchObservations as LaunchObservations,
    UpdateOutcome as UpdateOutcome,
    default_driver as default_driver,
    graph_handle as graph_handle,
    handle_number as handle_number,
)
from sigcontract.driver.measuring import (
    UpdateVerification as UpdateVerification,
    measure_profile as measure_profile,
    verify_update as verify_update,
)
from sigcontract.driver.observing import (
    Observations as Observations,
    observable_attributes as observable_attributes,
    observe as observe,
)
from sigcontract.driver.reading import (
    AllocatorBlocks as AllocatorBlocks,
    environment as environment,
    read_graph as read_graph,
    read_profile as read_profile,
)
from sigcontract.driver.recording import (
    DEFAULT_LABEL as DEFAULT_LABEL,
    DEFAULT_NAME as DEFAULT_NAME,
    ProcessReport as ProcessReport,
    RecordSettings as RecordSettings,
    read_reports as read_reports,
    record_to as record_to,
    run_program as run_program,
    torch_blocks as torch_blocks,
)
from sigcontract.profiles import (
    PROFILES as PROFILES,
    shipped_profile as shipped_profile,
)
