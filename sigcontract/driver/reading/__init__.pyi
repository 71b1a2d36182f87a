from sigcontract.driver.reading.allocations import (
    AllocatorBlocks as AllocatorBlocks,
)
from sigcontract.driver.reading.attribute_values import (
    ATTRIBUTE_CUDA_VERSION as ATTRIBUTE_CUDA_VERSION,
    encode_attribute as encode_attribute,
    used_bytes as used_bytes,
)
from sigcontract.driver.reading.graph import (
    read_graph as read_graph,
)
from sigcontract.driver.reading.live_profile import (
    profile_id as profile_id,
    read_profile as read_profile,
)
from sigcontract.driver.reading.process_environment import (
    display_driver_version as display_driver_version,
    environment as environment,
)
