from sigcontract.fleet.comparison import (
    compare_fleet as compare_fleet,
)
from sigcontract.fleet.dataset import (
    GRAPH_COLUMNS as GRAPH_COLUMNS,
    NODE_COLUMNS as NODE_COLUMNS,
    Exported as Exported,
    export_dataset as export_dataset,
)
from sigcontract.fleet.details import (
    MOST_COMPARED as MOST_COMPARED,
)
from sigcontract.fleet.grouping import (
    GroupBy as GroupBy,
    group_by as group_by,
)
from sigcontract.fleet.questions import (
    Query as Query,
    queries as queries,
    query_dataset as query_dataset,
)
from sigcontract.fleet.rank_pairs import (
    compare_by_rank as compare_by_rank,
)
from sigcontract.fleet.sources import (
    Unreadable as Unreadable,
)
