from sigcontract.profiles.shipped import (
    PROFILES as PROFILES,
)
from sigcontract.profiles.shipped import (
    check_profile as check_profile,
)
from sigcontract.profiles.shipped import (
    named_profile as named_profile,
)
from sigcontract.profiles.shipped import (
    shipped_profile as shipped_profile,
)
