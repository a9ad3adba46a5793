//! How the program itself is built.

/// `ET_DYN`: the kernel chooses where such a program lies.
const POSITION_INDEPENDENT: u16 = 3;

#[test]
fn the_program_is_position_independent_and_its_c_parts_guard_their_stack() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_vertebra")).expect("the program");

    assert_eq!(program[..4], *b"\x7fELF");
    assert_eq!(u16::from_le_bytes([program[16], program[17]]), POSITION_INDEPENDENT);
    let called_when_the_stack_is_overrun = b"__stack_chk_fail\0";
    assert!(
        program.windows(called_when_the_stack_is_overrun.len()).any(|name| name == called_when_the_stack_is_overrun)
    );
}
