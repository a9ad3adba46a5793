//! What a person sees of a model's Markdown.

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
