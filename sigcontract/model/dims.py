"""Dimensions of a launch."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model.record import Record, UInt32

__all__ = ["Dim3"]


class Dim3(Record, frozen=True, kw_only=True):
    """Three extents, as CUDA's ``dim3``."""

    x: Annotated[UInt32, Meta(description="Extent along x.")]
    y: Annotated[UInt32, Meta(description="Extent along y.")]
    z: Annotated[UInt32, Meta(description="Extent along z.")]

    def __str__(self) -> str:
        return f"{self.x}x{self.y}x{self.z}"
