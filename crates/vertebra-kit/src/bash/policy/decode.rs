//! Undoes encodings of text that is known.

use super::lex::Cursor;

/// Decodes base64, ignoring blanks.
pub(super) fn base64(text: &str) -> Option<String> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    packed(text, 6, digit)
}

/// Decodes base32, ignoring blanks.
pub(super) fn base32(text: &str) -> Option<String> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'2'..=b'7' => Some(c - b'2' + 26),
        _ => None,
    };
    packed(text, 5, digit)
}

/// Decodes pairs of hexadecimal digits, ignoring blanks.
pub(super) fn hex(text: &str) -> Option<String> {
    packed(text, 4, |c| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
}

fn packed(text: &str, bits: u32, digit: impl Fn(u8) -> Option<u8>) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut held, mut count) = (0_u32, 0);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        held = (held << bits) | u32::from(digit(c)?);
        count += bits;
        if count >= 8 {
            count -= 8;
            bytes.extend(u8::try_from(held >> count & 0xff));
            held &= (1 << count) - 1;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the output of `tr` with these words, or `None` for classes and other forms that are not supported.
pub(super) fn translate(words: &[&str], text: &str) -> Option<String> {
    let deletes = words.iter().any(|word| word.starts_with('-') && word.contains('d'));
    let sets: Vec<Vec<char>> = words
        .iter()
        .filter(|word| !word.starts_with('-') || word.len() == 1)
        .map(|set| members(set))
        .collect::<Option<_>>()?;
    match sets.as_slice() {
        [set] if deletes => Some(text.chars().filter(|c| !set.contains(c)).collect()),
        [from, to] if !to.is_empty() => {
            let change = |c: char| {
                let at = from.iter().position(|&from| from == c);
                at.map_or(c, |at| to.get(at).or(to.last()).copied().unwrap_or(c))
            };
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}

fn members(set: &str) -> Option<Vec<char>> {
    let set = match set {
        "[:lower:]" => "a-z",
        "[:upper:]" => "A-Z",
        "[:space:]" => " \t\n",
        "[:digit:]" => "0-9",
        _ if set.contains("[:") => return None,
        _ => set,
    };
    let set = super::lex::ansi(set);
    let mut cursor = Cursor::new(&set);
    let mut all = Vec::new();
    while let Some(c) = cursor.bump() {
        let rest = cursor.rest();
        match rest.strip_prefix('-').and_then(|rest| rest.chars().next()) {
            Some(last) if last >= c && (last as u32 - c as u32) < 256 => {
                cursor.bump();
                cursor.bump();
                all.extend(c..=last);
            }
            _ => all.push(c),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        assert_eq!(base64("cm0gLXJmIH4vdmljdGlt\n").as_deref(), Some("rm -rf ~/victim"));
        assert_eq!(hex("726d 20").as_deref(), Some("rm "));
        assert_eq!(base32("OJWQ====").as_deref(), Some("rm"));
        assert_eq!(translate(&["a-z", "n-za-m"], "ez -es").as_deref(), Some("rm -rf"));
        assert_eq!(translate(&["-d", "x"], "xrxm").as_deref(), Some("rm"));
    }
}
