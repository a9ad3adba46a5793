# Point 9: Timeouts of hosts. A hook that never answers is a no before the host gives up.

_silent() {
    no_control && return
    mkdir -p "$HOME/.config/vertebra"
    printf '[[hook]]\nname = "slow"\npoint = "BeforeToolUse"\nrole = "guard"\nmatch = { tool = "bash" }\ntimeout = "600s"\nrun = { command = "%s" }\n' "$1" \
        > "$HOME/.config/vertebra/vertebra.toml"
    local begin=$SECONDS
    broken_if test "$(verdict 'touch x')" = allow -o $((SECONDS - begin)) -gt 60
}

# A hook sleeps for ten minutes
silent_hook() {
    _silent 'sleep 600'
}

# A hook ignores all signals and prints without end
hook_without_end() {
    _silent "trap '' TERM INT; yes"
}

# A policy of nine thousand expensive patterns, which take longer to compile than the host waits
patterns_past_the_deadline() {
    no_control && return
    mkdir -p "$HOME/.config/vertebra"
    for at in $(seq 9000); do
        printf '[[hook]]\npoint="BeforeToolUse"\nmatch={command="^x%d(\\\\w{2}|\\\\d){9}$"}\ndeny="no"\n' "$at"
    done > "$HOME/.config/vertebra/vertebra.toml"
    local begin=$SECONDS
    broken_if test "$(verdict 'touch x')" = allow -o $((SECONDS - begin)) -gt 59
}
