//! The grammar, within limits.

use std::{cell::RefCell, ops::ControlFlow};

use tree_sitter::{ParseOptions, Parser, Tree};

use super::budget::Budget;

/// What the operations between two reports of the parser cost. It reports after 100 of them.
const PROGRESS: usize = 400;
/// How much text the parser gets at once. Its scanner looks ahead from one token to any later byte, again and again; it has to
/// come back for each piece, which is how that is counted.
const PIECE: usize = 256;

/// How many pipes a script may have. The time that the parser takes for a pipeline grows with the square of its length, and
/// it cannot be stopped there.
const MAX_PIPES: usize = 1500;

/// Parses a script; none when that takes too much work, or would crash.
pub(super) fn parse(text: &str, budget: &mut Budget<'_>) -> Option<Tree> {
    if crashes_the_grammar(text) {
        return None;
    }
    if text.len() > MAX_PIPES && pipes(text) > MAX_PIPES {
        budget.exhaust();
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let budget = RefCell::new(budget);
    let mut within_limits = |_: &tree_sitter::ParseState| {
        if budget.borrow_mut().spend(PROGRESS) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut read = |at: usize, _| {
        // A text that ends early ends every search in it; the next report stops the parser. A piece ends with a whole
        // character: the parser crashes if a text ends in the middle of one.
        let enough = budget.borrow_mut().spend(PIECE / 4);
        if !enough || at > text.len() {
            ""
        } else if at == text.len() {
            // A line that does not end costs the parser much more than one that does.
            "\n"
        } else {
            text.get(at..text.floor_char_boundary(at + PIECE)).unwrap_or_default()
        }
    };
    let options = ParseOptions::new().progress_callback(&mut within_limits);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| !budget.borrow().is_over())
}

/// How many pipes the grammar may see: all that are not in single quotes or in a here-document that runs nothing.
fn pipes(text: &str) -> usize {
    let mut count = 0;
    let mut documents: Vec<(&str, bool)> = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    let mut closes = true;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'|' => count += 1,
            b'\'' if closes => match memchr::memchr(b'\'', &bytes[at..]) {
                Some(end) => at += end + 1,
                None => closes = false,
            },
            b'<' if bytes.get(at) == Some(&b'<') => {
                let rest = text[at + 1..].trim_start_matches(['-', ' ', '\t']);
                let word = &rest[..rest.find([' ', '\t', '\n', ';', '|', '&', ')', '<', '>']).unwrap_or(rest.len())];
                let end = word.trim_matches(['\'', '"', '\\']);
                at = text.len() - rest.len() + word.len();
                if !end.is_empty() && !word.starts_with('<') {
                    documents.push((end, end == word));
                }
            }
            b'\n' => {
                for (end, expands) in std::mem::take(&mut documents) {
                    let rest = &text[at..];
                    let mut length = 0;
                    let last = rest.split_inclusive('\n').find(|line| {
                        length += line.len();
                        line.trim_end_matches('\n').trim_start_matches('\t') == end
                    });
                    if last.is_none() {
                        break;
                    }
                    let body = &rest[..length];
                    let runs = body.find("$(").or_else(|| body.find('`')).filter(|_| expands);
                    count += runs.map_or(0, |from| body[from..].matches('|').count());
                    at += length;
                }
            }
            _ => {}
        }
    }
    count
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

    #[test]
    fn pipes_count_where_they_may_make_a_pipeline() {
        for (text, expected) in [
            ("a | b | c", 2),
            ("echo '|' \\| \"$(a | b)\"", 1),
            ("cat <<E | b\n| $x |\nE\na | b", 2),
            ("cat <<'E'\n| $(a | b) |\nE", 0),
            ("cat <<E\n| $(a | b) |\nE", 2),
            ("echo ' | a | b", 2),
            ("cat <<E\n| | |", 3),
            ("cat <<<'|' | b", 1),
        ] {
            assert_eq!(pipes(text), expected, "{text}");
        }
    }
}
