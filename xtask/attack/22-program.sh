# Point 22: The program. An overrun in a part written in C is hard to use.

# The program lies at a fixed address
fixed_address() {
    no_control && return
    broken_if test "$(head -c 18 "$(command -v vertebra)" | tail -c 2 | od -An -tu2 | tr -d ' ')" != 3
}

# The parts written in C do not guard their stack
stack_guard() {
    no_control && return
    broken_if test "$(grep -c __stack_chk_fail "$(command -v vertebra)")" = 0
}

# The stack can be executed, or the tables of functions can be written
writable_tables() {
    no_control && return
    lacks readelf && return
    program=$(command -v vertebra)
    readelf -lW "$program" > "$ROOT/segments"; readelf -dW "$program" > "$ROOT/dynamic"
    broken_if test "$(grep -cE 'GNU_STACK.*RWE|LOAD.*RWE' "$ROOT/segments")" != 0 -o "$(grep -c GNU_RELRO "$ROOT/segments")" = 0 \
        -o "$(grep -cE 'NOW' "$ROOT/dynamic")" = 0
}
