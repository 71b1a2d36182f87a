"""What one driver and device can read, apply and keep stale."""

from typing import Annotated, Literal

from msgspec import Meta

from sigcontract.model.attributes import check_attribute_order
from sigcontract.model.record import Record, Text, UInt32

__all__ = ["Answer", "AttributeProfile", "DriverProfile", "UpdateEffect"]

#: ``unknown`` is an answer of its own: it was not measured, or could not be.
Answer = Literal["yes", "no", "unknown"]

#: What cuGraphExecUpdate does with a changed value: carries it, keeps the old one and reports SUCCESS, refuses.
UpdateEffect = Literal["applied", "stale", "rejected", "unknown"]


class AttributeProfile(Record, frozen=True, kw_only=True):
    """How one launch attribute behaves on this driver and device."""

    id: Annotated[UInt32, Meta(description="CUlaunchAttributeID.")]
    readable: Annotated[Answer, Meta(description="cuGraphKernelNodeGetAttribute gives it.")]
    settable: Annotated[Answer, Meta(description="cuGraphKernelNodeSetAttribute, or a captured launch, takes it.")]
    becomes_edge: Annotated[Answer, Meta(description="A captured launch carries it as edge data, not as attribute.")]
    has_effect: Annotated[Answer, Meta(description="It changes what this device does. no: it cannot be stale here.")]
    update: Annotated[UpdateEffect, Meta(description="What cuGraphExecUpdate does with a changed value.")]
    note: Annotated[Text, Meta(description="How it was measured, or why it is unknown.")]


class DriverProfile(Record, frozen=True, kw_only=True):
    """The measured behaviour of one driver on one device. Other drivers may differ."""

    id: Annotated[Text, Meta(description="As nvidia-h200-cuda-13.0.")]
    cuda_driver_version: Annotated[UInt32, Meta(description="cuDriverGetVersion, as 13000.")]
    display_driver_version: Annotated[Text | None, Meta(description="As 580.159.04.")]
    device_name: Annotated[Text, Meta(description="cuDeviceGetName.")]
    compute_capability_major: Annotated[UInt32, Meta(description="Compute capability, major.")]
    compute_capability_minor: Annotated[UInt32, Meta(description="Compute capability, minor.")]
    measured_on: Annotated[Text, Meta(description="Date, ISO 8601.")]
    attributes: Annotated[tuple[AttributeProfile, ...], Meta(description="Ascending by id, each once.")]
    cluster_fixed_at: Annotated[
        Literal["first_launch", "instantiation", "never", "unknown"],
        Meta(description="When an exec's effective cluster dimension stops following updates."),
    ]
    cooperative_function_update: Annotated[
        UpdateEffect, Meta(description="A cooperative node whose function alone changes.")
    ]
    update_rule: Annotated[
        Literal["cuda-13.0", "unknown"],
        Meta(description="The rule of pairing and refusal that this driver was seen to follow."),
    ]

    def __post_init__(self) -> None:
        check_attribute_order([entry.id for entry in self.attributes], "$.attributes")

    def attribute(self, attribute_id: int) -> AttributeProfile | None:
        """Return the entry of that CUlaunchAttributeID, or None where it was not measured."""
        for entry in self.attributes:
            if entry.id == attribute_id:
                return entry
        return None
