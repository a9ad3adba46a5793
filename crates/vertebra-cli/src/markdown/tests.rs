//! What a person sees of a model's Markdown.

use proptest::prelude::*;

use super::*;
use crate::view::rows::lines;

const SAMPLE: &str = include_str!("sample.md");

fn shown(text: &str, width: usize, colour: bool) -> String {
    in_pieces([text], width, colour)
}

fn in_pieces<'t>(pieces: impl IntoIterator<Item = &'t str>, width: usize, colour: bool) -> String {
    let mut markdown = Markdown::new(colour);
    let mut rows: Vec<Row> = pieces.into_iter().flat_map(|piece| markdown.push(piece, width)).collect();
    rows.extend(markdown.finish(width));
    lines(&rows, colour)
}

#[test]
fn blocks_of_every_kind_are_drawn() {
    insta::assert_snapshot!("markdown-60", shown(SAMPLE, 60, false));
    insta::assert_snapshot!("markdown-20", shown(SAMPLE, 20, false));
    insta::assert_snapshot!("markdown-60-colour", shown(SAMPLE, 60, true).replace('\u{1b}', "^"));
}

#[test]
fn text_flows_before_its_paragraph_is_over() {
    let mut markdown = Markdown::new(false);
    let words = "one two three four five six seven eight nine ten";
    let early: Vec<String> =
        words.split_inclusive(' ').flat_map(|word| markdown.push(word, 12)).map(|row| row.paint(false)).collect();
    assert_eq!(early, ["one two", "three four", "five six", "seven eight"]);
    let late: Vec<String> = markdown.finish(12).iter().map(|row| row.paint(false)).collect();
    assert_eq!(late, ["nine ten"]);
}

#[test]
fn code_flows_line_by_line_and_keeps_its_width() {
    let mut markdown = Markdown::new(false);
    let code = "x".repeat(50);
    assert_eq!(lines(&markdown.push("```rust ignore\nfn", 20), false), "  ── rust\n");
    assert_eq!(
        lines(&markdown.push(&format!(" {code}\n  indented\n"), 20), false),
        format!("    fn {code}\n      indented\n")
    );
    assert_eq!(lines(&markdown.push("```\n", 20), false), "");
    assert!(markdown.is_empty());
}

#[test]
fn items_of_a_list_come_out_one_by_one_and_keep_their_numbers() {
    let mut markdown = Markdown::new(false);
    let text = "1. one\n1. two\n   - inner\n\n1. three\n\n   more\n1. four\n\nend\n";
    let mut seen: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        seen.push(lines(&markdown.push(line, 40), false));
    }
    seen.push(lines(&markdown.finish(40), false));
    let expected =
        ["", "1. one\n", "", "", "2. two\n   • inner\n", "", "", "\n3. three\n\n   more\n", "", "4. four\n", "\nend\n"];
    assert_eq!(seen, expected);
}

#[test]
fn what_a_model_writes_moves_nothing() {
    let tricks =
        "a\u{1b}[2J `b\u{9b}1m` &#27;[2J [c](http://x/\u{202e}d) <b\u{7}>\n\n```\u{1b}]0;t\n\u{1b}[2J\u{200b}\n```\n";
    insta::assert_snapshot!(shown(tricks, 60, false), @r"
    a⟨U+001B⟩[2J `b⟨U+009B⟩1m` ⟨U+001B⟩[2J c
    (http://x/⟨U+202E⟩d) <b⟨U+0007⟩>

      ── ⟨U+001B⟩]0;t
        ⟨U+001B⟩[2J⟨U+200B⟩
    ");
}

#[test]
fn endless_blocks_come_out_before_they_end() {
    let mut markdown = Markdown::new(false);
    let early: usize = (0..1_000).map(|number| markdown.push(&format!("- item {number}\n"), 80).len()).sum();
    assert!(early > 700, "{early}");
    let endless: usize = (0..40).map(|_| markdown.push(&"*x".repeat(500), 80).len()).sum();
    assert!(endless > 100, "{endless}");
}

/// Pieces of Markdown that mean something together.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "word ",
        "a longer piece of text ",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "**",
        "*",
        "`",
        "```",
        "```rust\n",
        "~~~\n",
        "    ",
        "| a | b |\n|---|--:|\n",
        "| 1 | 2 |\n",
        "---\n",
        "===\n",
        "[x]: http://y\n",
        "[x]",
        "![i](j)",
        "<b>",
        "<div>\n",
        "&amp;",
        "\\",
        "你好世界",
        "👨‍👩‍👧",
        "e\u{301}",
        "\r\n",
        "\t",
        "\u{1b}[2J",
        "\u{202e}",
        "- [ ] ",
        "x".repeat(30).leak(),
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_comes_out_whatever_the_pieces(text in text(), sizes in prop::collection::vec(1..9_usize, 1..6), width in 20..120_usize) {
        let whole = shown(&text, width, true);
        let mut markdown = Markdown::new(true);
        let (mut rows, mut rest, mut sizes) = (Vec::new(), text.as_str(), sizes.iter().cycle());
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.ceil_char_boundary((*sizes.next().expect("a cycle")).min(rest.len())));
            rows.extend(markdown.push(piece, width));
            markdown.unfinished(width);
            rest = more;
        }
        rows.extend(markdown.finish(width));
        prop_assert_eq!(lines(&rows, true), whole);
    }

    #[test]
    fn only_our_own_sequences_reach_the_terminal(text in text(), width in 20..120_usize) {
        let plain = shown(&text, width, false);
        prop_assert!(plain.chars().all(|c| c == '\n' || crate::view::text::is_plain(c)), "{:?}", plain);
    }
}
