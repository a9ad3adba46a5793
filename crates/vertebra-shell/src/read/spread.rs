//! Words that a shell makes several of: braces, and blanks that are written as `$IFS`.

use crate::expand_braces;

/// The most words that one is spread into.
const MOST_WORDS: usize = 64;

/// How many bytes they may have for each byte of a command: what would take more is not worth it.
const BYTES_PER_BYTE: usize = 16;

/// Whether a shell may make several words of this one.
pub(super) fn may_spread(word: &str) -> bool {
    word.contains("IFS") || (word.contains('{') && (word.contains(',') || word.contains("..")))
}

/// What may become of these words: as a shell reads them, if that can be told, and cut at every brace, comma and blank. Quotes
/// are gone from them, so either may be wrong.
pub(crate) fn spread(words: &[&str]) -> Vec<Vec<String>> {
    let blank = |word: &str| word.replace("${IFS}", " ").replace("$IFS", " ");
    let mut left = BYTES_PER_BYTE * words.iter().map(|word| word.len() + 16).sum::<usize>();
    let mut read = Some(Vec::new());
    for word in words {
        let found = expand_braces(word, MOST_WORDS, left, variable);
        let bytes: usize = found.iter().flatten().map(String::len).sum();
        left = left.saturating_sub(bytes);
        read = read.filter(|_| found.is_some());
        if let Some(read) = &mut read {
            // Only what stands for a blank divides a word: other blanks were quoted.
            for word in found.into_iter().flatten() {
                let parts = blank(&word.replace(' ', "\0"));
                read.extend(parts.split_whitespace().map(|part| part.replace('\0', " ")));
            }
        }
    }
    let cut = |word: &&str| blank(word).replace(['{', '}', ','], " ");
    let cut = words.iter().map(cut).collect::<Vec<_>>().join(" ").split_whitespace().map(str::to_owned).collect();
    read.into_iter().chain([cut]).collect()
}

/// How long the `${…}` is that a text begins with.
fn variable(text: &str) -> usize {
    if !text.starts_with("${") {
        return 0;
    }
    let mut depth = 0_usize;
    for (at, sign) in text.match_indices(['{', '}']) {
        depth = if sign == "{" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}
