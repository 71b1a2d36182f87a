from sigcontract.contract.baseline_dumps import (
    label_lines as label_lines,
)
from sigcontract.contract.baselines import (
    Baseline as Baseline,
    update_baselines as update_baselines,
)
from sigcontract.contract.check import (
    check_dump as check_dump,
    graph_clauses as graph_clauses,
)
from sigcontract.contract.contract_file import (
    CLAUSE_RULES as CLAUSE_RULES,
    ContractFile as ContractFile,
    load_contract as load_contract,
)
from sigcontract.contract.initial import (
    first_contract as first_contract,
)
from sigcontract.contract.patterns import (
    Demangler as Demangler,
    kernel_matches as kernel_matches,
    matches as matches,
)
