from sigcontract.driver.reading.attribute_values import (
    ATTRIBUTE_CUDA_VERSION as ATTRIBUTE_CUDA_VERSION,
)
from sigcontract.driver.reading.attribute_values import (
    encode_attribute as encode_attribute,
)
from sigcontract.driver.reading.attribute_values import (
    used_bytes as used_bytes,
)
from sigcontract.driver.reading.graph import (
    read_graph as read_graph,
)
from sigcontract.driver.reading.live_profile import (
    profile_id as profile_id,
)
from sigcontract.driver.reading.live_profile import (
    read_profile as read_profile,
)
from sigcontract.driver.reading.process_environment import (
    display_driver_version as display_driver_version,
)
from sigcontract.driver.reading.process_environment import (
    environment as environment,
)
