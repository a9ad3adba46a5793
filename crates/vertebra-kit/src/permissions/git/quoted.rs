//! The words inside of quotes and substitutions. A simple command is a text whose quotes are gone, so that a word of a longer
//! one looks like a word of its own: `--format='%h --stat'` has no option `--stat`.

/// Returns the words of a line that are only part of a word: those in quotes with blanks, behind an escaped blank, and in
/// substitutions.
pub(super) fn inner_words(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = None;
    let (mut quote, mut depth) = (None::<char>, 0_usize);
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                let escaped = letters.next();
                if escaped.is_some_and(|(_, letter)| letter == ' ') && begin.is_none() && quote.is_none() && depth == 0
                {
                    // What follows goes on until a blank that is not escaped.
                    let rest = &line[at + 2..];
                    found.extend(rest.split([' ', '\t', '\n', ';', '|', '&']).next());
                }
            }
            (Some('"'), '"') if depth == 0 => quote = None,
            (None, '\'' | '"') if depth == 0 => quote = Some(letter),
            (_, '`') => depth = usize::from(depth == 0),
            (_, '(') => depth += 1,
            (_, ')') => depth = depth.saturating_sub(1),
            (_, _) => {}
        }
        match (quote.is_some() || depth > 0, begin) {
            (true, None) => begin = Some(at + letter.len_utf8()),
            (false, Some(from)) => {
                found.extend(words(&line[from..at]));
                begin = None;
            }
            _ => {}
        }
    }
    found.extend(begin.map(|from| words(&line[from..])).into_iter().flatten());
    found
}

/// Returns the words of a text, if there are several.
fn words(text: &str) -> Vec<&str> {
    let is_mark = |letter: char| letter.is_whitespace() || "'\"()`$;|&".contains(letter);
    let words: Vec<&str> = text.split(is_mark).filter(|word| !word.is_empty()).collect();
    if words.len() > 1 { words } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotes_and_substitutions_are_found_and_others_are_not() {
        let cases: &[(&str, &[&str])] = &[
            ("git log -p --stat", &[]),
            ("git log '--stat' \"HEAD\"", &[]),
            ("git log --format='%h --stat'", &["%h", "--stat"]),
            ("git log --format=\"%h -- a\" -p", &["%h", "--", "a"]),
            ("git log --format=x\\ --stat -p", &["--stat"]),
            ("git --git-dir=$(git rev-parse --git-dir) show", &["git", "rev-parse", "--git-dir"]),
            ("git --git-dir=`git rev-parse x` show", &["git", "rev-parse", "x"]),
            ("git show \"$(echo 'a b')\" -p", &["echo", "a", "b"]),
            ("git -C 'x status' show", &["x", "status"]),
        ];
        for (line, expected) in cases {
            assert_eq!(inner_words(line), *expected, "{line}");
        }
    }
}
