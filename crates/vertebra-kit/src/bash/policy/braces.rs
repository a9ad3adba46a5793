//! Expands braces: `{a,b}` and `{1..9}` in one pass over a word.

use super::lex::Cursor;

/// The largest number of words that braces may expand to.
const MAX_WORDS: usize = 256;
/// How deeply braces may be nested.
const MAX_DEPTH: usize = 40;

/// A part of a word.
enum Piece<'t> {
    Text(&'t str),
    Choice(Vec<Vec<Piece<'t>>>),
    Values(Vec<String>),
}

/// A brace that is not closed yet.
struct Open<'t> {
    /// The byte after the brace.
    begin: usize,
    /// The alternatives before the last comma.
    parts: Vec<Vec<Piece<'t>>>,
    current: Vec<Piece<'t>>,
}

/// Expands the braces of a raw word. Returns `None` if there are too many words, levels or bytes.
pub(super) fn braces(raw: &str, most_bytes: usize) -> Option<Vec<String>> {
    let pieces = pieces(raw)?;
    let mut left = most_bytes;
    expand(&pieces, &mut left)
}

fn pieces(raw: &str) -> Option<Vec<Piece<'_>>> {
    let mut cursor = Cursor::new(raw);
    let mut word: Vec<Piece<'_>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut text = 0;
    while let Some(c) = cursor.bump() {
        let before = cursor.at - c.len_utf8();
        match c {
            _ if cursor.pass_quoted(c) => {}
            '$' => cursor.pass_dollar(),
            '{' if open.len() >= MAX_DEPTH => return None,
            '{' => {
                open.last_mut().map_or(&mut word, |open| &mut open.current).push(Piece::Text(&raw[text..before]));
                open.push(Open { begin: cursor.at, parts: Vec::new(), current: Vec::new() });
                text = cursor.at;
            }
            ',' | '}' => {
                let Some(inner) = open.last_mut() else { continue };
                inner.current.push(Piece::Text(&raw[text..before]));
                text = cursor.at;
                if c == ',' {
                    let part = std::mem::take(&mut inner.current);
                    inner.parts.push(part);
                } else if let Some(inner) = open.pop() {
                    let outer = open.last_mut().map_or(&mut word, |open| &mut open.current);
                    close(inner, &raw[..before], outer);
                }
            }
            _ => {}
        }
    }
    open.last_mut().map_or(&mut word, |open| &mut open.current).push(Piece::Text(&raw[text..]));
    // A brace that is never closed is text, and so are its commas.
    while let Some(inner) = open.pop() {
        let outer = open.last_mut().map_or(&mut word, |open| &mut open.current);
        outer.push(Piece::Text("{"));
        for part in inner.parts {
            outer.extend(part);
            outer.push(Piece::Text(","));
        }
        outer.extend(inner.current);
    }
    Some(word)
}

/// Puts a closed brace into what stands around it. Without alternatives it is text.
fn close<'t>(inner: Open<'t>, until: &'t str, outer: &mut Vec<Piece<'t>>) {
    let Open { begin, mut parts, current } = inner;
    if !parts.is_empty() {
        parts.push(current);
        outer.push(Piece::Choice(parts));
    } else if let Some(values) = range(&until[begin..]) {
        outer.push(Piece::Values(values));
    } else {
        outer.push(Piece::Text("{"));
        outer.extend(current);
        outer.push(Piece::Text("}"));
    }
}

/// All words that these pieces make, or `None` if they are too many.
fn expand(pieces: &[Piece<'_>], left: &mut usize) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    for piece in pieces {
        let values = match piece {
            Piece::Text(text) => {
                *left = left.checked_sub(text.len() * words.len())?;
                words.iter_mut().for_each(|word| word.push_str(text));
                continue;
            }
            Piece::Values(values) => values.clone(),
            Piece::Choice(parts) => {
                let mut values = Vec::new();
                for part in parts {
                    values.extend(expand(part, left)?);
                    if values.len() > MAX_WORDS {
                        return None;
                    }
                }
                values
            }
        };
        if words.len() * values.len() > MAX_WORDS {
            return None;
        }
        let bytes: usize = words.iter().chain(&values).map(String::len).sum();
        *left = left.checked_sub(bytes * words.len().max(values.len()))?;
        words = words.iter().flat_map(|word| values.iter().map(move |value| format!("{word}{value}"))).collect();
    }
    Some(words)
}

/// `a..e`, `1..9`, `1..9..2`.
fn range(body: &str) -> Option<Vec<String>> {
    let mut ends = body.split("..");
    let (first, last, step) = (ends.next()?, ends.next()?, ends.next().unwrap_or("1"));
    let step: i64 = step.parse().ok()?;
    let step = step.unsigned_abs().max(1);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let (low, high) = (first.min(last), first.max(last));
        let steps = high.abs_diff(low) / step;
        // A longer range consists of numbers too, so its ends are enough to judge it.
        if steps > 64 {
            return Some(vec![first.to_string(), last.to_string()]);
        }
        let numbers = (0..=steps).map(|at| low.saturating_add_unsigned(at * step).to_string());
        return Some(if first <= last { numbers.collect() } else { numbers.rev().collect() });
    }
    let one = |text: &str| text.chars().next().filter(|c| c.is_ascii_alphabetic() && text.len() == 1);
    let (first, last) = (one(first)?, one(last)?);
    let (low, high) = (first.min(last), first.max(last));
    let mut letters: Vec<String> = (low..=high).step_by(usize::try_from(step).ok()?).map(String::from).collect();
    if first > last {
        letters.reverse();
    }
    Some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_words() {
        let words = |raw| braces(raw, 1000).expect("few");
        assert_eq!(words("{rm,-rf,x}"), ["rm", "-rf", "x"]);
        assert_eq!(words("a{b,c{1..3}}d"), ["abd", "ac1d", "ac2d", "ac3d"]);
        assert_eq!(words("'{a,b}'${x}{z}"), ["'{a,b}'${x}{z}"]);
        assert_eq!(words("{a,b}{c,d}"), ["ac", "ad", "bc", "bd"]);
        assert_eq!(words("{{a,b}}"), ["{a}", "{b}"]);
        assert_eq!(words("{x,{a,b}"), ["{x,a", "{x,b"]);
        assert_eq!(words("x,y}z"), ["x,y}z"]);
        assert_eq!(words("{,a}"), ["", "a"]);
    }

    #[test]
    fn braces_that_make_too_much_are_not_expanded() {
        assert_eq!(braces(&"{a,b}".repeat(20), 1 << 20), None);
        assert_eq!(braces(&"{".repeat(20_000), 1 << 20), None);
        assert_eq!(braces(&format!("{{a,b}}{}", "x".repeat(100)), 100), None);
    }
}
