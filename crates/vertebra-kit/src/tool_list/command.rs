//! Whether a command line writes files.

/// Whether a command line may write into a file other than `/dev/null`. Where a quote may be something else, as around a
/// substitution, in a here-document or in a comment, every `>` counts.
pub(super) fn is_redirected(line: &str) -> bool {
    let comment = line.contains('#') && line.contains('\n');
    if comment || ["$(", "`", "$'", "<<"].iter().any(|mark| line.contains(mark)) {
        return line.contains('>');
    }
    let mut quote = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '>') if !goes_nowhere(&line[at + 1..]) => return true,
            _ => {}
        }
    }
    false
}

/// Whether what stands behind a `>` is another stream, as in `2>&1`, or `/dev/null`.
fn goes_nowhere(target: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&', ')']);
    let stream = target.strip_prefix('&').and_then(|rest| rest.strip_prefix(|c: char| c.is_ascii_digit()));
    let null = target.trim_start_matches(['>', ' ']).strip_prefix("/dev/null");
    stream.into_iter().chain(null).any(ends)
}
