from sigcontract.registry.entries import (
    ExecGroup as ExecGroup,
    GraphEntry as GraphEntry,
)
from sigcontract.registry.reasons import (
    Reason as Reason,
)
from sigcontract.registry.registry import (
    GraphExecRegistry as GraphExecRegistry,
)
from sigcontract.registry.signature_registry import (
    Group as Group,
    GroupReport as GroupReport,
    GroupStats as GroupStats,
    GroupSummary as GroupSummary,
    NearestMiss as NearestMiss,
    SignatureRegistry as SignatureRegistry,
)
from sigcontract.registry.stats import (
    RegistryStats as RegistryStats,
)
