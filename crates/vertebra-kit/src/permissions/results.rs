//! Removes lines about paths that a rule denies reading from the output of a search.

/// Returns the output of a search or of a diff without the parts about refused paths, and a note that names the rules.
/// Returns `None` if nothing is refused. `refused` returns the rule that refuses a path. `by_git` says that a path may have a
/// revision in front of it.
///
/// A line is about the path that it is, the path that it starts with (`a.rs:12:…`, `a.rs-12-…`), or the path of the last
/// line above it without a number (`12:…` below `a.rs`). In a diff, everything from the header of a file to that of the next
/// one is about that file.
pub(super) fn without_refused<'r>(
    output: &str,
    by_git: bool,
    refused: impl Fn(&str) -> Option<&'r str>,
) -> Option<String> {
    let mut kept = String::with_capacity(output.len());
    let (mut hidden, mut below_refused, mut rules) = (0, false, Vec::new());
    let mut diff = Diff::default();
    let mut lines = output.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let begins = diff.begins(line, lines.peek().copied().unwrap_or_default());
        let refused_by = match begins {
            Some(paths) => paths.into_iter().find_map(&refused),
            None if diff.is_inside() => None,
            None => names(line.trim_end(), by_git).into_iter().find_map(&refused),
        };
        rules.extend(refused_by.filter(|rule| !rules.contains(rule)));
        let is_hidden = if diff.is_inside() {
            diff.is_hidden |= refused_by.is_some();
            below_refused = false;
            diff.is_hidden
        } else {
            // A path may look like a line of a file: `2024-reports/a`.
            below_refused = refused_by.is_some() || (below_refused && belongs_to_the_one_above(line));
            below_refused
        };
        if is_hidden {
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

/// Where in a diff a line is.
#[derive(Debug, Default)]
struct Diff {
    part: DiffPart,
    /// Whether the current file is refused.
    is_hidden: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum DiffPart {
    /// Outside of a diff.
    #[default]
    Outside,
    /// In the header of a file, or in a part whose length is not known.
    Open,
    /// In a hunk with this many lines of the old and of the new file to come.
    Hunk(u32, u32),
}

impl Diff {
    fn is_inside(&self) -> bool {
        self.part != DiffPart::Outside
    }

    /// Moves to the next line. Returns the paths that it may name if it belongs to the header of a file.
    fn begins<'l>(&mut self, line: &'l str, next: &str) -> Option<Vec<&'l str>> {
        let text = line.trim_end();
        if let DiffPart::Hunk(old, new) = self.part {
            let (old, new) = match line.as_bytes().first() {
                Some(b'+') => (old, new.saturating_sub(1)),
                Some(b'-') => (old.saturating_sub(1), new),
                Some(b'\\') => (old, new),
                _ => (old.saturating_sub(1), new.saturating_sub(1)),
            };
            // Anyone can print the head of a hunk. What no hunk can hold is judged like any other line.
            if is_in_hunk(text) && (self.part != DiffPart::Hunk(0, 0) || line.starts_with('\\')) {
                self.part = DiffPart::Hunk(old, new);
                return None;
            }
        }
        let header = ["diff --git ", "diff --cc ", "diff --combined ", "Index: "]
            .iter()
            .find_map(|start| text.strip_prefix(start));
        let starts_plain = text.starts_with("--- ") && next.starts_with("+++ ");
        if header.is_some() || (starts_plain && self.part != DiffPart::Open) {
            *self = Self { part: DiffPart::Open, is_hidden: false };
        }
        if let Some(header) = header {
            return Some(pairs(header));
        }
        let names = ["--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "];
        if let Some(name) = names.iter().find_map(|start| text.strip_prefix(start)).filter(|_| self.is_inside()) {
            return Some(pairs(name.split('\t').next().unwrap_or(name)));
        }
        if let (Some(hunk), true) = (text.strip_prefix("@@ -"), self.is_inside()) {
            self.part = hunk_lines(hunk).map_or(DiffPart::Open, |(old, new)| DiffPart::Hunk(old, new));
            return None;
        }
        let is_over = match self.part {
            DiffPart::Hunk(old, new) => (old, new) == (0, 0) || !is_in_hunk(text),
            _ => !self.is_hidden && !is_in_hunk(text) && !is_in_header(text),
        } || ["commit ", "From "].iter().any(|start| starts_commit(text, start));
        if self.is_inside() && is_over {
            *self = Self::default();
        }
        None
    }
}

/// Returns whether a line can belong to a hunk.
fn is_in_hunk(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '+', '-', '\\', '@'])
}

/// Returns whether a line can stand between the names of a file and its hunks.
fn is_in_header(line: &str) -> bool {
    let words =
        ["index ", "old mode ", "new mode ", "new file ", "deleted file ", "similarity ", "dissimilarity ", "mode "];
    words.iter().any(|start| line.starts_with(start))
}

/// Returns whether a line is the word and a hash.
fn starts_commit(line: &str, word: &str) -> bool {
    let hash = line.strip_prefix(word).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Parses `1,2 +3,4 @@`: how many lines follow of the old and of the new file.
fn hunk_lines(text: &str) -> Option<(u32, u32)> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// Returns the paths in `a/PATH b/PATH`, with and without their first folder. A path may have blanks.
fn pairs(text: &str) -> Vec<&str> {
    let blanks = text.match_indices(' ').take(32).flat_map(|(at, _)| [&text[..at], &text[at + 1..]]);
    let whole: Vec<&str> = std::iter::once(text).chain(blanks).map(|path| path.trim_matches('"')).collect();
    let inner = whole.iter().filter_map(|path| Some(path.split_once('/')?.1));
    whole.iter().copied().chain(inner).collect()
}

/// Returns whether a line continues the one above: `12:…`, `12-…`, `12=…`, `--`, or indented.
fn belongs_to_the_one_above(line: &str) -> bool {
    line.starts_with("--") || line.starts_with([' ', '\t']) || is_numbered(line)
}

/// Returns whether a line starts with its number and a sign: `12:…`, and `12=…` for the line of a function.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with([':', '-', '='])
}

/// Returns the paths that a line may be about.
fn names(line: &str, by_git: bool) -> Vec<&str> {
    let numbered =
        line.match_indices(['-', '=']).map(|(at, _)| at).filter(|at| belongs_to_the_one_above(&line[at + 1..]));
    let ends = line.find(':').into_iter().chain(line.find(" (")).chain(numbered.take(8));
    // A name with control characters is quoted.
    let quoted = line.strip_prefix('"').and_then(|rest| Some(rest.rsplit_once('"')?.0));
    let mut names: Vec<&str> = std::iter::once(line).chain(ends.map(|end| &line[..end])).chain(quoted).collect();
    // `HEAD:a.rs:12:…`
    if let Some((_, rest)) = line.split_once(':').filter(|_| by_git) {
        names.extend(self::names(rest, false));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_refused_paths_are_hidden_in_every_common_format() {
        let refused = |path: &str| path.starts_with("secret/").then_some("Read(secret/**)");
        let left_out = |text: &str| without_refused(text, false, refused);
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
        let dated = |text: &str| without_refused(text, false, dated);
        assert_eq!(dated("a.rs\n1:x\n2024-secret/key\n1:y\nb.rs\n"), Some(format!("a.rs\n1:x\nb.rs\n{}", notice(2))));
        assert_eq!(left_out(""), None);
        let two = |path: &str| match path {
            "a" => Some("Read(a)"),
            "b" => Some("Read(b)"),
            _ => None,
        };
        assert_eq!(
            without_refused("a:1:x\nb:2:y\na:3:z\n", false, two),
            Some("[3 lines hidden by rules Read(a), Read(b)]\n".to_owned())
        );
    }

    #[test]
    fn the_hunks_of_a_refused_file_are_hidden_whole() {
        let refused = |path: &str| path.strip_suffix(".env").map(|_| "Read(**/.env)");
        let diff = "commit 0123456789\n\n    two\n\ndiff --git a/.env b/.env\nindex 1..2 100644\n--- a/.env\n+++ b/.env\n\
                    @@ -1 +1 @@\n-KEY=old\n+KEY=new\n\\ No newline at end of file\ndiff --git a/x.rs b/x.rs\n--- a/x.rs\n\
                    +++ b/x.rs\n@@ -1,2 +1,2 @@\n .env:1:x\n-a\n+b\n";
        let rest = "commit 0123456789\n\n    two\n\ndiff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n \
                    .env:1:x\n-a\n+b\n[8 lines hidden by rule Read(**/.env)]\n";
        assert_eq!(without_refused(diff, true, refused).as_deref(), Some(rest));
        let cases = [
            ("--- /dev/null\n+++ b/sub/.env\n@@ -0,0 +1,2 @@\n+KEY=1\n+KEY=2\n", "+KEY=2"),
            (
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- .env\t2026\n+++ .env\t2026\n@@ -1 +1 @@\n-c\n+KEY=2\n",
                "+KEY=2",
            ),
            (
                "diff --git a/a b/.env\nsimilarity index 90%\nrename from a\nrename to .env\n@@ -1 +1 @@\n-c\n+KEY=2\n",
                "+KEY=2",
            ),
            ("diff --git a/my .env b/my .env\n@@ -1 +1 @@\n-c\n+KEY=2\n", "+KEY=2"),
            ("diff --cc .env\n@@@ -1,1 -1,1 +1,2 @@@\n++KEY=2\n", "++KEY=2"),
            ("diff --git \"a/\\303.env\" \"b/\\303.env\"\n@@ -1 +1 @@\n-c\n+KEY=2\n", "+KEY=2"),
            ("diff --git a/.env b/.env\nGIT binary patch\nliteral 3\nKEY=2\n\n", "KEY=2"),
            ("diff --git a/.env b/.env\n@@ -1 +1 @@\n--- a\n+++ KEY=2\n", "KEY=2"),
            ("HEAD:.env:3:KEY=2\n", "KEY=2"),
            ("HEAD:.env-3-KEY=2\n", "KEY=2"),
            ("HEAD:.env=3=KEY=2\n", "KEY=2"),
            // The head of a hunk that someone else printed.
            ("diff --git a/x b/x\n@@ -1,9 +1,9 @@\ndiff --git a/.env b/.env\n@@ -1 +1 @@\n-c\n+KEY=2\n", "+KEY=2"),
            ("diff --git a/x b/x\n@@ -1,9 +1,9 @@\nHEAD:.env:3:KEY=2\n", "KEY=2"),
            ("diff --git a/x b/x\nHEAD:.env:3:KEY=2\n", "KEY=2"),
        ];
        for (text, secret) in cases {
            let left = without_refused(text, true, refused).unwrap_or_else(|| panic!("{text}"));
            assert!(!left.contains(secret), "{text}\n{left}");
        }
        let log = "diff --git a/.env b/.env\n@@ -1 +1 @@\n-c\n+KEY=2\n\nsubject two\n";
        assert!(without_refused(log, true, refused).is_some_and(|left| left.contains("subject two")));
    }
}
