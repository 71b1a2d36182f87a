from sigcontract.driver.observing.cupti import (
    loaded_cupti as loaded_cupti,
)
from sigcontract.driver.observing.observations import (
    Observations as Observations,
)
from sigcontract.driver.observing.observations import (
    in_forked_child as in_forked_child,
)
from sigcontract.driver.observing.session import (
    CodeSource as CodeSource,
)
from sigcontract.driver.observing.session import (
    acquire as acquire,
)
from sigcontract.driver.observing.session import (
    observable_attributes as observable_attributes,
)
from sigcontract.driver.observing.session import (
    observe as observe,
)
from sigcontract.driver.observing.session import (
    release as release,
)
