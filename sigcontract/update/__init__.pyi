from sigcontract.update.attributes import (
    ABSENT as ABSENT,
)
from sigcontract.update.attributes import (
    Difference as Difference,
)
from sigcontract.update.attributes import (
    Effects as Effects,
)
from sigcontract.update.attributes import (
    attribute_path as attribute_path,
)
from sigcontract.update.attributes import (
    by_rule as by_rule,
)
from sigcontract.update.field_rules import (
    field_differences as field_differences,
)
from sigcontract.update.groups import (
    MEMORY_SOURCE as MEMORY_SOURCE,
)
from sigcontract.update.groups import (
    DumpGap as DumpGap,
)
from sigcontract.update.groups import (
    GraphName as GraphName,
)
from sigcontract.update.groups import (
    NearMiss as NearMiss,
)
from sigcontract.update.groups import (
    PolicyGroups as PolicyGroups,
)
from sigcontract.update.groups import (
    gaps as gaps,
)
from sigcontract.update.groups import (
    group_dumps as group_dumps,
)
from sigcontract.update.kernels import (
    NodeJudge as NodeJudge,
)
from sigcontract.update.labels import (
    by_label as by_label,
)
from sigcontract.update.labels import (
    no_graph as no_graph,
)
from sigcontract.update.pairing import (
    NodeRefusal as NodeRefusal,
)
from sigcontract.update.pairing import (
    body_pairs as body_pairs,
)
from sigcontract.update.pairing import (
    is_device_updatable as is_device_updatable,
)
from sigcontract.update.pairing import (
    subject_of as subject_of,
)
from sigcontract.update.policies import (
    POLICIES as POLICIES,
)
from sigcontract.update.policies import (
    SETTINGS as SETTINGS,
)
from sigcontract.update.policies import (
    blocks_sharing as blocks_sharing,
)
from sigcontract.update.policies import (
    check_policy as check_policy,
)
from sigcontract.update.policies import (
    is_durable as is_durable,
)
from sigcontract.update.policies import (
    is_unproven as is_unproven,
)
from sigcontract.update.policies import (
    judged_key as judged_key,
)
from sigcontract.update.policies import (
    judged_same as judged_same,
)
from sigcontract.update.policies import (
    key as key,
)
from sigcontract.update.policies import (
    same as same,
)
from sigcontract.update.predict import (
    MAX_ALSO as MAX_ALSO,
)
from sigcontract.update.predict import (
    finding_of as finding_of,
)
from sigcontract.update.predict import (
    judged_update as judged_update,
)
from sigcontract.update.predict import (
    predict_update as predict_update,
)
from sigcontract.update.rules import (
    RULES as RULES,
)
from sigcontract.update.rules import (
    Rule as Rule,
)
from sigcontract.update.similarity import (
    similarity_key as similarity_key,
)
from sigcontract.update.undetermined import (
    WITHOUT_VALUE as WITHOUT_VALUE,
)
from sigcontract.update.undetermined import (
    is_difference as is_difference,
)
