"""PTX of the kernels that report what they were launched with.

Only a kernel that looks at its own registers is proof of what an executable launches: after an update that the driver
had accepted and not carried out, the profiler's activity record named the new cluster (measured, H200, driver
580.159.04). PTX is compiled by the driver itself, so no toolkit is needed.
"""

from struct import Struct
from typing import NamedTuple

__all__ = ["REPORT_BYTES", "Report", "parse_report", "probe_ptx"]

_WORDS = Struct("<9I")
REPORT_BYTES = _WORDS.size

_CLUSTER = """\
    mov.u32 %r2, %cluster_nctaid.x;
    st.global.u32 [%rd0+0], %r2;
    mov.u32 %r2, %cluster_nctaid.y;
    st.global.u32 [%rd0+4], %r2;
    mov.u32 %r2, %cluster_nctaid.z;
    st.global.u32 [%rd0+8], %r2;
"""
_NO_CLUSTER = """\
    mov.u32 %r2, 1;
    st.global.u32 [%rd0+0], %r2;
    st.global.u32 [%rd0+4], %r2;
    st.global.u32 [%rd0+8], %r2;
"""
#: The first thread writes; two kernels of this text differ in one constant, the code that they report.
_KERNEL = """
.visible .entry {name}(.param .u64 report, .param .u32 value)
{{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<1>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    or.b32 %r0, %r0, %r1;
    setp.ne.u32 %p, %r0, 0;
    @%p bra done;
    ld.param.u64 %rd0, [report];
    cvta.to.global.u64 %rd0, %rd0;
{cluster}\
    mov.u32 %r2, %nctaid.x;
    st.global.u32 [%rd0+12], %r2;
    mov.u32 %r2, %nctaid.y;
    st.global.u32 [%rd0+16], %r2;
    mov.u32 %r2, %nctaid.z;
    st.global.u32 [%rd0+20], %r2;
    mov.u32 %r2, %dynamic_smem_size;
    st.global.u32 [%rd0+24], %r2;
    ld.param.u32 %r2, [value];
    st.global.u32 [%rd0+28], %r2;
    mov.u32 %r2, {code};
    st.global.u32 [%rd0+32], %r2;
done:
    ret;
}}
"""


class Report(NamedTuple):
    """What a kernel saw of its own launch."""

    #: Blocks per cluster; 1, 1, 1 without a cluster, or on a device that has none.
    cluster_dim: tuple[int, int, int]
    grid_dim: tuple[int, int, int]
    dynamic_shared_mem_bytes: int
    #: Its second argument.
    value: int
    #: Which of the kernels ran.
    code: int


def probe_ptx(kernels: dict[str, int], *, clusters: bool) -> bytes:
    """Return PTX of reporting kernels.

    Parameters
    ----------
    kernels
        Name of each and the code that it reports. Parameters: the report's address (64 bits), a value (32 bits).
    clusters
        Whether to report the cluster, which needs compute capability 9.0; else 7.0 is enough.
    """
    version, target = ("7.8", "sm_90") if clusters else ("6.3", "sm_70")
    cluster = _CLUSTER if clusters else _NO_CLUSTER
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    return (
        head + "".join(_KERNEL.format(name=name, code=code, cluster=cluster) for name, code in kernels.items())
    ).encode()


def parse_report(data: bytes) -> Report:
    """Return the report that a kernel wrote."""
    cluster_x, cluster_y, cluster_z, x, y, z, shared, value, code = _WORDS.unpack(data)
    return Report((cluster_x, cluster_y, cluster_z), (x, y, z), shared, value, code)
