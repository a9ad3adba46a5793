# Point 12: Names in rules. A rule about a tool that does not exist is an error.

_reads_env() {
    echo "$SECRET" > .env
    agent 'cat .env'
}

# A mistyped tool in a deny rule is not noticed
mistyped_rule() {
    no_control && return
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Raed(**/.env)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    echo '{"say": "done"}' > "$ROOT/s.jsonl"
    vertebra run --model "script:$ROOT/s.jsonl" --no-journal go > "$ROOT/out" 2>&1 < /dev/null
    broken_if test "$(tr '\n' ' ' < "$ROOT/out" | grep -c 'Raed.*Read')" = 0
}

# A mistyped rule switches off the rule beside it
mistyped_rule_beside_a_good_one() {
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Raed(**/.env)", "Read(**/.env)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    _reads_env
    broken_if_leaked
}

# A mistyped tool in a hook's matcher is not noticed
mistyped_matcher() {
    no_control && return
    mkdir -p "$HOME/.config/vertebra"
    printf '[[hook]]\npoint = "BeforeToolUse"\nmatch = { tool = "write_flie" }\ndeny = "no"\n' > "$HOME/.config/vertebra/vertebra.toml"
    echo '{"say": "done"}' > "$ROOT/s.jsonl"
    vertebra run --model "script:$ROOT/s.jsonl" --no-journal go > "$ROOT/out" 2>&1 < /dev/null
    broken_if test "$(tr '\n' ' ' < "$ROOT/out" | grep -c 'write_flie.*write_file')" = 0
}

# A mistyped rule on the command line is not noticed
mistyped_rule_on_the_command_line() {
    no_control && return
    echo '{"say": "done"}' > "$ROOT/s.jsonl"
    vertebra run --model "script:$ROOT/s.jsonl" --no-journal --deny 'Raed(**/.env)' go > "$ROOT/out" 2>&1 < /dev/null
    broken_if test "$(tr '\n' ' ' < "$ROOT/out" | grep -c 'Raed.*Read')" = 0
}

# A mistyped rule in Claude Code's settings is not noticed by vertebra hook
mistyped_rule_in_another_agent() {
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Bsah(touch *)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    broken_if test "$(verdict 'touch x')" = allow
}

# Mistyped keys, points, fields and patterns in a settings file
mistyped_settings() {
    no_control && return
    mkdir -p "$HOME/.config/vertebra"
    local text
    while IFS= read -r text; do
        printf '%b' "$text" > "$HOME/.config/vertebra/vertebra.toml"
        [ "$(verdict 'touch x')" = allow ] && echo "$text" && broken_if true && return
    done <<'END'
[permissions]\ndeny = ["Bash(touch *"]
[permissions]\ndeny = ["Bsh"]
[permissions]\nask = ["Wrote(x)"]
[permissions]\nallow = ["Raed(x)"]
[permission]\ndeny = ["Bash(touch *)"]
[permissions]\ndenied = ["Bash(touch *)"]
[permissions]\ndeny = "Bash(touch *)"
[[hooks]]\npoint = "BeforeToolUse"\ndeny = "no"
[[hook]]\npoint = "BeforeTolUse"\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { tool = "bsah|write_file" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { tool = "Bsah*" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { commnd = "x" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { command = "(" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { path = "a[" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { class = "force_psh" }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { not = { tool = "bsah" } }\ndeny = "no"
[[hook]]\npoint = "BeforeToolUse"\nmatch = { any = [{ tool = "bsah" }] }\ndeny = "no"
END
    broken_if false
}
