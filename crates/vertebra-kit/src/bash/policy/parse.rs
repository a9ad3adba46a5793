//! The grammar, within limits.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

/// How often the parser may report progress. It does so after a fixed amount of work, which makes this a limit that
/// does not depend on the machine. Ordinary commands need none, 100 kB of them a few thousand.
const MAX_PROGRESS: usize = 20_000;

/// Parses a script; none when that takes too much work, or would crash.
pub(super) fn parse(text: &str) -> Option<Tree> {
    if crashes_the_grammar(text) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut progress = 0;
    let mut within_limits = |_: &tree_sitter::ParseState| {
        progress += 1;
        if progress > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut within_limits);
    parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
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
    use super::*;

    #[test]
    fn no_character_behind_a_brace_crashes_the_grammar() {
        for text in ["echo {\u{10ffff}", "echo {1\u{10ffff}", "echo {1..\u{10ffff}", "echo {1..23\u{10ffff}}"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(parse("echo {1..2} 你好 {a,b} {é").is_some());
    }
}
