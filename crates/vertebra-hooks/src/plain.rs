//! Reads the simplest patterns, of which most rules are made, without a parser: whether they are valid, and what every
//! match has in it.
//!
//! A program that is started for each event reads all its patterns each time, and parsing them would be most of its work.

/// How deep brackets may stand in each other. A parser has a limit too, and it is farther.
const DEEPEST: usize = 32;

/// A text that every match of a simple pattern has in it; an empty one if none is known.
///
/// `None` if the pattern is not simple: a parser has to say whether it is a pattern at all.
pub(crate) fn required(pattern: &str) -> Option<String> {
    let (mut longest, mut run) = (String::new(), String::new());
    let (mut depth, mut has_alternatives) = (0_usize, false);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        let atom = match letter {
            '\\' => escaped(letters.next()?)?,
            '^' | '$' => Atom::Edge,
            '|' => {
                has_alternatives |= depth == 0;
                Atom::Edge
            }
            // What begins like this has options.
            '(' if letters.peek() == Some(&'?') => return None,
            '(' => {
                depth = Some(depth + 1).filter(|depth| *depth <= DEEPEST)?;
                Atom::Edge
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                Atom::Some
            }
            '.' => Atom::Some,
            '+' | '*' | '?' | '[' | ']' | '{' | '}' => return None,
            letter => Atom::Letter(letter),
        };
        let repeated = letters.next_if(|next| matches!(next, '+' | '*' | '?'));
        if repeated.is_some() {
            if atom == Atom::Edge {
                return None;
            }
            letters.next_if_eq(&'?');
        }
        let is_there = matches!(repeated, None | Some('+'));
        if let Atom::Letter(letter) = atom
            && depth == 0
            && is_there
        {
            run.push(letter);
        }
        if repeated.is_some() || !matches!(atom, Atom::Letter(_)) || letters.peek().is_none() {
            if run.len() > longest.len() {
                longest.clone_from(&run);
            }
            run.clear();
        }
    }
    (depth == 0).then(|| if has_alternatives { String::new() } else { longest })
}

#[derive(PartialEq, Eq)]
enum Atom {
    /// This letter.
    Letter(char),
    /// One letter or more, or none.
    Some,
    /// Nothing, at a certain place.
    Edge,
}

fn escaped(letter: char) -> Option<Atom> {
    Some(match letter {
        's' | 'S' | 'w' | 'W' | 'd' | 'D' => Atom::Some,
        'b' | 'B' => Atom::Edge,
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '-' | '/' => {
            Atom::Letter(letter)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn most_rules_are_simple_and_what_they_need_is_known() {
        let cases = [
            (r"git\s+push\b.*--force", Some("--force")),
            (r"\bgit\b.*\spush\b.*\s(--force|-f)\b", Some("push")),
            (r"\brm\s+-r", Some("rm")),
            (r"a\.b", Some("a.b")),
            ("colou?r", Some("colo")),
            ("ab*cd+e", Some("cd")),
            ("curl|wget", Some("")),
            ("(curl|wget) http", Some(" http")),
            ("(ab)?", Some("")),
            ("", Some("")),
            ("(?i)rm", None),
            ("[ab]c", None),
            ("a{2}", None),
            (r"\pL", None),
            ("a(", None),
            ("a)", None),
            ("*a", None),
            (r"a\", None),
        ];
        for (pattern, expected) in cases {
            assert_eq!(required(pattern).as_deref(), expected, "{pattern}");
        }
        let deep = |depth: usize| "(".repeat(depth) + "a" + &")".repeat(depth);
        assert!(required(&deep(DEEPEST)).is_some() && required(&deep(DEEPEST + 1)).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_simple_is_valid_and_every_match_has_what_is_required(
            pattern in r"(a|b|ab|\.|\\s|\\b|\\\.|\\-|\\/|\+|\*|\?|\(|\)|\||\^|\$| ){0,8}",
            text in r"[ab. /\-]{0,8}",
        ) {
            let Some(required) = required(&pattern) else { return Ok(()) };
            let regex = regex::Regex::new(&pattern);
            prop_assert!(regex.is_ok(), "{} is no pattern", pattern);
            prop_assert!(text.contains(&required) || !regex.is_ok_and(|regex| regex.is_match(&text)), "{}", pattern);
        }
    }
}
