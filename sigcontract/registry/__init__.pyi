from sigcontract.registry.entries import (
    ExecGroup as ExecGroup,
)
from sigcontract.registry.entries import (
    GraphEntry as GraphEntry,
)
from sigcontract.registry.execs import (
    GraphExecRegistry as GraphExecRegistry,
)
from sigcontract.registry.groups import (
    Group as Group,
)
from sigcontract.registry.groups import (
    GroupReport as GroupReport,
)
from sigcontract.registry.groups import (
    GroupStats as GroupStats,
)
from sigcontract.registry.groups import (
    GroupSummary as GroupSummary,
)
from sigcontract.registry.groups import (
    NearestMiss as NearestMiss,
)
from sigcontract.registry.groups import (
    SignatureRegistry as SignatureRegistry,
)
from sigcontract.registry.reasons import (
    Reason as Reason,
)
from sigcontract.registry.stats import (
    RegistryStats as RegistryStats,
)
