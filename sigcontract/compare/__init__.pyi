from sigcontract.compare.alignment import (
    Block as Block,
)
from sigcontract.compare.alignment import (
    fold as fold,
)
from sigcontract.compare.dumps import (
    DumpComparison as DumpComparison,
)
from sigcontract.compare.dumps import (
    compare_dumps as compare_dumps,
)
from sigcontract.compare.dumps import (
    diff as diff,
)
from sigcontract.compare.fail_on import (
    FAIL_ON as FAIL_ON,
)
from sigcontract.compare.fail_on import (
    gate as gate,
)
from sigcontract.compare.graphs import (
    Change as Change,
)
from sigcontract.compare.graphs import (
    GraphChanges as GraphChanges,
)
