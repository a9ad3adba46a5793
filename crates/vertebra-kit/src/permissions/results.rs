//! Removes lines about paths that a rule denies reading from the output of a search.

/// Returns the output of a search without the lines about refused paths, and a note that names the rules. Returns `None` if
/// no line is refused. `refused` returns the rule that refuses a path.
///
/// A line is about the path that it is, the path that it starts with (`a.rs:12:…`, `a.rs-12-…`), or the path of the last
/// line above it without a number (`12:…` below `a.rs`).
pub(super) fn without_refused<'r>(output: &str, refused: impl Fn(&str) -> Option<&'r str>) -> Option<String> {
    let mut kept = String::with_capacity(output.len());
    let (mut hidden, mut below_refused, mut rules) = (0, false, Vec::new());
    for line in output.split_inclusive('\n') {
        let refused_by = names(line.trim_end()).into_iter().find_map(&refused);
        rules.extend(refused_by.filter(|rule| !rules.contains(rule)));
        // A path may look like a line of a file: `2024-reports/a`.
        below_refused = refused_by.is_some() || (below_refused && belongs_to_the_one_above(line));
        if below_refused {
            hidden += 1;
        } else {
            kept.push_str(line);
        }
    }
    if hidden > 0 && !kept.is_empty() && !kept.ends_with('\n') {
        kept.push('\n');
    }
    let lines = if hidden == 1 { "line" } else { "lines" };
    let by = if rules.len() == 1 { "rule" } else { "rules" };
    (hidden > 0).then(|| format!("{kept}[{hidden} {lines} hidden by {by} {}]\n", rules.join(", ")))
}

/// Returns whether a line continues the one above: `12:…`, `12-…`, `--`, or indented.
fn belongs_to_the_one_above(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("--") || line.starts_with([' ', '\t']) || (rest.len() < line.len() && rest.starts_with([':', '-']))
}

/// Returns the paths that a line may be about.
fn names(line: &str) -> Vec<&str> {
    let numbered = line.match_indices('-').map(|(at, _)| at).filter(|at| belongs_to_the_one_above(&line[at + 1..]));
    let ends = line.find(':').into_iter().chain(line.find(" (")).chain(numbered.take(8));
    // A name with control characters is quoted.
    let quoted = line.strip_prefix('"').and_then(|rest| Some(rest.rsplit_once('"')?.0));
    std::iter::once(line).chain(ends.map(|end| &line[..end])).chain(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_refused_paths_are_hidden_in_every_common_format() {
        let refused = |path: &str| path.starts_with("secret/").then_some("Read(secret/**)");
        let left_out = |text: &str| without_refused(text, refused);
        let notice = |count: usize| {
            format!("[{count} {} hidden by rule Read(secret/**)]\n", if count == 1 { "line" } else { "lines" })
        };
        assert_eq!(left_out("a.rs:1:x\nsecret/key:2:y\nb.rs:3:z"), Some(format!("a.rs:1:x\nb.rs:3:z\n{}", notice(1))));
        assert_eq!(left_out("a.rs-1-x\nsecret/a-b-2-y\n--\n"), Some(format!("a.rs-1-x\n{}", notice(2))));
        assert_eq!(
            left_out("a.rs\n1:see secret/key\nsecret/key\n1:y\n2-z\n--\n9:y\nb.rs\n1:x\n"),
            Some(format!("a.rs\n1:see secret/key\nb.rs\n1:x\n{}", notice(5)))
        );
        assert_eq!(left_out("secret/ \nsecret/key (3 bytes)\nx\n"), Some(format!("x\n{}", notice(2))));
        assert_eq!(left_out("a.rs\n1:x\n"), None);
        assert_eq!(left_out("\"secret/a\\nb\"\n1:x\n\"secret/a\\nb\" (3 bytes)\n"), Some(notice(3)));
        let dated = |path: &str| path.starts_with("2024-secret/").then_some("Read(secret/**)");
        let dated = |text: &str| without_refused(text, dated);
        assert_eq!(dated("a.rs\n1:x\n2024-secret/key\n1:y\nb.rs\n"), Some(format!("a.rs\n1:x\nb.rs\n{}", notice(2))));
        assert_eq!(left_out(""), None);
        let two = |path: &str| match path {
            "a" => Some("Read(a)"),
            "b" => Some("Read(b)"),
            _ => None,
        };
        assert_eq!(
            without_refused("a:1:x\nb:2:y\na:3:z\n", two),
            Some("[3 lines hidden by rules Read(a), Read(b)]\n".to_owned())
        );
    }
}
