"""Graphs as tables and back."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from msgspec import inspect as types

from sigcontract.errors import LimitError
from sigcontract.model.dump import LabeledGraph, SignatureDump
from sigcontract.model.graph import ChildGraphNode, Dependency, GraphSignature
from sigcontract.model.nodes import EmptyNode, KernelNodeSignature
from sigcontract.wire import codec, distinct_rows, limits, table_problems
from sigcontract.wire.arguments import without_arguments
from sigcontract.wire.documents import FORMS, Form
from sigcontract.wire.rows import BlockRow, EdgeRow, FunctionRow, KernelRow
from sigcontract.wire.rows2 import Tables2, frozen
from sigcontract.wire.tables import Folder
from sigcontract.wire.v2 import expanded, problems_of_tables as problems
from tests.strategies import LAWS, graphs
from tests.wire.families import FAMILIES, encoded

EVERY = Path(__file__).parents[1] / "corpus" / "sigcontract.dump-2" / "valid" / "every_node.json"


def bare(found: GraphSignature) -> GraphSignature:
    """Return a graph without arguments, which version 2 does not have."""
    dump = msgspec.structs.replace(
        codec.load(EVERY, expect=SignatureDump), graphs=(LabeledGraph(label="", graph=found),)
    )
    return without_arguments(dump).graphs[0].graph


def folded(*found: GraphSignature) -> tuple[Tables2, list[int]]:
    folder = Folder()
    rows = [folder.fold(graph) for graph in found]
    return frozen(folder.tables()), rows


@LAWS
@given(graphs().map(bare), graphs().map(bare))
def test_what_is_folded_is_expanded(one: GraphSignature, other: GraphSignature) -> None:
    found, rows = folded(one, other, one)
    assert list(problems(found, rows)) == []
    again = expanded(found)
    assert [again[row] for row in rows] == [one, other, one]
    assert rows[0] == rows[2]


@LAWS
@given(graphs().map(bare))
def test_no_row_is_there_twice(graph: GraphSignature) -> None:
    copy = msgspec.json.decode(msgspec.json.encode(graph), type=GraphSignature)
    found, rows = folded(graph, copy)
    assert rows[0] == rows[1]
    for name in Tables2.__struct_fields__:
        table = getattr(found, name)
        assert len(set(table)) == len(table)


@LAWS
@given(graphs().map(bare))
def test_tables_depend_on_values_alone(graph: GraphSignature) -> None:
    copy = msgspec.json.decode(msgspec.json.encode(graph), type=GraphSignature)
    assert folded(graph) == folded(copy)


def test_equal_nodes_and_edges_are_one_object_after_expansion() -> None:
    dump = codec.load(EVERY, expect=SignatureDump)
    graph = dump.graphs[2].graph
    assert graph.nodes[0] is graph.nodes[1]
    assert dump.graphs[0].graph is dump.graphs[1].graph


def test_rows_of_kernels_have_each_field_of_the_record_once() -> None:
    launch = set(KernelRow.__struct_fields__) - {"function", "pointers"}
    assert launch | set(FunctionRow.__struct_fields__) == set(KernelNodeSignature.__struct_fields__)
    assert launch & set(FunctionRow.__struct_fields__) == set()
    assert EdgeRow.__struct_fields__ == Dependency.__struct_fields__


def test_a_dump_of_too_many_nodes_in_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = GraphSignature(nodes=(EmptyNode(),) * 3, dependencies=((),) * 3)
    holder = GraphSignature(nodes=(ChildGraphNode(graph=leaf),) * 2, dependencies=((),) * 2)
    found, rows = folded(holder, leaf)
    assert (limits.MAX_EXPANDED_NODES, limits.MAX_HELD_NODES) == (10_000_000, 1_000_000)
    monkeypatch.setattr(table_problems, "MAX_EXPANDED_NODES", 12)
    (error,) = problems(found, rows)
    assert isinstance(error, LimitError)
    assert str(error) == "13 nodes and held graphs; the limit is 12"


def test_what_a_small_file_may_grow_to_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = GraphSignature(nodes=(EmptyNode(),) * 3, dependencies=((),) * 3)
    holder = GraphSignature(nodes=(ChildGraphNode(graph=leaf),) * 2, dependencies=((),) * 2)
    found, _ = folded(holder)
    monkeypatch.setattr(table_problems, "MAX_HELD_NODES", 15)
    (error,) = problems(found, [1, 1])
    assert isinstance(error, LimitError)
    assert str(error) == "nodes hold 16 nodes and graphs in all; the limit is 15"
    monkeypatch.setattr(table_problems, "MAX_HELD_NODES", 7)
    (error,) = problems(found, [1])
    assert error.path == "$.graphs[1]"


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: f"{form.document}-{form.version}")
def test_a_tag_is_only_where_it_cannot_be_left_out(form: Form) -> None:
    """msgspec asks for a tag in a union alone; that no key can be left out is what finds keys that are there twice.

    Of what people write by hand, the tokens are walked instead.
    """

    def alone(info: types.Type, *, in_union: bool = False) -> Iterator[type]:
        match info:
            case types.Metadata():
                yield from alone(info.type, in_union=in_union)
            case types.UnionType():
                several = sum(isinstance(member, types.StructType) for member in info.types) > 1
                for member in info.types:
                    yield from alone(member, in_union=several)
            case types.VarTupleType():
                yield from alone(info.item_type)
            case types.StructType():
                if info.tag is not None and not in_union:
                    yield info.cls
                for field in info.fields:
                    assert field.required or form.by_hand or msgspec.UNSET in info.cls.__struct_defaults__
                    yield from alone(field.type)
            case _:
                assert not isinstance(info, types.CollectionType)

    assert list(alone(types.type_info(form.wire))) == []


def test_a_stack_of_an_allocator_is_encoded_once_and_not_per_address(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = codec.decode(encoded(FAMILIES["block_of_many_nodes"](50)), expect=SignatureDump)
    encoded_rows: list[type] = []
    row_key = distinct_rows.row_key

    def counted(row: object) -> bytes:
        encoded_rows.append(type(row))
        return row_key(row)

    monkeypatch.setattr(distinct_rows, "row_key", counted)
    folder = Folder()
    folder.fold(dump.graphs[0].graph)
    assert len(folder.tables().pointers) == 50
    assert encoded_rows.count(BlockRow) == len(folder.tables().blocks) == 1
