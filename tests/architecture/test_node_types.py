"""A node type without graphs inside is known to its record, its reader, its rules and its drawing, and nowhere else."""

import re

from sigcontract.model.graph import NODE_RECORDS, graph_fields
from sigcontract.model.nodes import KernelNodeSignature
from tests.architecture.source import ROOT

KNOWS_A_TYPE = {
    "driver/reading/node_readers.py",  # its reader
    "wire/arguments.py",  # where it refers to an allocation
    "wire/argument_tables.py",
    "wire/argument_problems.py",
    "wire/rows.py",
    "wire/rows2.py",
    "wire/rows3.py",
    "wire/tables.py",
    "wire/v3.py",
    "update/rules.py",  # its rules: what they say
    "update/memory_nodes.py",  # when they apply
    "update/gone.py",  # its addresses, and those that it returns
    "update/share_key.py",  # what of it an update keeps
    "report/node_rows.py",  # its drawing
    "report/argument_rows.py",  # its addresses
    "update/single_exec.py",  # whether its graph may have one executable only
    "registry/signature_registry.py",  # a node without fields, to check edges alone
    "compare/nodes.py",  # operations of a batch that have no counterpart
}
PLAIN = [record for record in NODE_RECORDS.values() if record is not KernelNodeSignature and not graph_fields(record)]


def test_a_node_type_is_named_only_where_something_of_its_own_is_known() -> None:
    package = ROOT / "sigcontract"
    texts = {str(file.relative_to(package)): file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    elsewhere = {
        (record.__name__, file)
        for record in PLAIN
        for file, text in texts.items()
        if re.search(rf"\b{record.__name__}\b", text) and not file.startswith("model/") and file not in KNOWS_A_TYPE
    }
    assert elsewhere == set()
