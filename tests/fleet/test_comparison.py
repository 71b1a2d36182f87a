"""Which ranks captured something else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sigcontract.errors import UsageError
from sigcontract.fleet import compare_fleet, comparison, details, sources
from sigcontract.model.dump import DeviceInfo, LibraryVersion, SignatureDump
from sigcontract.model.fleet import FleetReport
from sigcontract.wire import codec
from sigcontract.wire.codec import encode, read_header, save
from tests.compare.dumps import without_code
from tests.fleet.ranks import gemm, job, layer, rank_dump, saved
from tests.update import build


def kinds(report: FleetReport) -> list[str]:
    return [gap.kind for gap in report.gaps]


def deviating(report: FleetReport) -> list[str]:
    """Return the ranks of every class that is not the expected one."""
    return [
        each.ranks
        for graphs in report.graphs
        for index, each in enumerate(graphs.classes)
        if graphs.expected is not None and index != graphs.expected
    ]


def test_equal_ranks_agree_whatever_their_handles() -> None:
    report = compare_fleet(job([8] * 8))
    assert (report.answer, report.gaps, report.rows) == ("agree", (), ())
    assert [(graphs.labels, graphs.expected) for graphs in report.graphs] == [(("bs=1", "bs=2"), 0)]
    assert [each.ranks for each in report.graphs[0].classes] == ["0-7"]


@pytest.mark.parametrize("outlier", [2, 5])
def test_one_rank_of_eight_that_chose_another_kernel_is_named_with_graph_node_and_field(outlier: int) -> None:
    report = compare_fleet(job([16 if rank == outlier else 8 for rank in range(8)], sizes=[144]))
    assert (report.answer, deviating(report)) == ("deviate", [str(outlier)])
    (cause,) = report.graphs[0].classes[1].causes
    assert (cause.labels, cause.paths, cause.count) == (("bs=144",), ("nodes[1]",), 1)
    assert [(c.field, c.old, c.new) for c in cause.changes] == [("name", "gemm_tile8x64", "gemm_tile16x64")]


def test_a_slower_tactic_that_shows_in_the_grid_alone_is_named() -> None:
    dumps = [rank_dump(rank, {"decode": gemm(8, grid=4 if rank == 3 else 2)}) for rank in range(4)]
    report = compare_fleet(dumps)
    (cause,) = report.graphs[0].classes[1].causes
    assert deviating(report) == ["3"]
    assert [(change.field, change.old, change.new) for change in cause.changes] == [("grid_dim", "2x1x1", "4x1x1")]


def test_two_against_two_is_a_split_and_no_outlier() -> None:
    report = compare_fleet(job([16, 8, 16, 8]))
    assert report.answer == "deviate"
    assert [graphs.expected for graphs in report.graphs] == [None]
    assert [each.ranks for each in report.graphs[0].classes] == ["0,2", "1,3"]
    assert deviating(report) == []


def test_twenty_tuned_shapes_that_part_over_four_ranks_are_twenty_rows_and_none_once_they_agree() -> None:
    def tuned(rank: int, shape: int) -> int:
        return 8 << (rank * shape) % 3

    ranks = range(4)
    dumps = [
        rank_dump(rank, {f"shape={shape}": gemm(tuned(rank, shape), grid=shape) for shape in range(1, 31)})
        for rank in ranks
    ]
    parted = [shape for shape in range(1, 31) if len({tuned(rank, shape) for rank in ranks}) > 1]
    assert len(parted) == 20
    report = compare_fleet(dumps)
    assert sorted(row.label for row in report.rows) == sorted(f"shape={shape}" for shape in parted)
    row = next(row for row in report.rows if row.label == "shape=1")
    assert (row.path, row.fields) == ("nodes[1]", ("name",))
    assert {cell.ranks: cell.values for cell in row.cells} == {
        "0,3": ("gemm_tile8x64",),
        "1": ("gemm_tile16x64",),
        "2": ("gemm_tile32x64",),
    }
    agreed = [replace(dumps[0], environment=dump.environment) for dump in dumps]
    assert compare_fleet(agreed).rows == ()
    assert compare_fleet(agreed).answer == "agree"


def test_layers_that_part_alike_are_one_row_with_their_number() -> None:
    graphs = [layer(*["norm", f"gemm_tile{tile}x64"] * 24) for tile in (8, 8, 16)]
    report = compare_fleet([rank_dump(rank, {"decode": graph}, world_size=3) for rank, graph in enumerate(graphs)])
    assert [(row.path, row.count) for row in report.rows] == [("nodes[1]", 24)]
    assert [cause.count for cause in report.graphs[0].classes[1].causes] == [24]


def test_an_added_node_is_a_cause_and_does_not_part_what_follows_it() -> None:
    graphs = [layer("norm", "gemm", "silu")] * 3 + [layer("norm", "split_k", "gemm", "silu")]
    report = compare_fleet([rank_dump(rank, {"decode": graph}) for rank, graph in enumerate(graphs)])
    (cause,) = report.graphs[0].classes[1].causes
    assert (cause.kind, cause.subject, deviating(report)) == ("added", "split_k", ["3"])
    (row,) = report.rows
    assert [(cell.ranks, cell.values) for cell in row.cells] == [("0-2", (None,)), ("3", ("split_k",))]


def test_a_reference_is_what_counts_as_expected() -> None:
    dumps = job([8, 16, 16, 16])
    assert deviating(compare_fleet(dumps)) == ["0"]
    report = compare_fleet(dumps, reference=0)
    assert deviating(report) == ["1-3"]
    assert report.reference == "rank 0 (dump 0)"


def test_a_reference_need_not_be_of_the_job(tmp_path: Path) -> None:
    golden = tmp_path / "golden.dump.json"
    save(
        replace(job([16])[0], environment=replace(job([16])[0].environment, created_at="2026-01-01T00:00:00Z")), golden
    )
    report = compare_fleet(job([8] * 4), reference=str(golden))
    assert deviating(report) == ["0-3"]
    assert report.gaps == ()
    assert compare_fleet(job([16] * 4), reference=str(golden)).answer == "agree"


def test_a_reference_that_is_a_dump_of_the_job_by_its_file_is_that_rank(tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 16, 16, 16]))
    report = compare_fleet([tmp_path], reference=paths[0])
    assert deviating(report) == ["1-3"]
    assert len(report.dumps) == 4


@pytest.mark.parametrize(
    ("reference", "reason"),
    [(9, "no readable dump is of rank 9"), ("missing.dump.json", "the reference cannot be used: cannot read")],
)
def test_a_reference_that_is_not_there_is_wrong_usage(reference: int | str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compare_fleet(job([8, 8]), reference=reference)


def test_a_reference_that_lies_about_its_digests_is_refused(tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 8]))
    lie(Path(paths[0]))
    with pytest.raises(UsageError, match="the reference cannot be used: the digest of this graph is"):
        compare_fleet([tmp_path], reference=0)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("rank/2", {"rank / 2: 0": "0-1", "rank / 2: 1": "2-3"}),
        ("rank=^[01]$", {"rank 0": "0", "rank 1": "1", "(no match)": "2-3"}),
        ("host", {"host a": "0-1", "host b": "2-3"}),
        ("host=(.)$", {"host a": "0-1", "host b": "2-3"}),
    ],
)
def test_expected_differences_are_left_apart_by_a_pattern(pattern: str, expected: dict[str, str]) -> None:
    dumps = [
        rank_dump(rank, {"decode": layer("embed" if rank < 2 else "head")}, hostname="a" if rank < 2 else "b")
        for rank in range(4)
    ]
    report = compare_fleet(dumps, group_by=pattern)
    assert {str(graphs.group): graphs.classes[0].ranks for graphs in report.graphs} == expected
    assert (report.answer, report.gaps) == ("agree", ())


def test_expert_ranks_are_every_nth() -> None:
    dumps = [rank_dump(rank, {"moe": layer(f"expert{rank % 2}")}) for rank in range(4)]
    assert compare_fleet(dumps).answer == "deviate"
    assert compare_fleet(dumps, group_by="rank%2").answer == "agree"


def test_stages_that_labels_tell_are_compared_with_their_own() -> None:
    dumps = [
        rank_dump(rank, {f"stage{rank // 2}/bs=1": layer(f"stage{rank // 2}"), "sampler": layer("sample")})
        for rank in range(4)
    ]
    assert kinds(compare_fleet(dumps)) == ["graph-missing", "graph-missing"]
    report = compare_fleet(dumps, group_by=r"label=^stage(\d+)/")
    assert (report.answer, report.gaps) == ("agree", ())
    assert {graphs.group for graphs in report.graphs} == {"label 0", "label 1", "(no match)"}


@pytest.mark.parametrize("pattern", ["stage", "label", "rank/0", "rank/x", "host/2", "label%3", "host=(", "rank"])
def test_a_pattern_that_makes_no_groups_is_wrong_usage(pattern: str) -> None:
    with pytest.raises(UsageError):
        compare_fleet(job([8, 8]), group_by=pattern)


def test_a_graph_that_one_rank_lacks_is_a_gap_that_names_it() -> None:
    dumps = job([8] * 4)
    dumps[2] = replace(dumps[2], graphs=dumps[2].graphs[:1])
    report = compare_fleet(dumps)
    assert report.answer == "undetermined"
    assert [(gap.kind, gap.ranks, gap.detail) for gap in report.gaps] == [
        ("graph-missing", "2", "rank 2 (dump 2) lacks bs=2")
    ]


def test_a_graph_that_one_rank_has_more_is_a_gap_that_names_it() -> None:
    dumps = job([8] * 4, sizes=[1])
    dumps[1] = job([8] * 4)[1]
    (gap,) = compare_fleet(dumps).gaps
    assert (gap.kind, gap.ranks) == ("graph-added", "1")


def test_a_graph_that_half_of_the_ranks_have_is_reported_for_both_halves() -> None:
    dumps = [*job([8] * 4)[:2], *job([8] * 4, sizes=[1])[2:]]
    (gap,) = compare_fleet(dumps).gaps
    assert (gap.kind, gap.ranks) == ("graph-missing", "2-3")
    assert gap.detail == "ranks 0-1 (dump 0, dump 1) have bs=2; ranks 2-3 (dump 2, dump 3) lack it"


OTHER_DEVICE = DeviceInfo(ordinal=0, name="NVIDIA B200", compute_capability_major=10, compute_capability_minor=0)


@pytest.mark.parametrize(
    ("changed", "kind", "detail"),
    [
        ({"display_driver_version": "575.57"}, "driver", "driver 575.57, expected 580.159.04"),
        ({"cuda_driver_version": 12090}, "driver", "driver CUDA 12.9, expected CUDA 13.0"),
        ({"devices": (OTHER_DEVICE,)}, "device", "devices 1 x NVIDIA B200 (10.0), expected 1 x NVIDIA H200 (9.0)"),
        ({"libraries": (LibraryVersion(name="torch", version="2.9"),)}, "libraries", "torch 2.9, expected none"),
        ({"sigcontract_version": "0.0.9"}, "version", "sigcontract 0.0.9, expected"),
        ({"created_at": "2026-12-01T03:00:00Z"}, "run", "written at 2026-12-01T03:00:00Z, more than an hour from most"),
        ({"created_at": "yesterday"}, "run", "written at yesterday"),
    ],
)
def test_a_dump_of_another_machine_or_run_is_a_gap(changed: dict[str, object], kind: str, detail: str) -> None:
    dumps = job([8] * 4)
    dumps[3] = replace(dumps[3], environment=replace(dumps[3].environment, **changed))
    report = compare_fleet(dumps)
    (gap,) = report.gaps
    assert (report.answer, gap.kind, gap.ranks) == ("undetermined", kind, "3")
    assert detail in gap.detail


def test_two_drivers_on_half_of_the_ranks_each_are_reported_as_such() -> None:
    dumps = job([8] * 4)
    for rank in (2, 3):
        dumps[rank] = replace(
            dumps[rank], environment=replace(dumps[rank].environment, display_driver_version="575.57")
        )
    (gap,) = compare_fleet(dumps).gaps
    assert (gap.kind, gap.ranks) == ("driver", "")
    assert gap.detail.startswith("driver differs: ranks 0-1 (dump 0, dump 1): 580.159.04, CUDA 13.0; ranks 2-3")


def test_ranks_that_no_dump_is_of_are_missing() -> None:
    report = compare_fleet([dump for rank, dump in enumerate(job([8] * 8)) if rank not in (3, 6, 7)])
    assert (report.answer, report.world_size) == ("undetermined", 8)
    assert [(gap.kind, gap.ranks) for gap in report.gaps] == [("rank-missing", "3,6-7")]


def test_ranks_without_a_world_size_never_all_agree() -> None:
    report = compare_fleet([rank_dump(rank, {"g": gemm(8)}, world_size=None) for rank in range(3)])
    assert (report.answer, kinds(report)) == ("undetermined", ["world-size-unknown"])


def test_dumps_of_two_jobs_are_distinguished_by_their_world_size() -> None:
    report = compare_fleet([*job([8, 8]), *job([8] * 3)[2:]])
    assert (report.answer, report.world_size, kinds(report)) == ("undetermined", None, ["world-size"])


def test_a_rank_beyond_the_world_size_is_a_gap() -> None:
    report = compare_fleet([rank_dump(rank, {"g": gemm(8)}, world_size=2) for rank in range(3)])
    assert [(gap.kind, gap.ranks) for gap in report.gaps] == [("world-size", "2")]


def test_two_dumps_of_one_rank_are_named_by_their_files() -> None:
    report = compare_fleet([*job([8, 8]), job([16, 16])[1]])
    assert (report.answer, kinds(report)) == ("deviate", ["rank-repeated"])
    assert report.gaps[0].detail == "dump 1, dump 2: all of rank 1"
    assert deviating(report) == ["dump 2"]


def test_a_dump_that_names_no_rank_is_compared_and_named_by_its_file() -> None:
    report = compare_fleet([*job([8] * 3), rank_dump(None, {"bs=1": gemm(16), "bs=2": gemm(16)}, world_size=3)])
    assert kinds(report) == ["rank-unknown"]
    assert set(deviating(report)) == {"dump 3"}


def test_one_dump_agrees_with_nobody() -> None:
    report = compare_fleet(job([8]))
    assert (report.answer, kinds(report)) == ("undetermined", ["alone"])


@pytest.mark.parametrize("dumps", [[], [Path(__file__).parent]], ids=["nothing", "a folder without dumps"])
def test_no_dump_is_wrong_usage(dumps: list[Path]) -> None:
    with pytest.raises(UsageError, match=r"no dumps( in .*)?; their names end in \.dump\.json"):
        compare_fleet(dumps)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"\x00" * 100)


def lie(path: Path) -> None:
    """Let the header claim the digest of a graph that is not there."""
    text = path.read_text()
    first = text.index("sha256:") + len("sha256:")
    path.write_text(text[:first] + "0" * 64 + text[first + 64 :])


def forbid(path: Path) -> None:
    path.unlink()
    path.mkdir()


def another_kind(path: Path) -> None:
    path.write_bytes(encode(build.H200))


@pytest.mark.parametrize("spoil", [truncate, empty, garbage, lie, forbid, another_kind])
def test_a_broken_file_costs_one_line_and_not_the_run(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 8, 8, 16]))
    spoil(Path(paths[1]))
    report = compare_fleet([tmp_path])
    assert report.answer == "deviate"
    assert deviating(report) == ["3"]
    assert [(gap.kind, gap.ranks) for gap in report.gaps] == [("unreadable", paths[1]), ("rank-missing", "1")]


@pytest.mark.parametrize("cut", range(40, 2000, 97))
def test_a_dump_that_ends_anywhere_is_never_taken_for_whole(cut: int, tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 8]))
    whole = Path(paths[1]).read_bytes()
    Path(paths[1]).write_bytes(whole[: len(whole) - cut])
    assert compare_fleet([tmp_path]).gaps[0].kind == "unreadable"


def test_all_dumps_broken_is_no_agreement(tmp_path: Path) -> None:
    for path in saved(tmp_path, job([8, 8])):
        empty(Path(path))
    report = compare_fleet([tmp_path])
    assert (report.answer, report.graphs) == ("undetermined", ())


def test_a_lie_in_a_dump_that_stands_for_no_class_is_found_on_demand(tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 8, 8]))
    text = Path(paths[2]).read_text()
    Path(paths[2]).write_text(text.replace('"gemm_tile8x64"', '"gemm_tile9x64"'))
    assert compare_fleet([tmp_path]).answer == "agree"
    report = compare_fleet([tmp_path], verify=True)
    assert (report.answer, kinds(report)) == ("undetermined", ["unreadable", "rank-missing"])


def test_a_dump_that_is_being_written_is_a_gap_and_its_graphs_are_not_missed() -> None:
    dumps = job([8] * 4)
    dumps[0] = replace(dumps[0], complete=False, graphs=dumps[0].graphs[:1])
    report = compare_fleet(dumps)
    assert (report.answer, kinds(report)) == ("undetermined", ["incomplete"])


def test_a_dump_without_graphs_is_a_gap() -> None:
    dumps = job([8] * 4)
    dumps[0] = replace(dumps[0], graphs=())
    report = compare_fleet(dumps)
    assert (report.answer, kinds(report)) == ("undetermined", ["empty"])


def test_a_label_that_stands_for_two_graphs_leaves_the_dump_out() -> None:
    dumps = job([8] * 4)
    dumps[1] = replace(dumps[1], graphs=dumps[1].graphs[:1] * 2)
    report = compare_fleet(dumps)
    assert (report.answer, kinds(report)) == ("undetermined", ["label-repeated"])
    assert [each.ranks for each in report.graphs[0].classes] == ["0,2-3"]


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda paths: Path(paths[0]).unlink(), "rank0-pid4000.dump.json: disappeared"),
        (lambda paths: save(job([16])[0], paths[0]), "rank0-pid4000.dump.json: was rewritten"),
        (lambda paths: save(job([16])[0], Path(paths[0]).with_name("new.dump.json")), "new.dump.json: appeared"),
    ],
)
def test_a_folder_that_changes_while_it_is_read_is_no_agreement(
    change: Callable[[list[str]], None], detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = saved(tmp_path, job([8, 8, 8]))

    def changing(found: sources.Found) -> list[tuple[str, str]]:
        change(paths)
        return list(sources.changed_since(found))

    monkeypatch.setattr(comparison, "changed_since", changing)
    report = compare_fleet([tmp_path])
    assert (report.answer, kinds(report)) == ("undetermined", ["changed"])
    assert detail in report.gaps[0].detail


def test_a_file_that_goes_before_it_is_decoded_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = saved(tmp_path, job([8, 8, 8]))
    read = read_header

    def vanishing(path: str, *, verify: bool) -> object:
        header = read(path, verify=verify)
        Path(paths[0]).unlink(missing_ok=True)
        return header

    monkeypatch.setattr(sources, "read_header", vanishing)
    report = compare_fleet([tmp_path])
    assert (report.answer, report.gaps[0].kind) == ("undetermined", "unreadable")
    assert report.graphs[0].classes[0].ranks == "1-2"


def test_machine_code_that_was_not_observed_is_no_agreement() -> None:
    graph = build.graph(*[without_code(node) for node in gemm(8).kernel_nodes])
    report = compare_fleet([rank_dump(rank, {"g": graph}) for rank in range(4)])
    assert report.answer == "undetermined"
    (gap,) = report.gaps
    assert (gap.kind, gap.ranks) == ("code-unknown", "0-3")
    assert "1 graph equal as recorded; function.code-unknown" in gap.detail


def test_one_dump_of_each_class_is_decoded_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path, job([8] * 6 + [16] * 3))
    decoded: list[str] = []
    load = codec.load

    def counting(path: str, **asked: object) -> SignatureDump:
        decoded.append(Path(path).name)
        dump: SignatureDump = load(path, **asked)  # type: ignore[call-overload]
        return dump

    monkeypatch.setattr(sources, "load", counting)
    assert deviating(compare_fleet([tmp_path])) == ["6-8"]
    assert set(decoded) == {"rank0-pid4000.dump.json", "rank6-pid4006.dump.json"}


def test_no_more_than_two_dumps_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    call = details.Decoded.__call__

    def watched(self: details.Decoded, row: int, *, verify: bool = False) -> SignatureDump:
        dump = call(self, row, verify=verify)
        held.append(len(self._held))
        return dump

    monkeypatch.setattr(details.Decoded, "__call__", watched)
    compare_fleet(job(list(range(8, 20))))
    assert max(held) == 2


def test_more_kinds_of_ranks_than_are_looked_into_are_named_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "MOST_COMPARED", 3)
    report = compare_fleet(job([8, 9, 10, 11, 12]))
    assert report.answer == "deviate"
    assert [(gap.kind, gap.ranks) for gap in report.gaps] == [("not-compared", "3"), ("not-compared", "4")]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    paths = saved(tmp_path, job([8, 8]))
    report = compare_fleet([tmp_path, *paths, Path(paths[0])])
    assert (report.answer, len(report.dumps)) == ("agree", 2)


def test_progress_counts_each_step() -> None:
    seen: list[tuple[str, int, int]] = []
    compare_fleet(job([8, 8, 16]), progress=lambda *step: seen.append(step))
    assert seen == [
        *(("headers", number, 3) for number in (1, 2, 3)),
        *(("dumps", number, 2) for number in (1, 2)),
        ("classes", 1, 1),
    ]


def test_each_dump_is_verified_at_most_once_however_many_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in saved(tmp_path, job([8] * 6 + [16] * 2))[:5]:
        lie(Path(path))
    verified: list[str] = []
    load = codec.load

    def counting(path: str, *, verify: bool, **asked: object) -> SignatureDump:
        verified.extend([path] * verify)
        dump: SignatureDump = load(path, verify=verify, **asked)  # type: ignore[call-overload]
        return dump

    monkeypatch.setattr(sources, "load", counting)
    report = compare_fleet([tmp_path])
    assert kinds(report) == ["unreadable"] * 5 + ["rank-missing"]
    assert len(verified) == len(set(verified)) == 7


def test_a_reference_is_verified_though_another_dump_represents_its_class(tmp_path: Path) -> None:
    saved(tmp_path, job([8] * 3))
    golden = tmp_path / "golden.json"
    golden.write_text((tmp_path / "rank0-pid4000.dump.json").read_text().replace('"gemm_tile8x64"', '"gemm_tile9x64"'))
    with pytest.raises(UsageError, match="the reference cannot be used"):
        compare_fleet([tmp_path], reference=str(golden))


def test_ranks_with_labels_of_their_own_have_nothing_in_common() -> None:
    report = compare_fleet([rank_dump(rank, {f"rank{rank}/bs=1": gemm(8)}) for rank in range(4)])
    assert (report.answer, kinds(report)) == ("undetermined", ["graph-added"] * 4)
    assert report.gaps[3].detail == "rank 3 (dump 3) has rank3/bs=1, absent from the others"


def test_a_sentence_names_few_of_many_files_and_the_report_all() -> None:
    (gap, _) = compare_fleet([rank_dump(None, {"g": gemm(8)}, world_size=None) for _ in range(300)]).gaps
    assert gap.detail == "dump 0, dump 1, dump 2 and 297 more: no rank in the dump"
    assert gap.ranks.count("dump") == 300


def test_gaps_of_long_names_and_of_many_files_fit_into_the_document(tmp_path: Path) -> None:
    names = [char * 65_536 for char in "ab"]
    dumps = [rank_dump(rank, {names[rank]: gemm(8)}, display_driver_version=names[rank]) for rank in range(2)]
    report = compare_fleet(dumps)
    assert {"driver", "graph-missing"} <= set(kinds(report))
    assert codec.decode(encode(report)) == report
    unnamed = [rank_dump(None, {"a": gemm(8)})] * 300
    for number, each in enumerate(unnamed):
        save(each, tmp_path / f"{number:0240}.dump.json")
    report = compare_fleet([tmp_path])
    assert codec.decode(encode(report)) == report
