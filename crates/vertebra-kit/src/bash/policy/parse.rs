//! The grammar, within limits.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

/// How often the parser may report progress. It does so after a fixed amount of work, which makes this a limit that
/// does not depend on the machine. Ordinary commands need none, 100 kB of them a few thousand.
const MAX_PROGRESS: usize = 20_000;

/// Parses a script; none when that takes too much work.
pub(super) fn parse(text: &str) -> Option<Tree> {
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
