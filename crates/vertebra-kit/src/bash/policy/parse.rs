//! The grammar, within limits.

use std::{borrow::Cow, cell::RefCell, ops::ControlFlow};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::budget::Budget;

/// What the operations between two reports of the parser cost. It reports after 100 of them.
const PROGRESS: usize = 400;
/// How much text the parser gets at once. Its scanner looks ahead from one token to any later byte, again and again; it has to
/// come back for each piece, which is how that is counted.
const PIECE: usize = 256;

/// How many pipes a script may have. The time that the parser takes for a pipeline grows with the square of its length, and
/// it cannot be stopped there.
const MAX_PIPES: usize = 1500;

/// How often a script is parsed again because the grammar joined two of its lines.
const MAX_SPLITS: usize = 4;

/// A script and its syntax tree.
pub(super) struct Parsed<'t> {
    /// The script as it was parsed: with `;` at the end of lines that the grammar would join with the next one.
    pub(super) text: Cow<'t, str>,
    pub(super) tree: Tree,
}

/// Parses a script; none when that takes too much work, or would crash, or if the grammar joins lines of it.
///
/// After a pipeline of three commands the grammar takes the next line for arguments of the last one, if that line has a
/// redirection: `a | b | c`, a line break, `cd d 2>&1 && rm e`.
pub(super) fn parse<'t>(text: &'t str, budget: &mut Budget<'_>) -> Option<Parsed<'t>> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MAX_SPLITS {
        let tree = tree(&text, budget)?;
        let breaks = breaks(tree.root_node(), &text);
        if breaks.is_empty() {
            return Some(Parsed { text, tree });
        }
        for at in breaks.into_iter().rev() {
            text.to_mut().insert(at, ';');
        }
    }
    None
}

/// Returns the line breaks between words of one command, in their order. In bash they end the command.
fn breaks(root: Node<'_>, text: &str) -> Vec<usize> {
    let is_command = |node: Node<'_>| matches!(node.kind(), "command" | "declaration_command" | "unset_command");
    let mut found = Vec::new();
    let mut cursor = root.walk();
    // For each level, whether its nodes are parts of a command, and where the last one ended.
    let mut levels = vec![(false, 0)];
    loop {
        let node = cursor.node();
        if let Some((in_command, end)) = levels.last_mut() {
            let gap = text.as_bytes().get(*end..node.start_byte()).filter(|_| *in_command).unwrap_or_default();
            let is_break = |at: &usize| gap[*at] == b'\n' && (*at == 0 || gap[*at - 1] != b'\\');
            found.extend((0..gap.len()).find(is_break).map(|at| *end + at));
            *end = node.end_byte();
        }
        if cursor.goto_first_child() {
            levels.push((is_command(node), node.start_byte()));
            continue;
        }
        while !cursor.goto_next_sibling() {
            levels.pop();
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn tree(text: &str, budget: &mut Budget<'_>) -> Option<Tree> {
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
        let parses = |text: &str| parse(text, &mut Budget::new(text.len(), &clock)).is_some();
        for text in ["echo {\u{10ffff}", "echo {1\u{10ffff}", "echo {1..\u{10ffff}", "echo {1..23\u{10ffff}}"] {
            assert!(!parses(text), "{text}");
        }
        assert!(parses("echo {1..2} 你好 {a,b} {é"));
    }

    #[test]
    fn a_line_break_ends_a_command_even_where_the_grammar_goes_on() {
        let clock = FakeClock::new();
        for (text, expected) in [
            ("a | b | c\nd 2>&1 && e", "a | b | c;\nd 2>&1 && e"),
            ("a | b | c\nd\ne f 2>&1", "a | b | c;\nd;\ne f 2>&1"),
            ("a | b | c \\\nd 2>&1", "a | b | c \\\nd 2>&1"),
            ("a | b 'c\nd' 2>&1\ne", "a | b 'c\nd' 2>&1\ne"),
            ("cat <<E | b | c\nd\nE\ne 2>&1", "cat <<E | b | c\nd\nE\ne 2>&1"),
        ] {
            let parsed = parse(text, &mut Budget::new(text.len(), &clock)).expect("a tree");
            assert_eq!(parsed.text, expected);
            assert!(!parsed.tree.root_node().has_error(), "{text}");
        }
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
