from sigcontract.profiles.shipped import (
    PROFILES as PROFILES,
    check_profile as check_profile,
    named_profile as named_profile,
    shipped_profile as shipped_profile,
)
