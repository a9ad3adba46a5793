//! The grammar, within limits.

use std::{cell::RefCell, ops::ControlFlow};

use tree_sitter::{ParseOptions, Parser, Tree};

use super::budget::Budget;

/// What the operations between two reports of the parser cost. It reports after 100 of them.
const PROGRESS: usize = 400;
/// How much text the parser gets at once. Its scanner looks ahead from one token to any later byte, again and again; it has to
/// come back for each piece, which is how that is counted.
const PIECE: usize = 256;

/// Parses a script; none when that takes too much work, or would crash.
pub(super) fn parse(text: &str, budget: &mut Budget<'_>) -> Option<Tree> {
    if crashes_the_grammar(text) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let budget = RefCell::new(budget);
    let mut within_limits = |_: &tree_sitter::ParseState| {
        if budget.borrow_mut().spend(PROGRESS) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut read = |at: usize, _| {
        // A text that ends early ends every search in it; the next report stops the parser.
        let enough = budget.borrow_mut().spend(PIECE / 4);
        let rest = text.as_bytes().get(at..).filter(|_| enough).unwrap_or_default();
        &rest[..rest.len().min(PIECE)]
    };
    let options = ParseOptions::new().progress_callback(&mut within_limits);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| !budget.borrow().is_over())
}

/// The scanner of the grammar asks C's `isdigit` about the character behind `{1` and `{1..2`, and that reads beyond its
/// table if the character is not a single byte.
fn crashes_the_grammar(text: &str) -> bool {
    let behind_digits = |text: &'_ str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_no_byte = |text: &str| text.starts_with(|c: char| c > '\u{ff}');
    text.split('{').skip(1).any(|range| {
        let first = &range[behind_digits(range)..];
        let second = first.strip_prefix("..").map_or(first, |last| &last[behind_digits(last)..]);
        is_no_byte(first) || is_no_byte(second)
    })
}

#[cfg(test)]
mod tests {
    use vertebra::testing::FakeClock;

    use super::*;

    #[test]
    fn no_character_behind_a_brace_crashes_the_grammar() {
        let clock = FakeClock::new();
        let parse = |text: &str| parse(text, &mut Budget::new(text.len(), &clock));
        for text in ["echo {\u{10ffff}", "echo {1\u{10ffff}", "echo {1..\u{10ffff}", "echo {1..23\u{10ffff}}"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(parse("echo {1..2} 你好 {a,b} {é").is_some());
    }
}
