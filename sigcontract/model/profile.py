"""What one driver and device read, apply and keep stale."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.attributes import check_attribute_order
from sigcontract.model.record import Record, Text, UInt32

__all__ = ["Answer", "AttributeProfile", "DriverProfile", "UpdateEffect"]

#: ``unknown``: not measured, or not measurable.
Answer = Literal["yes", "no", "unknown"]

#: What cuGraphExecUpdate does with a changed value: applies it, keeps the old one and reports SUCCESS, or rejects.
UpdateEffect = Literal["applied", "stale", "rejected", "unknown"]


class AttributeProfile(Record, frozen=True, kw_only=True):
    """How one launch attribute behaves on this driver and device."""

    id: Annotated[UInt32, Meta(description="CUlaunchAttributeID.")]
    readable: Annotated[Answer, Meta(description="Whether cuGraphKernelNodeGetAttribute returns it.")]
    settable: Annotated[
        Answer, Meta(description="Whether cuGraphKernelNodeSetAttribute or a captured launch accepts it.")
    ]
    becomes_edge: Annotated[
        Answer, Meta(description="Whether a captured launch represents it as edge data instead of an attribute.")
    ]
    has_effect: Annotated[
        Answer, Meta(description="Whether it changes what this device does. no: it cannot become stale here.")
    ]
    update: Annotated[UpdateEffect, Meta(description="What cuGraphExecUpdate does with a changed value.")]
    note: Annotated[Text, Meta(description="How it was measured, or why it is unknown.")]


class DriverProfile(Record, frozen=True, kw_only=True):
    """The measured behaviour of one driver on one device. Other drivers may differ."""

    id: Annotated[Text, Meta(description="Profile id, such as nvidia-h200-cuda-13.0.")]
    cuda_driver_version: Annotated[UInt32, Meta(description="cuDriverGetVersion, such as 13000.")]
    display_driver_version: Annotated[
        Text | None, Meta(description="Display driver version, such as 580.159.04; null if unknown.")
    ]
    device_name: Annotated[Text, Meta(description="cuDeviceGetName.")]
    compute_capability_major: Annotated[UInt32, Meta(description="Compute capability, major.")]
    compute_capability_minor: Annotated[UInt32, Meta(description="Compute capability, minor.")]
    measured_on: Annotated[Text, Meta(description="Date of the measurement, ISO 8601.")]
    attributes: Annotated[
        tuple[AttributeProfile, ...], Meta(description="In ascending order of id, without duplicates.")
    ]
    cluster_fixed_at: Annotated[
        Literal["first_launch", "instantiation", "never", "unknown"],
        Meta(description="When an exec's effective cluster dimension stops following updates."),
    ]
    cooperative_function_update: Annotated[
        UpdateEffect,
        Meta(description="What an update does with a cooperative node of which only the function changes."),
    ]
    update_rule: Annotated[
        Literal["cuda-13.0", "unknown"],
        Meta(description="Measured rule by which this driver pairs nodes and rejects updates."),
    ]

    def __post_init__(self) -> None:
        check_attribute_order([entry.id for entry in self.attributes], "$.attributes")

    def attribute(self, attribute_id: int) -> AttributeProfile | None:
        """Return the entry of that CUlaunchAttributeID, or None if it was not measured."""
        for entry in self.attributes:
            if entry.id == attribute_id:
                return entry
        return None
