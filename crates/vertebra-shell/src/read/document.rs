//! Here-documents: text that starts on the next line, and is a script when a shell reads it.

use super::scan::{Part, Scan, Source};
use crate::simple::Via;

/// A here-document whose text was not reached yet.
pub(super) struct Pending {
    pub(super) end: String,
    pub(super) strip_tabs: bool,
    pub(super) expands: bool,
    pub(super) is_script: bool,
    /// The command that reads it.
    pub(super) number: Option<usize>,
}

impl Scan<'_, '_> {
    /// Reads the here-documents that were announced before the line break here.
    pub(super) fn documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let start = self.at;
            let (mut stop, mut closed) = (self.len(), false);
            while !closed && self.at < self.len() {
                let line_start = self.at;
                let rest = self.slice(line_start, self.len());
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (line_start + line.len() + 1).min(self.len());
                let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    (stop, closed) = (line_start, true);
                }
            }
            self.found.charge(self.at - start);
            self.broken |= !closed;
            let outer = std::mem::replace(&mut self.found.outer, document.number);
            let body = self.slice(start, stop);
            if document.is_script {
                // In a makefile, that hides a command from the output.
                self.reread(&body.replace("\t@", "\t"), Source::Made, Via::Script);
            } else if document.expands {
                self.apart(start, stop, Part::Expansions);
            }
            self.found.outer = outer;
            self.found.documents.push((document.number, body.to_owned()));
        }
    }
}
