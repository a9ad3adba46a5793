# Point 8: Patterns. Patterns that are expensive to compile or to match delay nobody.

# Ends a probe: the call was allowed, or the answer took longer than the shortest host waits.
_too_slow() {
    local begin=$SECONDS
    broken_if test "$(verdict "$1")" = allow -o $((SECONDS - begin)) -gt 9
}

_settings() { mkdir -p "$HOME/.config/vertebra"; cat > "$HOME/.config/vertebra/vertebra.toml"; }

# Two hundred expressions that are expensive to compile
expensive_expressions() {
    no_control && return
    for at in $(seq 200); do
        printf '[[hook]]\npoint = "BeforeToolUse"\nmatch = { command = "(\\\\pL{%d}){90}x%d" }\ndeny = "no"\n' "$at" "$at"
    done | _settings
    _too_slow 'touch x'
}

# Expressions in every field of a matcher, each near the limit of its size
expressions_in_all_fields() {
    no_control && return
    for at in $(seq 40); do
        for field in tool program domain command; do
            printf '[[hook]]\npoint = "BeforeToolUse"\nmatch = { %s = "/(a|b|%d){900}(\\\\w{50}){20}/" }\ndeny = "no"\n' $field "$at"
        done
    done | _settings
    _too_slow 'touch x'
}

# Rules with many stars, and a long command that nearly matches
rules_with_many_stars() {
    no_control && return
    printf '[permissions]\ndeny = ["Bash(%sb)", "Read(**/**/**/**/**/**/*%s/x)", "Bash(touch *)"]\n' "$(printf '*a%.0s' $(seq 400))" \
        "$(printf 'a*%.0s' $(seq 200))" | _settings
    _too_slow "touch $(printf 'a%.0s' $(seq 60000))"
}

# Rules with nested alternatives
rules_with_alternatives() {
    no_control && return
    nested='{a,b}'; while [ ${#nested} -lt 400 ]; do nested="{$nested,$nested}"; done
    printf '[permissions]\ndeny = ["Read(%s)", "Edit(%s/%s)", "Bash(touch *)"]\n' "$nested" '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}' "${nested:0:8}" | _settings
    _too_slow 'touch x'
}
