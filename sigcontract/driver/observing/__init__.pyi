from sigcontract.driver.observing.cupti import (
    loaded_cupti as loaded_cupti,
)
from sigcontract.driver.observing.observations import (
    Observations as Observations,
    in_forked_child as in_forked_child,
)
from sigcontract.driver.observing.session import (
    CodeSource as CodeSource,
    acquire as acquire,
    observable_attributes as observable_attributes,
    observe as observe,
    release as release,
)
