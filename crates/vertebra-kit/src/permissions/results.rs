//! What a search may show: nothing of paths that a rule refuses to read.

/// The lines of a search's output that are about other paths than refused ones, and how many are not; `None` if all are.
///
/// A line is about the path it is, the path it begins with (`a.rs:12:…`, `a.rs-12-…`), or the path of the last line
/// before it that stands without a number (`12:…` below `a.rs`).
pub(super) fn without_refused(output: &str, refused: impl Fn(&str) -> bool) -> Option<String> {
    let mut kept = String::with_capacity(output.len());
    let (mut hidden, mut below_refused) = (0, false);
    for line in output.split_inclusive('\n') {
        let is_refused = names(line.trim_end()).into_iter().any(&refused);
        // A path may look like a line of a file: `2024-reports/a`.
        below_refused = is_refused || (below_refused && belongs_to_the_one_above(line));
        if below_refused {
            hidden += 1;
        } else {
            kept.push_str(line);
        }
    }
    if hidden > 0 && !kept.is_empty() && !kept.ends_with('\n') {
        kept.push('\n');
    }
    (hidden > 0).then(|| format!("{kept}[lines left out because a rule refuses to read what they show: {hidden}]\n"))
}

/// `12:…`, `12-…`, `--`, or indented.
fn belongs_to_the_one_above(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("--") || line.starts_with([' ', '\t']) || (rest.len() < line.len() && rest.starts_with([':', '-']))
}

/// The paths that a line may be about.
fn names(line: &str) -> Vec<&str> {
    let numbered = line.match_indices('-').map(|(at, _)| at).filter(|at| belongs_to_the_one_above(&line[at + 1..]));
    let ends = line.find(':').into_iter().chain(line.find(" (")).chain(numbered.take(8));
    // A name with control characters in it is written as a quoted text.
    let quoted = line.strip_prefix('"').and_then(|rest| Some(rest.rsplit_once('"')?.0));
    std::iter::once(line).chain(ends.map(|end| &line[..end])).chain(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_refused_paths_are_left_out_in_every_common_form() {
        let refused = |path: &str| path.starts_with("secret/");
        let left_out = |text: &str| without_refused(text, refused);
        let notice =
            |count: usize| format!("[lines left out because a rule refuses to read what they show: {count}]\n");
        assert_eq!(left_out("a.rs:1:x\nsecret/key:2:y\nb.rs:3:z"), Some(format!("a.rs:1:x\nb.rs:3:z\n{}", notice(1))));
        assert_eq!(left_out("a.rs-1-x\nsecret/a-b-2-y\n--\n"), Some(format!("a.rs-1-x\n{}", notice(2))));
        assert_eq!(
            left_out("a.rs\n1:see secret/key\nsecret/key\n1:y\n2-z\n--\n9:y\nb.rs\n1:x\n"),
            Some(format!("a.rs\n1:see secret/key\nb.rs\n1:x\n{}", notice(5)))
        );
        assert_eq!(left_out("secret/ \nsecret/key (3 bytes)\nx\n"), Some(format!("x\n{}", notice(2))));
        assert_eq!(left_out("a.rs\n1:x\n"), None);
        assert_eq!(left_out("\"secret/a\\nb\"\n1:x\n\"secret/a\\nb\" (3 bytes)\n"), Some(notice(3)));
        let dated = |text: &str| without_refused(text, |path| path.starts_with("2024-secret/"));
        assert_eq!(dated("a.rs\n1:x\n2024-secret/key\n1:y\nb.rs\n"), Some(format!("a.rs\n1:x\nb.rs\n{}", notice(2))));
        assert_eq!(left_out(""), None);
    }
}
