//! Reads the simplest patterns, of which most rules are made, without a parser: whether they are valid, and what every
//! match has in it.
//!
//! A program that is started for each event reads all its patterns each time, and parsing them would be most of its work.

/// How deep brackets may stand in each other. A parser has a limit too, and it is farther.
const DEEPEST: usize = 32;

/// A part of a simple pattern that every match has in it; an empty one if none is known.
///
/// `None` if the pattern is not simple: a parser has to say whether it is a pattern at all.
pub(crate) fn required(pattern: &str) -> Option<&str> {
    let (mut longest, mut run) = (0..0, 0..0);
    let (mut depth, mut has_alternatives) = (0_usize, false);
    let mut letters = pattern.char_indices().peekable();
    let is = |next: Option<&(usize, char)>, wanted: char| next.is_some_and(|(_, letter)| *letter == wanted);
    while let Some((mut at, letter)) = letters.next() {
        let atom = match letter {
            '\\' => {
                let (escape, letter) = letters.next()?;
                // The letter itself may begin what is required, but not go on with it: a backslash stands between.
                (at, run) = (escape, escape..escape);
                escaped(letter)?
            }
            '^' | '$' => Atom::Edge,
            '|' => {
                has_alternatives |= depth == 0;
                Atom::Edge
            }
            // What begins like this has options.
            '(' if is(letters.peek(), '?') => return None,
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
        let repeated = letters.next_if(|(_, next)| matches!(next, '+' | '*' | '?')).map(|(_, sign)| sign);
        if repeated.is_some() {
            if atom == Atom::Edge {
                return None;
            }
            letters.next_if(|(_, next)| *next == '?');
        }
        match atom {
            Atom::Letter(letter) if depth == 0 && matches!(repeated, None | Some('+')) => {
                let from = if run.is_empty() { at } else { run.start };
                run = from..at + letter.len_utf8();
                if run.len() > longest.len() {
                    longest = run.clone();
                }
            }
            Atom::Letter(_) | Atom::Some | Atom::Edge => run = 0..0,
        }
        if repeated.is_some() {
            run = 0..0;
        }
    }
    (depth == 0).then(|| if has_alternatives { "" } else { &pattern[longest] })
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
            (r"a\.bc", Some(".bc")),
            (r"ab\.", Some("ab")),
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
            assert_eq!(required(pattern), expected, "{pattern}");
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
            prop_assert!(text.contains(required) || !regex.is_ok_and(|regex| regex.is_match(&text)), "{}", pattern);
        }
    }
}
