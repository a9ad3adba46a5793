//! Reads expressions of scripts as far as trust needs it: their names, their literal strings, and whether they can lead to a
//! file outside the script's folder.

use std::{cell::Cell, path::Path};

use vertebra_kit::plain;

use super::Language;

/// How many steps a variable is followed.
const MAX_STEPS: usize = 4;

/// How many variables of one script are followed: each means reading the script again.
const MAX_FOLLOWED: usize = 256;

/// How many assignments of one variable are looked at.
const MAX_ASSIGNMENTS: usize = 16;

/// The text of a script, without lines that are only a comment.
pub(super) struct Source<'s> {
    pub(super) text: String,
    pub(super) language: Language,
    /// The project's root.
    pub(super) root: &'s Path,
    /// How many more variables are followed.
    left: Cell<usize>,
}

/// An expression, split into its names and its literal strings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) names: Vec<String>,
    pub(super) strings: Vec<String>,
    /// Whether it is one literal string and nothing else.
    is_literal: bool,
}

impl<'s> Source<'s> {
    pub(super) fn new(text: &str, language: Language, root: &'s Path) -> Self {
        let comment = if language == Language::JavaScript { "//" } else { "#" };
        // The first line of a script is not one that it runs.
        let is_code = |line: &&str| !line.trim_start().starts_with(comment);
        let kept: Vec<&str> = text.lines().filter(is_code).collect();
        Self { text: kept.join("\n"), language, root, left: Cell::new(MAX_FOLLOWED) }
    }

    /// Returns where a name stands by itself: `path` is not in `paths`, but is in `sys.path`.
    pub(super) fn places<'t>(&'t self, name: &'t str) -> impl Iterator<Item = usize> + 't {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let begins_word = name.starts_with(is_part);
        let ends_word = name.ends_with(is_part);
        self.text.match_indices(name).map(|(at, _)| at).filter(move |at| {
            let before = self.text[..*at].chars().next_back();
            let after = self.text[at + name.len()..].chars().next();
            !(begins_word && before.is_some_and(|letter| is_part(letter) || letter == '$' || letter == '@')
                || ends_word && after.is_some_and(is_part))
        })
    }

    /// Returns what follows each use of a name that is called, up to the end of its arguments.
    pub(super) fn calls<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> + 't {
        self.places(name).filter_map(move |at| self.arguments(at + name.len()))
    }

    /// Returns the arguments that begin here: in brackets, or in Ruby and Perl without them.
    pub(super) fn arguments(&self, at: usize) -> Option<&str> {
        let rest = self.text[at..].trim_start_matches([' ', '\t']);
        if let Some(inner) = rest.strip_prefix('(') {
            return Some(&inner[..end_of(inner, true)]);
        }
        let bare = matches!(self.language, Language::Ruby | Language::Perl) && rest.len() < self.text.len() - at;
        bare.then(|| &rest[..end_of(rest, false)]).filter(|rest| !rest.is_empty() && !rest.starts_with(['=', '.', ',']))
    }

    /// Returns the rest of the statement that begins here.
    pub(super) fn statement(&self, at: usize) -> &str {
        let rest = &self.text[at..];
        &rest[..end_of(rest, false)]
    }

    /// Returns whether an expression can only lead to the script's own folder, or to a place outside the project.
    pub(super) fn is_own(&self, expression: &str) -> bool {
        self.is_own_after(expression, MAX_STEPS)
    }

    fn is_own_after(&self, expression: &str, steps: usize) -> bool {
        let parts = self.parts(expression);
        let is_absolute = |text: &String| text.starts_with('/') || text.starts_with("file:");
        if parts.strings.iter().any(|text| is_absolute(text) && !self.is_elsewhere(text)) {
            return false;
        }
        let mut is_own = parts.names.is_empty() && !parts.strings.is_empty() && parts.strings.iter().all(is_absolute);
        for name in &parts.names {
            if self.language.own().contains(&name.as_str()) {
                is_own = true;
            } else if !self.language.harmless().contains(&name.as_str()) {
                let (Some(steps), Some(left)) = (steps.checked_sub(1), self.left.get().checked_sub(1)) else {
                    return false;
                };
                self.left.set(left);
                let assigned: Vec<&str> = self.assigned(name).take(MAX_ASSIGNMENTS + 1).collect();
                let all = assigned.iter().all(|value| self.is_own_after(value, steps));
                if assigned.is_empty() || assigned.len() > MAX_ASSIGNMENTS || !all {
                    return false;
                }
                is_own = true;
            }
        }
        is_own
    }

    /// Returns whether an absolute path is outside the project.
    fn is_elsewhere(&self, text: &str) -> bool {
        text.starts_with('/') && !plain(Path::new(text)).starts_with(self.root)
    }

    /// Returns the one literal string that an expression is, also through a variable that is set once.
    pub(super) fn literal(&self, expression: &str) -> Option<String> {
        let mut parts = self.parts(expression);
        if parts.is_literal {
            return parts.strings.pop();
        }
        let [name] = parts.names.as_slice() else { return None };
        let is_alone = expression.trim().trim_start_matches(['$', '@']) == name;
        let mut assigned = self.assigned(name);
        let mut once = self.parts(assigned.next().filter(|_| is_alone)?);
        (once.is_literal && assigned.next().is_none()).then(|| once.strings.pop())?
    }

    /// Returns what is assigned to a variable, wherever that is.
    fn assigned<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> + 't {
        self.text.match_indices(name).filter_map(move |(at, _)| {
            let before = self.text[..at].chars().next_back();
            if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.') {
                return None;
            }
            let after = self.text[at + name.len()..].trim_start_matches([' ', '\t']);
            let after = after.strip_prefix("||").unwrap_or(after);
            let value = after.strip_prefix('=').filter(|value| !value.starts_with(['=', '>', '~']))?;
            let value = value.trim_start_matches([' ', '\t']);
            Some(&value[..end_of(value, false)])
        })
    }

    /// Splits an expression.
    pub(super) fn parts(&self, expression: &str) -> Parts {
        let mut parts = Parts::default();
        let (mut code, mut rest, mut others) = (String::new(), expression.trim(), false);
        let mut literals = 0;
        while let Some(at) = rest.find(['"', '\'', '`']) {
            let quote = char::from(rest.as_bytes()[at]);
            let is_format = rest[..at].ends_with(['f', 'F']) && self.language == Language::Python;
            code.push_str(rest[..at].trim_end_matches(|letter| is_format && "fFrR".contains(letter)));
            code.push(' ');
            let inner = &rest[at + 1..];
            let (end, triple) = match inner.strip_prefix([quote, quote].iter().collect::<String>().as_str()) {
                Some(inner) if self.language == Language::Python => {
                    let mark: String = [quote; 3].iter().collect();
                    (inner.find(&mark).map(|end| end + 2), 3)
                }
                _ => (end_of_string(inner, quote), 1),
            };
            let text = &inner[..end.unwrap_or(inner.len())];
            literals += 1;
            // What stands in these is a command in Ruby and Perl.
            others |= quote == '`' && self.language != Language::JavaScript;
            let opens: &[&str] = match (self.language, quote) {
                (Language::Python, _) if is_format => &["{"],
                (Language::JavaScript, '`') => &["${"],
                (Language::Ruby, '"') => &["#{"],
                (Language::Perl, '"') => &["$", "@"],
                _ => &[],
            };
            for open in opens {
                for (at, _) in text.match_indices(open) {
                    others = true;
                    let inner = &text[at + open.len()..];
                    let end = if open.ends_with('{') { inner.find('}') } else { inner.find(['/', ' ', '.', '-']) };
                    code.push_str(&inner[..end.unwrap_or(inner.len())]);
                    code.push(' ');
                }
            }
            parts.strings.push(text.to_owned());
            rest = end.and_then(|end| inner.get(end + triple..)).unwrap_or_default();
        }
        code.push_str(rest);
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        for name in code.split(|letter: char| !is_part(letter)).filter(|name| !name.is_empty()) {
            if !name.starts_with(|letter: char| letter.is_ascii_digit()) {
                parts.names.push(name.to_owned());
            }
        }
        if code.contains("$0") && matches!(self.language, Language::Ruby | Language::Perl) {
            parts.names.push("$0".to_owned());
        }
        let prefixes = ["r", "b", "u"];
        let is_plain = parts.names.iter().all(|name| self.language == Language::Python && prefixes.contains(&&**name));
        parts.is_literal = literals == 1 && !others && is_plain && !code.contains(['+', '%', '*', '$', '@', '/']);
        parts
    }
}

/// Splits arguments at their commas. Lists are not kept together.
pub(super) fn elements(arguments: &str) -> Vec<&str> {
    let (mut elements, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    let mut escaped = false;
    for (at, letter) in arguments.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '{') => depth += 1,
            (None, ')' | '}') => depth = depth.saturating_sub(1),
            (None, ',' | '[' | ']') if depth == 0 => {
                elements.push(arguments[start..at].trim());
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    elements.push(arguments[start..].trim());
    elements.retain(|element| !element.is_empty());
    elements
}

/// Returns where the text in a bracket ends, or a statement.
fn end_of(text: &str, in_bracket: bool) -> usize {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (Some('"' | '\''), '\n') if !in_bracket => return at,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return at,
            },
            (None, '\n' | ';') if depth == 0 && !in_bracket => return at,
            _ => {}
        }
    }
    text.len()
}

fn end_of_string(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return Some(at),
            _ => {}
        }
    }
    None
}
