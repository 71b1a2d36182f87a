from sigcontract.update.arguments import (
    argument_unknowns as argument_unknowns,
)
from sigcontract.update.arrangement import (
    NodeOrder as NodeOrder,
    StructureUndecided as StructureUndecided,
    compact_portable_form as compact_portable_form,
    portable_order as portable_order,
)
from sigcontract.update.attributes import (
    ABSENT as ABSENT,
    Difference as Difference,
    Effects as Effects,
    attribute_path as attribute_path,
    by_rule as by_rule,
)
from sigcontract.update.changes import (
    corresponding_changes as corresponding_changes,
    is_of_function as is_of_function,
    node_changes as node_changes,
)
from sigcontract.update.exec_state import (
    ExecState as ExecState,
)
from sigcontract.update.field_rules import (
    field_differences as field_differences,
)
from sigcontract.update.function_changes import (
    SETTINGS as SETTINGS,
    is_durable as is_durable,
)
from sigcontract.update.gone import (
    GonePointer as GonePointer,
    gone_pointers as gone_pointers,
)
from sigcontract.update.grouping import (
    Group as Group,
    Grouping as Grouping,
    distinct_nodes as distinct_nodes,
    unprovable as unprovable,
)
from sigcontract.update.groups import (
    MEMORY_SOURCE as MEMORY_SOURCE,
    gaps as gaps,
    group_dumps as group_dumps,
)
from sigcontract.update.kernels import (
    NodeJudge as NodeJudge,
)
from sigcontract.update.labels import (
    by_label as by_label,
    no_graph as no_graph,
)
from sigcontract.update.launchable import (
    unlaunchable as unlaunchable,
)
from sigcontract.update.long_texts import (
    bounded as bounded,
    fitting as fitting,
    fitting_values as fitting_values,
)
from sigcontract.update.pairing import (
    NodeRefusal as NodeRefusal,
    body_pairs as body_pairs,
    is_device_updatable as is_device_updatable,
    subject_of as subject_of,
)
from sigcontract.update.policies import (
    GROUPING_POLICIES as GROUPING_POLICIES,
    POLICIES as POLICIES,
    SHARE_UPDATABLE as SHARE_UPDATABLE,
    blocks_sharing as blocks_sharing,
    check_policy as check_policy,
    first_come_policy as first_come_policy,
    is_unproven as is_unproven,
    judged_key as judged_key,
    judged_same as judged_same,
    key as key,
    same as same,
)
from sigcontract.update.predict import (
    MAX_ALSO as MAX_ALSO,
    finding_of as finding_of,
    judged_update as judged_update,
    predict_update as predict_update,
)
from sigcontract.update.rules import (
    RULES as RULES,
    Rule as Rule,
)
from sigcontract.update.shared_layouts import (
    SharedLayouts as SharedLayouts,
    node_content as node_content,
)
from sigcontract.update.similarity import (
    similarity_key as similarity_key,
)
from sigcontract.update.single_exec import (
    single_exec_finding as single_exec_finding,
    sole_exec as sole_exec,
)
from sigcontract.update.structure import (
    Reordering as Reordering,
    is_chain as is_chain,
    node_order as node_order,
    reordered as reordered,
)
from sigcontract.update.undetermined import (
    WITHOUT_VALUE as WITHOUT_VALUE,
    is_difference as is_difference,
)
from sigcontract.update.updatable import (
    FirstCome as FirstCome,
    fewest_executables as fewest_executables,
)
from sigcontract.update.words import (
    argument_words as argument_words,
)
