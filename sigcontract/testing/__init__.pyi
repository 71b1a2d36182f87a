from sigcontract.testing.equality import (
    inequality_lines as inequality_lines,
)
from sigcontract.testing.fixture import (
    CheckSettings as CheckSettings,
    GraphSignatureFixture as GraphSignatureFixture,
)
from sigcontract.testing.ledger import (
    Checked as Checked,
    Ledger as Ledger,
)
from sigcontract.testing.structure import (
    GraphStructure as GraphStructure,
    Nodes as Nodes,
)
