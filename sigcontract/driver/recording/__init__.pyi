from sigcontract.driver.recording.dump_names import (
    DEFAULT_NAME as DEFAULT_NAME,
)
from sigcontract.driver.recording.labels import (
    DEFAULT_LABEL as DEFAULT_LABEL,
)
from sigcontract.driver.recording.process import (
    ProcessReport as ProcessReport,
    RecordSettings as RecordSettings,
    read_reports as read_reports,
)
from sigcontract.driver.recording.program import (
    run_program as run_program,
)
from sigcontract.driver.recording.recorder import (
    record_to as record_to,
)
from sigcontract.driver.recording.torch_allocator import (
    torch_blocks as torch_blocks,
)
