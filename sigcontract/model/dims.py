"""Dimensions of a launch."""

from typing import Annotated

from msgspec import Meta

from sigcontract.model.record import Record

__all__ = ["Dim3"]

_Extent = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class Dim3(Record, frozen=True, kw_only=True):
    """Three extents, as CUDA's ``dim3``."""

    x: Annotated[_Extent, Meta(description="Extent along x.")]
    y: Annotated[_Extent, Meta(description="Extent along y.")]
    z: Annotated[_Extent, Meta(description="Extent along z.")]

    def __str__(self) -> str:
        return f"{self.x}x{self.y}x{self.z}"
