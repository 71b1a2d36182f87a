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
from sigcontract.model import (
    FleetAnswer as FleetAnswer,
    FleetCause as FleetCause,
    FleetCell as FleetCell,
    FleetChange as FleetChange,
    FleetClass as FleetClass,
    FleetDump as FleetDump,
    FleetGap as FleetGap,
    FleetGapKind as FleetGapKind,
    FleetGraphs as FleetGraphs,
    FleetQueryResult as FleetQueryResult,
    FleetReport as FleetReport,
    FleetRow as FleetRow,
    RankDiff as RankDiff,
    RankDiffs as RankDiffs,
)
