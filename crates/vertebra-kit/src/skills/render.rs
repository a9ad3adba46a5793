//! The text of a skill: arguments put in, wrapped so that a model sees where it ends.

use std::fmt::Write as _;

use super::{Skill, SkillError};

/// How long a skill may be with its arguments: within what a model reads of one tool's result.
const MAX_TEXT_BYTES: usize = 96 * 1024;

impl Skill {
    /// What whoever loads it with these arguments reads.
    pub(super) fn text(&self, arguments: &str) -> Result<String, SkillError> {
        let too_long = || SkillError::TooLong { name: self.name.clone(), limit: MAX_TEXT_BYTES };
        let mut text = substitute(&self.body, arguments.trim()).ok_or_else(too_long)?;
        if !self.resources.is_empty() {
            write!(text, "\n\nFiles of this skill, below {}:", self.folder.display())
                .expect("a string takes everything");
            for file in &self.resources {
                write!(text, "\n- {file}").expect("a string takes everything");
            }
        }
        let text = format!("<skill name=\"{}\">\n{}\n</skill>", self.name, inside(&text));
        if text.len() > MAX_TEXT_BYTES { Err(too_long()) } else { Ok(text) }
    }
}

/// Text that cannot end the tag it stands in.
fn inside(text: &str) -> String {
    const END: &str = "</skill";
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(END) {
        out.push_str(&text[from..at]);
        out.push_str("&lt;");
        from = at + 1;
    }
    out.push_str(&text[from..]);
    out
}

/// Puts arguments in the place of `$ARGUMENTS`, `$ARGUMENTS[n]` and `$n`, counted from 0, in one pass; what an argument
/// says is never read again. `$n` without such an argument stays: it may be a price, or meant for a shell. Where there
/// is no place for them, arguments go to the end. `None` if that gets too long.
fn substitute(body: &str, arguments: &str) -> Option<String> {
    let list = split(arguments);
    let mut out = String::new();
    let mut used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let (value, length) = match placeholder(&rest[at + 1..]) {
            Some((Place::All, length)) => (Some(arguments), length),
            Some((Place::Nth(index), length)) => (Some(list.get(index).map_or("", String::as_str)), length),
            Some((Place::Short(index), length)) => (list.get(index).map(String::as_str), length),
            None => (None, 0),
        };
        used |= value.is_some();
        out.push_str(value.unwrap_or(&rest[at..=at + length]));
        if out.len() > MAX_TEXT_BYTES {
            return None;
        }
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
    if !used && !arguments.is_empty() {
        write!(out, "\n\nARGUMENTS: {arguments}").expect("a string takes everything");
    }
    Some(out)
}

enum Place {
    All,
    Nth(usize),
    Short(usize),
}

/// What stands behind a `$`, and how long it is.
fn placeholder(text: &str) -> Option<(Place, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let in_word = |text: &str| text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if let Some(rest) = text.strip_prefix("ARGUMENTS") {
        let nth = rest.strip_prefix('[').and_then(|inner| {
            let length = digits(inner);
            let index = inner[..length].parse().ok()?;
            inner[length..].starts_with(']').then_some((Place::Nth(index), "ARGUMENTS[]".len() + length))
        });
        return nth.or_else(|| (!in_word(rest)).then_some((Place::All, "ARGUMENTS".len())));
    }
    let length = digits(text);
    let index = text[..length].parse().ok()?;
    (!in_word(&text[length..])).then_some((Place::Short(index), length))
}

/// Arguments as a shell would part them; at blanks alone if the quotes do not pair, as in `don't`.
fn split(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in arguments.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return arguments.split_whitespace().map(str::to_owned).collect();
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_take_their_places() {
        let cases = [
            ("fix $ARGUMENTS now", "issue 7", "fix issue 7 now"),
            ("fix $ARGUMENTS[0] in $ARGUMENTS[1]", "7 main", "fix 7 in main"),
            ("fix $0 in $1", "7 main", "fix 7 in main"),
            ("fix $0", "'a b' c", "fix a b"),
            ("fix $0", "don't panic", "fix don't"),
            ("fix $ARGUMENTS[3].", "7", "fix ."),
            ("fix $ARGUMENTS", "", "fix "),
            ("costs $5, $PATH, $ARGUMENTSX, $1st, $", "", "costs $5, $PATH, $ARGUMENTSX, $1st, $"),
            ("costs $5", "7", "costs $5\n\nARGUMENTS: 7"),
            ("fix it", "7", "fix it\n\nARGUMENTS: 7"),
            ("fix it", "", "fix it"),
            ("fix $0 and $1", "$1 $0", "fix $1 and $0"),
            ("größer $0 ä$", "ü", "größer ü ä$"),
            ("$99999999999999999999999", "x", "$99999999999999999999999\n\nARGUMENTS: x"),
        ];
        for (body, arguments, text) in cases {
            assert_eq!(substitute(body, arguments).as_deref(), Some(text), "{body} with {arguments}");
        }
    }

    #[test]
    fn a_skill_does_not_grow_without_bound() {
        assert_eq!(substitute(&"$ARGUMENTS".repeat(5000), &"x".repeat(100_000)), None);
    }

    #[test]
    fn nothing_inside_ends_the_tag() {
        assert_eq!(inside("a </skill> b </SKILL > c"), "a &lt;/skill> b &lt;/SKILL > c");
        assert_eq!(inside("</skil </skills"), "</skil &lt;/skills");
    }

    proptest! {
        #[test]
        fn whatever_a_skill_and_its_arguments_say_they_stay_inside(
            body in r"([a-z ]|\$[0-9]|\$ARGUMENTS(\[[0-9]\])?|</[sS]kill>?|\PC){0,20}",
            arguments in r#"([a-z "']|\$[0-9]|</skill>|\PC){0,20}"#,
        ) {
            let text = inside(&substitute(&body, &arguments).expect("short"));
            prop_assert!(!text.to_lowercase().contains("</skill"));
            if !body.contains('$') {
                prop_assert!(text.starts_with(&*inside(&body)));
            }
        }
    }
}
