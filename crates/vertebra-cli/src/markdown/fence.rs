//! Fenced code: its lines come out one by one, as they are.

/// A fence that was opened.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    mark: char,
    length: usize,
    pub(super) indent: usize,
    pub(super) info: String,
}

impl Fence {
    /// The fence that the line opens, if it stands in no other block.
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

    /// A line of the code, without the indentation of the fence.
    pub(super) fn inside<'l>(&self, line: &'l str) -> &'l str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        &line[blanks.min(self.indent)..]
    }
}

/// The indentation, the mark, how often it stands there, and the rest of the line.
fn run(line: &str) -> Option<(usize, char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    (indent < 4).then_some((indent, mark, text.len() - rest.len(), rest))
}
