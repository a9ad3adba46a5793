# Point 7: Judging under a deadline. A line that is hard to judge is denied in time.

_slow() {
    no_control && return
    local event
    event=$(printf '{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": %s, "tool_name": "Bash", "tool_input": {"command": %s}}' \
        "$(json "$PROJECT")" "$(json "$1")")
    printf '%s' "$event" > "$ROOT/event"
    # The limit of the shortest host is ten seconds.
    timeout 10 vertebra hook --host claude-code < "$ROOT/event" > "$ROOT/answer" 2>&1
    local code=$?
    broken_if test $code -ge 124
}

_times() {
    local text
    printf -v text "%$2s"
    printf '%s' "${text// /$1}"
}

# A line of nested braces
nested_braces() {
    _slow "echo $(_times '{a,' 3000)$(_times '}' 3000); touch x"
}

# A line of braces that repeat
repeated_braces() {
    _slow "echo $(_times '{1..9}' 1500); touch x"
}

# A line of open braces
open_braces() {
    _slow "echo $(_times '{' 9000); touch x"
}

# A line of nested substitutions
nested_substitutions() {
    _slow "echo $(_times '$(echo ' 1500)x$(_times ')' 1500); touch x"
}

# A line of nested defaults
nested_defaults() {
    _slow "echo $(_times '${x:-' 10000)$(_times '}' 10000); touch x"
}

# A line of nested quoted defaults
nested_quoted_defaults() {
    _slow "echo $(_times '"${x:-' 8000)$(_times '}"' 8000); touch x"
}

# A line of many pipes with large variables
pipes_with_variables() {
    _slow "x=$(_times a 4000); $(_times 'a=$x$x; true | ' 400) touch x"
}

# A line of nested loops
nested_loops() {
    _slow "$(_times 'for i in 1 2 3 4 5 6 7 8; do ' 30) touch x; $(_times 'done; ' 30)"
}

# A line of backquotes that never end
open_backquotes() {
    _slow "echo $(_times '`' 5001) touch x"
}

# A line of nested functions
nested_functions() {
    _slow "$(for n in $(seq 60); do printf 'f%d() { f%d; f%d; }; ' "$n" "$((n + 1))" "$((n + 1))"; done) f1; touch x"
}

# Lines of other kinds, each long: arithmetic, choices, replacements, aliases, redirections, functions and wrappers
further_lines() {
    no_control && return
    local lines=(
        "echo $(_times '$((1+' 2000)1$(_times '))' 2000); touch x"
        "$(_times 'case x in x) ' 1500) touch x $(_times ';; esac ' 1500)"
        "shopt -s extglob; ls $(_times '+(a|' 1500)b$(_times ')' 1500); touch x"
        "x=$(_times a 5000); echo $(_times '${x//a*a*a/b}' 500); touch x"
        "$(for n in $(seq 300); do printf 'alias a%d="a%d a%d"; ' "$n" "$((n + 1))" "$((n + 1))"; done) a1; touch x"
        "a=xxxxxxxxxx; $(_times 'a=$a$a;' 40) touch x"
        "touch x $(_times '>a ' 20000)"
        "$(_times 'sudo env nice ' 3000) touch x"
        "$(_times 'xargs ' 4000) touch"
        "cat $(_times '<(cat ' 2000)x$(_times ')' 2000); touch x"
        "$(_times '{ ' 8000) touch x; $(_times '}; ' 8000)"
    )
    for line in "${lines[@]}"; do
        case $(_slow "$line") in HELD) ;; *) echo "${line:0:60}"; broken_if true; return ;; esac
    done
    broken_if false
}
