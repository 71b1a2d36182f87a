from sigcontract.golden.agreement import (
    Agreement as Agreement,
    State as State,
    compare_with_golden as compare_with_golden,
)
from sigcontract.golden.document import (
    decode_golden as decode_golden,
    golden_bytes as golden_bytes,
    golden_of as golden_of,
    read_golden as read_golden,
)
from sigcontract.golden.files import (
    FOLDER as FOLDER,
    golden_file as golden_file,
    golden_of_pending as golden_of_pending,
    in_ci as in_ci,
    pending_file as pending_file,
    pending_files as pending_files,
    unreferenced_files as unreferenced_files,
)
