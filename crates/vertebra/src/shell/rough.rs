//! The reading of last resort: cuts text at everything that could separate commands, and never fails.

use super::{Found, wrapper};

/// Lists the pieces of `text` between separators, without quotes, as if each were a command.
pub(super) fn split(text: &str, found: &mut Found) {
    if text.len() > found.roughly {
        found.gave_up = true;
        return;
    }
    found.roughly -= text.len();
    let separators =
        |byte: char| matches!(byte, ';' | '|' | '&' | '\n' | '\r' | '\0' | '`' | '(' | ')' | '{' | '}' | '<' | '>');
    for piece in text.split(separators) {
        if found.is_full() {
            return;
        }
        let plain: String = piece.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        let words: Vec<String> = plain
            .split_whitespace()
            .map(str::to_owned)
            .skip_while(|word| is_keyword(word))
            .filter(|word| word != "$")
            .collect();
        list(&words, found);
    }
}

fn list(words: &[String], found: &mut Found) {
    found.push(words.join(" "));
    let mut runs = wrapper::Runs::of(words);
    let mut rest = words;
    while let wrapper::Runs::Command(start) = runs {
        rest = &rest[start..];
        runs = wrapper::Runs::of(rest);
    }
    // With its quotes lost, a script has no end: take everything from its first word on.
    if let wrapper::Runs::Script { from, .. } = runs {
        rest = &rest[from..];
    }
    found.push(rest.join(" "));
}

/// Words that stand before a command without being part of it.
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "{" | "}" | "!")
}
