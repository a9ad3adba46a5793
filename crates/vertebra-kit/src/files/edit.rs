//! `edit_file`: one text in a file for another.

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Known, Target},
    commit::alone,
    nearest,
    seen::Acquaintance,
    text::Text,
    write::{Change, hides},
};
use crate::redaction::marks::HiddenFile;

/// How many places of a text that is there too often are told.
const TOLD: usize = 10;

/// The arguments of `edit_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// The file.
    path: String,
    /// The text to be replaced, exactly as it is there, without line numbers.
    old_string: String,
    /// What to put in its place.
    new_string: String,
    /// Whether to replace it wherever it is; otherwise it must be there once.
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn edit_file(job: &Job, input: &EditFile) -> Result<ToolOutput, ToolError> {
    let target = job.target_to_write(&input.path)?;
    let place = &target.place;
    // The second of two edits at the same time sees what the first has done.
    alone(place, || {
        let (known, is_known, Edited { body, first_line, places }) = plan(job, &target, input)?;
        let change = Change { target: &target, was: Some(&known), after: &body, is_known };
        let note = if is_known {
            ""
        } else {
            "; the file had changed since you read it, and the rest of it may be new to you"
        };
        change.make(job, |_| match places {
            1 => format!("edited at line {first_line}{note}"),
            _ => format!("edited in {places} places, the first at line {first_line}{note}"),
        })
    })
}

/// Finds out whether the file can be edited, and what would change.
pub(super) fn look(job: &Job, input: &EditFile) -> Result<Option<String>, ToolError> {
    let target = job.target_to_write(&input.path)?;
    let (known, is_known, edited) = plan(job, &target, input)?;
    Change { target: &target, was: Some(&known), after: &edited.body, is_known }.preview(job)
}

/// The file, whether the model knows it as it is, and what it becomes. The model edits what it sees: then the secrets come back in the place of their marks.
fn plan(job: &Job, target: &Target, input: &EditFile) -> Result<(Known, bool, Edited), ToolError> {
    let place = &target.place;
    let known = job.known(target)?;
    // A text that is there once is the one that the model means, whatever has changed around it.
    let acquaintance = job.knows(target, &known);
    acquaintance.at_least(Acquaintance::Before, place)?;
    let (body, shown) = (&known.text.body, &known.shown);
    for text in [&input.old_string, &input.new_string] {
        shown.check(body, text).map_err(|mark| hides(place, &mark))?;
    }
    let edit = Edit { old: &input.old_string, new: &input.new_string, all: input.replace_all };
    let edited = edit.apply(&known.text, shown).map_err(|problem| place.says(&problem))?;
    let body = shown.restore(body, &edited.body).map_err(|mark| hides(place, &mark))?;
    Ok((known, acquaintance == Acquaintance::Now, Edited { body, ..edited }))
}

struct Edit<'a> {
    old: &'a str,
    new: &'a str,
    all: bool,
}

struct Edited {
    body: String,
    first_line: usize,
    places: usize,
}

impl Edit<'_> {
    /// The new body, or what is wrong, as a sentence about the file.
    fn apply(&self, text: &Text, shown: &HiddenFile) -> Result<Edited, String> {
        let (old, new) = (text.in_my_lines(self.old), text.in_my_lines(self.new));
        let body = shown.text.as_str();
        if old.is_empty() {
            return Err("was not edited: old_string is empty; to make a file, use write_file".to_owned());
        }
        if old == new {
            return Err("was not edited: old_string and new_string are the same".to_owned());
        }
        let line_of = |at: usize| body[..at].matches('\n').count() + 1;
        // A part of a mark is no text of the file.
        let is_text = |at: &usize| !shown.is_cut_by(&(*at..*at + old.len()));
        let places: Vec<usize> = if self.all {
            body.match_indices(&*old).map(|(at, _)| at).filter(is_text).collect()
        } else {
            overlapping(body, &old).filter(is_text).take(TOLD + 1).collect()
        };
        match places[..] {
            [] => Err(format!("does not contain old_string; {}", nearest::hint(body, &old))),
            [first, ..] if self.all || places.len() == 1 => {
                let (mut changed, mut from) = (String::with_capacity(body.len()), 0);
                for at in &places {
                    changed.push_str(&body[from..*at]);
                    changed.push_str(&new);
                    from = at + old.len();
                }
                changed.push_str(&body[from..]);
                Ok(Edited { body: changed, first_line: line_of(first), places: places.len() })
            }
            _ => {
                let times = if places.len() > TOLD { format!("more than {TOLD}") } else { places.len().to_string() };
                let lines: Vec<String> = places.iter().take(TOLD).map(|at| line_of(*at).to_string()).collect();
                Err(format!(
                    "contains old_string {times} times (lines {}): add text around it until it is there once, or set \
                     replace_all=true",
                    lines.join(", ")
                ))
            }
        }
    }
}

/// Every place, also where one begins before the last has ended: `aa` is twice in `aaa`.
fn overlapping<'t>(body: &'t str, wanted: &'t str) -> impl Iterator<Item = usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + body.get(from..)?.find(wanted)?;
        from = at + step;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edited(body: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
        let text = Text::decode(body.as_bytes()).expect("text");
        Edit { old, new, all }.apply(&text, &HiddenFile::open(&text.body)).map(|edited| edited.body)
    }

    #[test]
    fn a_text_must_be_there_once_unless_all_are_meant() {
        assert_eq!(edited("a b a", "b", "c", false).as_deref(), Ok("a c a"));
        assert_eq!(edited("a b a", "a", "c", true).as_deref(), Ok("c b c"));
        for (old, new, complaint) in [
            ("a", "c", "contains old_string 2 times (lines 1, 1)"),
            ("x", "c", "does not contain old_string"),
            ("", "c", "was not edited: old_string is empty"),
            ("b", "b", "was not edited: old_string and new_string are the same"),
        ] {
            let problem = edited("a b a", old, new, false).expect_err("a complaint");
            assert!(problem.starts_with(complaint), "{problem}");
        }
        assert!(edited("aaa", "aa", "b", false).is_err(), "two places that overlap are two places");
    }

    #[test]
    fn lines_with_carriage_returns_are_found_and_stay() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false).as_deref(), Ok("x\r\ny\r\nz\r\nc\r\n"));
        assert_eq!(edited("a\r\nb\r\n", "a\r\n", "x\r\n", false).as_deref(), Ok("x\r\nb\r\n"));
        assert_eq!(edited("a\r\nb\n", "b\n", "c\n", false).as_deref(), Ok("a\r\nc\n"));
    }

    proptest! {
        #[test]
        fn an_edit_changes_the_one_place_and_nothing_else(
            before in "[a-c\n]{0,40}", old in "[a-c\n]{1,4}", new in "[a-c\n]{0,4}", after in "[a-c\n]{0,40}",
        ) {
            let body = format!("{before}{old}{after}");
            let places = (0..body.len()).filter(|at| body[*at..].starts_with(&old)).count();
            match edited(&body, &old, &new, false) {
                Ok(result) => {
                    prop_assert_eq!(places, 1);
                    prop_assert_eq!(result, format!("{before}{new}{after}"));
                }
                Err(_) => prop_assert!(places > 1 || old == new),
            }
        }
    }
}
