//! Text cut in the middle.

/// The head and the tail of a text, so many characters in all, with a word between them about what is left out.
pub(crate) fn head_and_tail(text: &str, chars: usize) -> String {
    // Most texts are short, and then bytes say enough.
    let count = if text.len() <= chars { text.len() } else { text.chars().count() };
    if count <= chars {
        return text.to_owned();
    }
    let tail = chars / 3;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (head, rest) = (at(chars - tail), at(count - tail));
    format!("{}\n[… {} characters left out …]\n{}", &text[..head], count - chars, &text[rest..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out_and_counted() {
        assert_eq!(head_and_tail("0123456789", 10), "0123456789");
        assert_eq!(head_and_tail("0123456789", 6), "0123\n[… 4 characters left out …]\n89");
        assert_eq!(head_and_tail("äöüäöüäöü", 3), "äö\n[… 6 characters left out …]\nü");
        assert_eq!(head_and_tail("abc", 0), "\n[… 3 characters left out …]\n");
    }
}
