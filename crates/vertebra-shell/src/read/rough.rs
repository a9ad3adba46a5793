//! The reading of last resort: cuts text at everything that could separate commands, and never fails.

use super::Found;
use crate::{
    simple::{Joint, SimpleCommand, Via},
    word::Word,
    wrapper::Runs,
};

/// Lists the pieces of `text` between separators, without quotes, as if each were a command.
pub(super) fn split(text: &str, found: &mut Found) {
    if text.len() > found.roughly {
        found.gave_up = true;
        return;
    }
    found.roughly -= text.len();
    found.charge(2 * text.len());
    let separators =
        |byte: char| matches!(byte, ';' | '|' | '&' | '\n' | '\r' | '\0' | '`' | '(' | ')' | '{' | '}' | '<' | '>');
    for piece in text.split(separators) {
        if found.is_full() {
            return;
        }
        let plain: String = piece.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        let words = plain.split_whitespace().skip_while(|word| is_keyword(word)).filter(|word| *word != "$");
        list(&words.collect::<Vec<_>>(), found);
    }
}

fn list(words: &[&str], found: &mut Found) {
    let mut runs = Runs::of(words);
    let mut rest = words;
    while let Runs::Command(start) = runs {
        rest = &rest[start..];
        runs = Runs::of(rest);
    }
    // With its quotes lost, a script has no end: take everything from its first word on.
    if let Runs::Script { from, .. } = runs {
        rest = &rest[from..];
    }
    let all = words.iter().copied().map(Word::guessed).collect();
    let whole = SimpleCommand {
        all,
        range: 0..words.len(),
        redirects: [].into(),
        via: Via::Guess,
        joint: Joint::First,
        subshell: 0,
        outer: found.outer,
        is_hidden: false,
    };
    let wraps = rest.len() < words.len();
    let inner = wraps.then(|| SimpleCommand { range: words.len() - rest.len()..words.len(), ..whole.clone() });
    for command in std::iter::once(whole).chain(inner) {
        let number = found.number();
        found.insert(found.commands.len(), number, command);
    }
}

/// Words that stand before a command without being part of it.
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "{" | "}" | "!")
}

/// Words that mean something to a shell in the place of a program.
pub(crate) fn is_reserved(word: &str) -> bool {
    let opens = matches!(word, "for" | "case" | "esac" | "select" | "function" | "time" | "coproc" | "[[" | "in");
    opens || is_keyword(word)
}
