"""PTX of kernels that report their launch.

Only a kernel's own special registers prove how it was launched: after an update that the driver accepted but did not
apply, the profiler's activity record named the new cluster (measured, H200, driver 580.159.04). The driver compiles PTX
itself, so no toolkit is needed.
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
#: The first thread writes; two kernels of this text differ only in the constant they report.
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
    """A kernel's launch as it observed it."""

    #: Blocks per cluster; 1, 1, 1 without a cluster, or on a device without clusters.
    cluster_dim: tuple[int, int, int]
    grid_dim: tuple[int, int, int]
    dynamic_shared_mem_bytes: int
    #: Its second argument.
    value: int
    #: Constant of the kernel that ran.
    code: int


def probe_ptx(kernels: dict[str, int], *, clusters: bool) -> bytes:
    """Return PTX of reporting kernels.

    Parameters
    ----------
    kernels
        Kernel names and the constants they report. Parameters: the report's address (64 bits), a value (32 bits).
    clusters
        Whether to report the cluster (compute capability 9.0); otherwise 7.0 suffices.
    """
    version, target = ("7.8", "sm_90") if clusters else ("6.3", "sm_70")
    cluster = _CLUSTER if clusters else _NO_CLUSTER
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    return (
        head + "".join(_KERNEL.format(name=name, code=code, cluster=cluster) for name, code in kernels.items())
    ).encode()


def parse_report(data: bytes) -> Report:
    """Decode the report that a kernel wrote."""
    cluster_x, cluster_y, cluster_z, x, y, z, shared, value, code = _WORDS.unpack(data)
    return Report((cluster_x, cluster_y, cluster_z), (x, y, z), shared, value, code)
