from sigcontract.driver.measuring.profile import (
    measure_profile as measure_profile,
)
from sigcontract.driver.measuring.verify import (
    UpdateVerification as UpdateVerification,
)
from sigcontract.driver.measuring.verify import (
    verify_update as verify_update,
)
