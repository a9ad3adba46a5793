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
    let bytes = pattern.as_bytes();
    // What is required so far, and what may go on to be longer.
    let (mut longest, mut run) = (0..0, 0..0);
    let (mut depth, mut has_alternatives) = (0_usize, false);
    let mut next = 0;
    while let Some(byte) = bytes.get(next) {
        let mut at = next;
        next += 1;
        let atom = match byte {
            b'\\' => {
                // The letter itself may begin what is required, but not go on with it: a backslash stands between.
                (at, run) = (next, 0..0);
                next += 1;
                escaped(*bytes.get(at)?)?
            }
            b'^' | b'$' => Atom::Edge,
            b'|' => {
                has_alternatives |= depth == 0;
                Atom::Edge
            }
            // What begins like this has options.
            b'(' if bytes.get(next) == Some(&b'?') => return None,
            b'(' => {
                depth = Some(depth + 1).filter(|depth| *depth <= DEEPEST)?;
                Atom::Edge
            }
            b')' => {
                depth = depth.checked_sub(1)?;
                Atom::Some
            }
            b'.' => Atom::Some,
            b'+' | b'*' | b'?' | b'[' | b']' | b'{' | b'}' => return None,
            letter if letter.is_ascii() => Atom::Letter,
            _ => return None,
        };
        let repeated = bytes.get(next).copied().filter(|sign| matches!(sign, b'+' | b'*' | b'?'));
        if repeated.is_some() {
            if atom == Atom::Edge {
                return None;
            }
            next += 1;
            next += usize::from(bytes.get(next) == Some(&b'?'));
        }
        if atom == Atom::Letter && depth == 0 && matches!(repeated, None | Some(b'+')) {
            run = if run.is_empty() { at..at + 1 } else { run.start..at + 1 };
            if run.len() > longest.len() {
                longest = run.clone();
            }
        }
        if atom != Atom::Letter || depth > 0 || repeated.is_some() {
            run = 0..0;
        }
    }
    (depth == 0).then(|| if has_alternatives { "" } else { &pattern[longest] })
}

#[derive(PartialEq, Eq)]
enum Atom {
    /// This very letter.
    Letter,
    /// One letter or more, or none.
    Some,
    /// Nothing, at a certain place.
    Edge,
}

fn escaped(letter: u8) -> Option<Atom> {
    Some(match letter {
        b's' | b'S' | b'w' | b'W' | b'd' | b'D' => Atom::Some,
        b'b' | b'B' => Atom::Edge,
        b'\\' | b'.' | b'+' | b'*' | b'?' | b'(' | b')' | b'|' | b'[' | b']' | b'{' | b'}' | b'^' | b'$' | b'-'
        | b'/' => Atom::Letter,
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
            ("\u{e9}*a", None),
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
