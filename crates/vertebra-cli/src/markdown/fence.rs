//! Fenced code, which is written line by line and unchanged.

/// An open code fence.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    mark: char,
    length: usize,
    pub(super) indent: usize,
    pub(super) info: String,
}

impl Fence {
    /// Returns the fence that the line opens, if it is at the top level.
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        let (indent, mark, length, rest) = run(line)?;
        let info = rest.trim();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        Some(Self { mark, length, indent, info: info.to_owned() })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        run(line)
            .is_some_and(|(_, mark, length, rest)| mark == self.mark && length >= self.length && rest.trim().is_empty())
    }

    /// Returns a line of code without the indentation of the fence.
    pub(super) fn inside<'l>(&self, line: &'l str) -> &'l str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        &line[blanks.min(self.indent)..]
    }
}

/// Returns the indentation, the mark, its length and the rest of the line.
fn run(line: &str) -> Option<(usize, char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    (indent < 4).then_some((indent, mark, text.len() - rest.len(), rest))
}
