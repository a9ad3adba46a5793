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
