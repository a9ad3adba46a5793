//! Expands braces: `{a,b}` and `{1..9}` in one pass over a word.

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

/// Expands the braces of a word. Returns `None` if there would be too many words, levels or bytes.
///
/// `opaque` says how many bytes at the beginning of a text are passed as they are: something quoted, or a substitution.
/// The work is in proportion to the word and to what it expands to.
///
/// ```
/// use vertebra_shell::expand_braces;
///
/// let words = expand_braces("a{b,c{1..3}}", 256, 1000, |_| 0);
/// assert_eq!(words.as_deref(), Some(["ab", "ac1", "ac2", "ac3"].map(String::from).as_slice()));
/// ```
pub fn expand_braces(
    word: &str,
    most_words: usize,
    most_bytes: usize,
    opaque: impl Fn(&str) -> usize,
) -> Option<Vec<String>> {
    let pieces = pieces(word, opaque)?;
    Limits { words: most_words, bytes: most_bytes }.expand(&pieces)
}

fn pieces(raw: &str, opaque: impl Fn(&str) -> usize) -> Option<Vec<Piece<'_>>> {
    let mut word: Vec<Piece<'_>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let (mut text, mut at) = (0, 0);
    while let Some(c) = raw.get(at..).and_then(|rest| rest.chars().next()) {
        let before = at;
        let passed = opaque(&raw[at..]);
        at += if passed > 0 { passed } else { c.len_utf8() };
        match c {
            _ if passed > 0 => {}
            '{' if open.len() >= MAX_DEPTH => return None,
            '{' => {
                open.last_mut().map_or(&mut word, |open| &mut open.current).push(Piece::Text(&raw[text..before]));
                open.push(Open { begin: at, parts: Vec::new(), current: Vec::new() });
                text = at;
            }
            ',' | '}' => {
                let Some(inner) = open.last_mut() else { continue };
                inner.current.push(Piece::Text(&raw[text..before]));
                text = at;
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

/// What is left of what may be made.
struct Limits {
    words: usize,
    bytes: usize,
}

impl Limits {
    /// All words that these pieces make, or `None` if they are too many.
    fn expand(&mut self, pieces: &[Piece<'_>]) -> Option<Vec<String>> {
        let mut words = vec![String::new()];
        for piece in pieces {
            let values = match piece {
                Piece::Text(text) => {
                    self.bytes = self.bytes.checked_sub(text.len() * words.len())?;
                    for word in &mut words {
                        word.push_str(text);
                    }
                    continue;
                }
                Piece::Values(values) => values.clone(),
                Piece::Choice(parts) => {
                    let mut values = Vec::new();
                    for part in parts {
                        values.extend(self.expand(part)?);
                        if values.len() > self.words {
                            return None;
                        }
                    }
                    values
                }
            };
            if words.len() * values.len() > self.words {
                return None;
            }
            let bytes: usize = words.iter().chain(&values).map(String::len).sum();
            self.bytes = self.bytes.checked_sub(bytes * words.len().max(values.len()))?;
            words = words.iter().flat_map(|word| values.iter().map(move |value| format!("{word}{value}"))).collect();
        }
        Some(words)
    }
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
        let opaque =
            |rest: &str| rest.strip_prefix('\'').map_or(0, |inner| inner.find('\'').map_or(rest.len(), |end| end + 2));
        let words = |raw| expand_braces(raw, 256, 1000, opaque).expect("few");
        assert_eq!(words("{rm,-rf,x}"), ["rm", "-rf", "x"]);
        assert_eq!(words("a{b,c{1..3}}d"), ["abd", "ac1d", "ac2d", "ac3d"]);
        assert_eq!(words("'{a,b}'{z}"), ["'{a,b}'{z}"]);
        assert_eq!(words("{a,b}{c,d}"), ["ac", "ad", "bc", "bd"]);
        assert_eq!(words("{{a,b}}"), ["{a}", "{b}"]);
        assert_eq!(words("{x,{a,b}"), ["{x,a", "{x,b"]);
        assert_eq!(words("x,y}z"), ["x,y}z"]);
        assert_eq!(words("{,a}"), ["", "a"]);
    }

    #[test]
    fn braces_that_make_too_much_are_not_expanded() {
        let expand = |word: &str, most_bytes: usize| expand_braces(word, 256, most_bytes, |_| 0);
        assert_eq!(expand(&"{a,b}".repeat(20), 1 << 20), None);
        assert_eq!(expand(&"{".repeat(20_000), 1 << 20), None);
        assert_eq!(expand(&format!("{{a,b}}{}", "x".repeat(100)), 100), None);
    }
}
