//! How a match may begin: the expression whose matches are the beginnings of another's matches.
//!
//! With it a stream knows what to keep back: the longest end of the text so far that may be the beginning of a secret, and
//! not a character more.

use regex_syntax::hir::{Capture, Hir, HirKind, Repetition};

/// What matches of `hir` may begin with, they themselves and nothing at all included. Look-arounds are left out, so it may be
/// a little more than that.
pub(crate) fn beginnings(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Class(class) => optional(Hir::class(class.clone())),
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            let one = |c: char| Hir::literal(c.to_string().into_bytes());
            text.chars().rev().fold(Hir::empty(), |rest, c| optional(Hir::concat(vec![one(c), rest])))
        }
        HirKind::Capture(capture) => beginnings(&capture.sub),
        HirKind::Alternation(list) => Hir::alternation(list.iter().map(beginnings).collect()),
        HirKind::Concat(list) => list.iter().rev().fold(Hir::empty(), |rest, part| {
            Hir::alternation(vec![beginnings(part), Hir::concat(vec![without_looks(part), rest])])
        }),
        HirKind::Repetition(repetition) => {
            let max = repetition.max.map(|max| max.saturating_sub(1));
            let whole = Repetition { min: 0, max, greedy: true, sub: Box::new(without_looks(&repetition.sub)) };
            Hir::concat(vec![Hir::repetition(whole), beginnings(&repetition.sub)])
        }
    }
}

fn optional(hir: Hir) -> Hir {
    Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(hir) })
}

fn without_looks(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(without_looks(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => {
            Hir::capture(Capture { sub: Box::new(without_looks(&capture.sub)), ..capture.clone() })
        }
        HirKind::Concat(list) => Hir::concat(list.iter().map(without_looks).collect()),
        HirKind::Alternation(list) => Hir::alternation(list.iter().map(without_looks).collect()),
    }
}

#[cfg(test)]
mod tests {
    use regex_automata::meta::Regex;
    use regex_syntax::{hir::Look, parse};

    use super::*;

    fn check(pattern: &str, text: &str, open: &str) {
        let hir = Hir::concat(vec![beginnings(&parse(pattern).expect("a pattern")), Hir::look(Look::End)]);
        let regex = Regex::builder().build_from_hir(&hir).expect("a regex");
        let start = regex.find(text).expect("at least nothing").start();
        assert_eq!(&text[start..], open, "{pattern} in {text}");
    }

    #[test]
    fn the_longest_end_that_a_match_may_begin_with_is_found() {
        check("secret", "a sec", "sec");
        check("secret", "a secs", "s");
        check("secret", "secret", "secret");
        check("secret", "secretly", "");
        check(r"\bkey=[a-z]{3,}", "my key=ab", "key=ab");
        check(r"\bkey=[a-z]{3,}", "my key=abcdef", "key=abcdef");
        check(r"\bkey=[a-z]{3,}", "my key=abc ", "");
        check(r"(?:ab|cd){2,3}e", "xxababc", "ababc");
        check(r"(?:ab|cd){2,3}e", "abababab", "ababab");
        check(r"[0-9]{2}-[0-9]{2}|€uro", "12-3", "12-3");
        check(r"[0-9]{2}-[0-9]{2}|€uro", "a €u", "€u");
    }
}
