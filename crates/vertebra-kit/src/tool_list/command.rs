//! What a pattern for commands permits.

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

/// Whether a simple command is one that a pattern permits.
pub(super) fn fits(pattern: &str, command: &str) -> bool {
    // `git:*` and `git *` are `git` with or without arguments.
    let prefix = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    match prefix {
        Some(prefix) => wild(prefix, command) || wild(&format!("{prefix} *"), command),
        None => wild(pattern, command),
    }
}

/// Whether text is what a pattern says, in which `*` is any text. Takes no longer than the two lengths multiplied.
fn wild(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
