from sigcontract.report.argument_rows import (
    GraphArguments as GraphArguments,
    argument_lines as argument_lines,
    gone_lines as gone_lines,
    recorded_line as recorded_line,
)
from sigcontract.report.change_words import (
    node_index as node_index,
)
from sigcontract.report.contract_text import (
    check_text as check_text,
)
from sigcontract.report.dump_view import (
    DumpViewer as DumpViewer,
)
from sigcontract.report.github import (
    diff_github as diff_github,
)
from sigcontract.report.golden_text import (
    disagreement_text as disagreement_text,
)
from sigcontract.report.graph_summary import (
    kernels_of as kernels_of,
    summary_lines as summary_lines,
    usual_attributes as usual_attributes,
)
from sigcontract.report.graph_table import (
    graph_lines as graph_lines,
)
from sigcontract.report.groups_text import (
    render_groups as render_groups,
)
from sigcontract.report.html_check import (
    check_html as check_html,
)
from sigcontract.report.html_diff import (
    RanksPage as RanksPage,
    diff_html as diff_html,
)
from sigcontract.report.html_fleet import (
    fleet_html as fleet_html,
)
from sigcontract.report.html_groups import (
    groups_html as groups_html,
)
from sigcontract.report.html_profile import (
    profile_html as profile_html,
)
from sigcontract.report.html_show import (
    show_html as show_html,
)
from sigcontract.report.markdown import (
    diff_markdown as diff_markdown,
)
from sigcontract.report.names import (
    demangle as demangle,
    is_too_long as is_too_long,
    safe as safe,
    shortened as shortened,
    shortened_distinctly as shortened_distinctly,
)
from sigcontract.report.node_rows import (
    FunctionNumbers as FunctionNumbers,
    NodeRow as NodeRow,
    rows as rows,
)
from sigcontract.report.node_table import (
    folded_rows as folded_rows,
    table_lines as table_lines,
)
from sigcontract.report.outcome import (
    Outcome as Outcome,
)
from sigcontract.report.outputs import (
    OUTPUTS as OUTPUTS,
)
from sigcontract.report.phrases import (
    counted as counted,
    programmatic_edges as programmatic_edges,
)
from sigcontract.report.prediction_text import (
    render_prediction as render_prediction,
)
from sigcontract.report.profile_table import (
    profile_lines as profile_lines,
)
from sigcontract.report.query_table import (
    query_text as query_text,
)
from sigcontract.report.ranks_markdown import (
    fleet_markdown as fleet_markdown,
)
from sigcontract.report.ranks_text import (
    fleet_text as fleet_text,
    gap_lines as gap_lines,
    ranks_head as ranks_head,
)
from sigcontract.report.text import (
    diff_text as diff_text,
)
