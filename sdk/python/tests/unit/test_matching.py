"""When hooks run, as far as that is known without a server."""

import pytest

from vertebra import HookError, HookMatcher
from vertebra.glob import path_regex, tool_regex
from vertebra.matching import holds


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("bash", "Bash", True),
        ("bash", "bashful", False),
        ("bash", "my_bash", False),
        ("edit | write", "write", True),
        ("read_*", "read_file", True),
        ("read_*", "spread_file", False),
        ("*", "anything", True),
        ("/read|write/", "write", True),
        ("/read|write/", "write_file", False),
        ("*.{ts,js}", "a.ts", True),
    ],
)
def test_a_tool_pattern_is_anchored_and_blind_to_case(pattern, name, expected):
    assert bool(tool_regex(pattern).fullmatch(name)) is expected


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.rs", "/repo/src/deep/lib.rs", True),
        ("*.rs", "lib.rs", True),
        ("src/*.rs", "src/lib.rs", True),
        ("src/*.rs", "src/deep/lib.rs", False),
        ("src/**/*.ts", "src/a/b/c.ts", True),
        ("src/**/*.ts", "src/c.ts", True),
        ("**/.env", "/repo/.env", True),
        ("**", "/anything/at/all", True),
        ("*foo*", "a/xfoox", True),
        ("*.{ts,js}", "a/b.js", True),
        ("src/a+b.rs", "src/a+b.rs", True),
        ("./src/a.rs", "src/a.rs", True),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/etc/ssh/key", False),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", False),
    ],
)
def test_a_path_glob_keeps_to_folders_unless_told_otherwise(glob, path, expected):
    assert bool(path_regex(glob).fullmatch(path)) is expected


CALL = {
    "session_id": "session-1",
    "tool": "Bash",
    "args": {"command": "cd /tmp && rm -rf build", "cwd": "./src/../lib", "more": [{"file_path": "a.rs"}]},
    "working_directory": "/repo",
}


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        (None, True),
        (HookMatcher.new(), True),
        (HookMatcher.tool("bash"), True),
        (HookMatcher.tool("Write"), False),
        (HookMatcher.command(r"rm\s+-rf"), True),
        (HookMatcher.command(r"^rm"), False),
        (HookMatcher.path("lib"), True),
        (HookMatcher.path("/repo/lib"), True),
        (HookMatcher.path("*.rs"), True),
        (HookMatcher.path("src/**"), False),
        (HookMatcher.session("session-1"), True),
        (HookMatcher.session("session-12"), False),
        (HookMatcher.tool("Bash").with_command("rm").with_session("session-1").with_path("*.rs"), True),
        (HookMatcher.tool("Bash").with_command("rm").with_session("another"), False),
    ],
)
def test_all_that_a_matcher_asks_for_has_to_hold(matcher, expected):
    assert holds(matcher, CALL) is expected


def test_a_pattern_that_is_none_is_an_error_where_it_is_written():
    with pytest.raises(HookError, match="invalid pattern"):
        HookMatcher.command("rm (")
    with pytest.raises(HookError, match="a matcher has no `pathpattern`; did you mean `path_pattern`"):
        HookMatcher.from_dict({"pathpattern": "*"})  # pyright: ignore[reportArgumentType]
