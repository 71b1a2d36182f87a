from sigcontract.compare.causes import (
    Cause as Cause,
    CauseChange as CauseChange,
    causes_of as causes_of,
)
from sigcontract.compare.changes import (
    Change as Change,
)
from sigcontract.compare.dumps import (
    DumpComparison as DumpComparison,
    compare_dumps as compare_dumps,
    diff as diff,
)
from sigcontract.compare.fail_on import (
    FAIL_ON as FAIL_ON,
    gate as gate,
)
from sigcontract.compare.folding import (
    Block as Block,
    FoldedBlock as FoldedBlock,
    fold as fold,
    fold_with_tails as fold_with_tails,
)
from sigcontract.compare.graph_changes import (
    GraphChanges as GraphChanges,
)
from sigcontract.compare.kernel_names import (
    unnumbered as unnumbered,
)
