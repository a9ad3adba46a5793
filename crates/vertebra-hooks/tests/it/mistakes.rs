//! What the compiler tells somebody who holds the hooks wrong.

#[test]
fn every_typical_mistake_is_told_by_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
