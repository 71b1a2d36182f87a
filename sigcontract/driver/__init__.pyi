from sigcontract.driver.cuda import (
    GRAPH_CLASSES as GRAPH_CLASSES,
)
from sigcontract.driver.cuda import (
    DriverApi as DriverApi,
)
from sigcontract.driver.cuda import (
    LaunchObservations as LaunchObservations,
)
from sigcontract.driver.cuda import (
    UpdateOutcome as UpdateOutcome,
)
from sigcontract.driver.cuda import (
    default_driver as default_driver,
)
from sigcontract.driver.cuda import (
    graph_handle as graph_handle,
)
from sigcontract.driver.cuda import (
    handle_number as handle_number,
)
from sigcontract.driver.measuring import (
    UpdateVerification as UpdateVerification,
)
from sigcontract.driver.measuring import (
    measure_profile as measure_profile,
)
from sigcontract.driver.measuring import (
    verify_update as verify_update,
)
from sigcontract.driver.observing import (
    Observations as Observations,
)
from sigcontract.driver.observing import (
    observable_attributes as observable_attributes,
)
from sigcontract.driver.observing import (
    observe as observe,
)
from sigcontract.driver.reading import (
    environment as environment,
)
from sigcontract.driver.reading import (
    read_graph as read_graph,
)
from sigcontract.driver.reading import (
    read_profile as read_profile,
)
from sigcontract.driver.recording import (
    DEFAULT_LABEL as DEFAULT_LABEL,
)
from sigcontract.driver.recording import (
    ProcessReport as ProcessReport,
)
from sigcontract.driver.recording import (
    RecordSettings as RecordSettings,
)
from sigcontract.driver.recording import (
    read_reports as read_reports,
)
from sigcontract.driver.recording import (
    record_to as record_to,
)
from sigcontract.driver.recording import (
    run_program as run_program,
)
from sigcontract.profiles import (
    PROFILES as PROFILES,
)
from sigcontract.profiles import (
    shipped_profile as shipped_profile,
)
