//! `${…}`: defaults, substrings, patterns, case, indirection.

use super::{
    arith,
    judge::{Judge, Origin},
    lex::Cursor,
    value::{UNKNOWN, is_known},
    variables::is_of_commands,
};

/// What an expansion gives: one text, or the elements of a list.
pub(super) enum Expanded {
    One(String),
    Many(Vec<String>),
}

/// Longer texts are not matched with patterns.
const MAX_PATTERN_TEXT: usize = 1024;

impl Judge<'_> {
    /// The value of `${inner}`.
    pub(super) fn braced(&mut self, inner: &str, origin: &Origin) -> Expanded {
        let mut cursor = Cursor::new(inner);
        let counts = inner.len() > 1 && !inner.starts_with("#-") && !inner.starts_with("#:") && cursor.eat("#");
        let indirect = !counts && inner.len() > 1 && cursor.eat("!");
        let named = cursor.at;
        let name = match cursor.peek() {
            Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                let begin = cursor.at;
                cursor.bump();
                &inner[begin..cursor.at]
            }
            _ => cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_'),
        };
        let subscript = cursor.eat("[").then(|| {
            let begin = cursor.at;
            (begin, cursor.bracketed('[', ']'))
        });
        let target = &inner[named..cursor.at];
        let mut values = match subscript {
            Some((_, "@" | "*")) if indirect => Expanded::One(UNKNOWN.to_string()),
            Some((_, "@" | "*")) => match self.scope.elements(name) {
                Some(values) => Expanded::Many(values),
                None => Expanded::One(UNKNOWN.to_string()),
            },
            Some((begin, index)) => Expanded::One(self.element(name, index, &origin.inner(begin))),
            None if name == "@" => Expanded::Many(self.scope.args.to_vec()),
            None => Expanded::One(self.variable(name)),
        };
        let set = self.scope.get(name).is_some();
        if indirect && let Expanded::One(target) = &values {
            // The target may be an element, whose index is evaluated.
            let target = target.clone();
            self.latent(&target, &origin.span(0..inner.len()));
            let named = target.split('[').next().unwrap_or_default().to_owned();
            values = if is_known(&target) && !cursor.rest().starts_with(['@', '*']) {
                Expanded::One(if named == target { self.variable(&target) } else { UNKNOWN.to_string() })
            } else {
                Expanded::One(UNKNOWN.to_string())
            };
        }
        if counts {
            return Expanded::One(match &values {
                Expanded::One(value) if is_known(value) => value.chars().count().to_string(),
                Expanded::One(_) => UNKNOWN.to_string(),
                Expanded::Many(values) => values.len().to_string(),
            });
        }
        let begin = cursor.at;
        let operation = cursor.rest();
        if operation.is_empty() {
            return values;
        }
        self.operate(target, set, values, operation, &origin.inner(begin))
    }

    fn element(&mut self, name: &str, index: &str, origin: &Origin) -> String {
        let index = self.arithmetic(index, origin);
        let values = self.scope.elements(name);
        let at = index.parse::<i64>().ok();
        match (values, at) {
            (Some(values), Some(at)) => {
                let at = if at < 0 { at + i64::try_from(values.len()).unwrap_or(0) } else { at };
                usize::try_from(at).ok().and_then(|at| values.get(at).cloned()).unwrap_or_default()
            }
            _ => UNKNOWN.to_string(),
        }
    }

    /// `target` is the name, with its subscript.
    fn operate(&mut self, target: &str, set: bool, values: Expanded, operation: &str, origin: &Origin) -> Expanded {
        let mut cursor = Cursor::new(operation);
        let colon = cursor.eat(":");
        let operator = cursor.peek().unwrap_or(' ');
        if matches!(operator, '-' | '=' | '+' | '?') {
            cursor.bump();
            let begin = cursor.at;
            let word = self.text(cursor.rest(), &origin.inner(begin));
            let empty = colon && matches!(&values, Expanded::One(value) if value.is_empty());
            let usable = set && !empty;
            return match operator {
                '+' if usable => Expanded::One(word),
                '+' if set => Expanded::One(String::new()),
                '+' => Expanded::One(UNKNOWN.to_string()),
                '=' if !usable => {
                    let name = if is_of_commands(target) { target } else { target.split('[').next().unwrap_or(target) };
                    self.set(name, word.clone());
                    Expanded::One(word)
                }
                '-' if !usable => Expanded::One(word),
                _ => values,
            };
        }
        if colon {
            let begin = cursor.at;
            return self.slice(values, cursor.rest(), &origin.inner(begin));
        }
        // Patterns and replacements may hold substitutions; those run whatever becomes of the value.
        let operand = self.text(&operation[operator.len_utf8()..], &origin.inner(operator.len_utf8()));
        if operator == '@' {
            return self.transform(values, &operand, origin);
        }
        let change = |value: String| apply(operator, &value, &operand).unwrap_or_else(|| UNKNOWN.to_string());
        match values {
            Expanded::One(value) => Expanded::One(change(value)),
            Expanded::Many(values) => Expanded::Many(values.into_iter().map(change).collect()),
        }
    }

    /// `${x@P}` and similar transformations.
    fn transform(&mut self, values: Expanded, how: &str, origin: &Origin) -> Expanded {
        match (how, values) {
            ("P", Expanded::One(value)) => {
                let span = origin.span(0..how.len());
                Expanded::One(self.quoted_text(&value, &Origin::Within(span)))
            }
            ("E", Expanded::One(value)) => Expanded::One(super::lex::ansi(&value)),
            ("U", Expanded::One(value)) => Expanded::One(value.to_uppercase()),
            ("L", Expanded::One(value)) => Expanded::One(value.to_lowercase()),
            (_, values) => values,
        }
    }

    fn slice(&mut self, values: Expanded, range: &str, origin: &Origin) -> Expanded {
        let text = self.quoted_text(range, origin);
        let span = origin.span(0..range.len());
        self.latent(&text, &span);
        self.latent_values(&text, &span);
        let (offset, length) = match text.split_once(':') {
            Some((offset, length)) => (offset, Some(length)),
            None => (text.as_str(), None),
        };
        let lookup = |name: &str| self.scope.get(name);
        let offset = arith::evaluate(offset, &lookup);
        let length = length.map(|length| arith::evaluate(length, &lookup));
        let (Some(offset), None | Some(Some(_))) = (offset, length) else {
            return Expanded::One(UNKNOWN.to_string());
        };
        match values {
            Expanded::One(value) if is_known(&value) => {
                let chars: Vec<char> = value.chars().collect();
                Expanded::One(window(&chars, offset, length.flatten()).iter().collect())
            }
            Expanded::One(_) => Expanded::One(UNKNOWN.to_string()),
            Expanded::Many(values) => Expanded::Many(window(&values, offset, length.flatten()).to_vec()),
        }
    }
}

fn window<T>(list: &[T], offset: i64, length: Option<i64>) -> &[T] {
    let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let begin = if offset < 0 { count.saturating_add(offset) } else { offset }.clamp(0, count);
    let end = match length {
        None => count,
        Some(length) if length < 0 => count.saturating_add(length),
        Some(length) => begin.saturating_add(length),
    };
    let at = |number: i64| usize::try_from(number).unwrap_or(0);
    list.get(at(begin)..at(end.clamp(begin, count))).unwrap_or_default()
}

/// Applies a pattern operator to a value. Returns `None` if the result is unknown.
fn apply(operator: char, value: &str, operand: &str) -> Option<String> {
    if !is_known(value) {
        return None;
    }
    let twice = operand.starts_with(operator);
    let pattern = if twice { &operand[operator.len_utf8()..] } else { operand };
    let first = |change: fn(char) -> String| {
        let mut chars = value.chars();
        chars.next().map(change).unwrap_or_default() + chars.as_str()
    };
    match operator {
        '^' if twice => Some(value.to_uppercase()),
        '^' => Some(first(|c| c.to_uppercase().collect())),
        ',' if twice => Some(value.to_lowercase()),
        ',' => Some(first(|c| c.to_lowercase().collect())),
        '~' => Some(value.chars().map(swap_case).collect()),
        _ if value.len() > MAX_PATTERN_TEXT || !is_known(operand) => None,
        '#' => {
            let mut ends = cuts(value);
            let found = if twice {
                ends.rfind(|&at| glob(pattern, &value[..at]))
            } else {
                ends.find(|&at| glob(pattern, &value[..at]))
            };
            Some(value[found.unwrap_or(0)..].to_owned())
        }
        '%' => {
            let mut begins = cuts(value);
            let found = if twice {
                begins.find(|&at| glob(pattern, &value[at..]))
            } else {
                begins.rfind(|&at| glob(pattern, &value[at..]))
            };
            Some(value[..found.unwrap_or(value.len())].to_owned())
        }
        '/' => replace(value, operand),
        _ => None,
    }
}

fn swap_case(c: char) -> char {
    if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
}

fn cuts(value: &str) -> impl DoubleEndedIterator<Item = usize> {
    value.char_indices().map(|(at, _)| at).chain([value.len()])
}

fn replace(value: &str, operand: &str) -> Option<String> {
    let (operand, all) = operand.strip_prefix('/').map_or((operand, false), |rest| (rest, true));
    let (pattern, by) = operand.split_once('/').unwrap_or((operand, ""));
    if let Some(pattern) = pattern.strip_prefix('#') {
        return Some(value.strip_prefix(pattern).map_or(value.to_owned(), |rest| format!("{by}{rest}")));
    }
    if let Some(pattern) = pattern.strip_prefix('%') {
        return Some(value.strip_suffix(pattern).map_or(value.to_owned(), |rest| format!("{rest}{by}")));
    }
    if pattern.contains(['*', '[']) {
        return None;
    }
    if pattern.contains('?') {
        return (pattern == "?" && all).then(|| by.repeat(value.chars().count()));
    }
    if pattern.is_empty() {
        return Some(value.to_owned());
    }
    Some(if all { value.replace(pattern, by) } else { value.replacen(pattern, by, 1) })
}

/// Returns whether a text matches a pattern of `*`, `?` and `[…]`.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => set(&pattern[p..], text[t]),
            Some('\\') => (pattern.get(p + 1) == Some(&text[t])).then_some(2),
            Some(&c) => (c == text[t]).then_some(1),
            None => None,
        };
        match (step, retry) {
            (Some(length), _) => {
                p += length;
                t += 1;
            }
            (None, Some((again, at))) => {
                p = again;
                t = at + 1;
                retry = Some((again, t));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The length of `[…]` in the pattern, if the character is one of its set.
fn set(pattern: &[char], c: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let begin = if negated { 2 } else { 1 };
    let end = begin + 1 + pattern.get(begin + 1..)?.iter().position(|&c| c == ']')?;
    let members = &pattern[begin..end];
    let mut at = 0;
    let mut found = false;
    while at < members.len() {
        if let [low, '-', high] = members[at..members.len().min(at + 3)] {
            found |= (low..=high).contains(&c);
            at += 3;
        } else {
            found |= members[at] == c;
            at += 1;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        assert!(glob("/bin/r[m]", "/bin/rm"));
        assert!(glob("/*/r?", "/bin/rm"));
        assert!(glob("[!a-c]*x", "dax"));
        assert!(!glob("[a-c]", "d"));
        assert!(glob(&"*a".repeat(200), &"a".repeat(1000)));
    }

    #[test]
    fn operators_change_known_values() {
        let cases = [
            ('#', "a/b/c", "*/", "b/c"),
            ('#', "a/b/c", "#*/", "c"),
            ('%', "a.c.o", ".*", "a.c"),
            ('%', "a.c.o", "%.*", "a"),
        ];
        for (operator, value, operand, wanted) in cases {
            assert_eq!(apply(operator, value, operand).as_deref(), Some(wanted), "${{x{operator}{operand}}}");
        }
        assert_eq!(apply('/', "rxm", "x/").as_deref(), Some("rm"));
        assert_eq!(apply(',', "RM", ",").as_deref(), Some("rm"));
    }
}
