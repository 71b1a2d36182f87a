"""Lines of tables and keys in TOML."""

import pytest

from sigcontract.contract.lines import TomlLines

TEXT = '''\
version = 1 # a comment
"quoted" . key = 2

[[graph]]
label = """
[[graph]]
label = "not a key"
"""
[[graph.kernel]]
name = "a"
[[graph.kernel]]
name = 'b'
[graph.rules]
"kernel.grid-dim" = "allow"
[[graph]]
  kernel = [ { name = "c" } ]
[ rules ]
'x' = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$.version", 1),
        ("$.quoted.key", 2),
        ("$.graph[0]", 4),
        ("$.graph[0].label", 5),
        ("$.graph[0].kernel[0].name", 10),
        ("$.graph[0].kernel[1]", 11),
        ("$.graph[0].kernel[1].count", 11),
        ("$.graph[0].rules.kernel.grid-dim", 14),
        ("$.graph[1]", 15),
        ("$.graph[1].kernel[0].name", 16),
        ("$.rules.x", 18),
        ("$.rules.y", 17),
        ("$.nothing", 1),
        ("$", 1),
        ("", 1),
    ],
)
def test_each_path_has_the_line_where_it_stands_or_that_of_what_holds_it(path: str, line: int) -> None:
    assert TomlLines(TEXT).line_of(path) == line
