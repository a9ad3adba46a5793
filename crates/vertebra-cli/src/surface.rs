//! The output of a view: text that scrolls, and a footer below it.

/// The surface that a view draws on. Untrusted escape sequences are removed before; those in the text are ours.
pub(crate) trait Surface: Send {
    /// Writes lines. `text` ends with a newline.
    fn write(&mut self, text: &str);

    /// Writes lines of the answer. In a pipe, only the answer goes to standard output; everything else goes to standard
    /// error.
    fn answer(&mut self, text: &str) {
        self.write(text);
    }

    /// Replaces the footer. A pipe has none.
    fn footer(&mut self, lines: Vec<String>);

    /// Returns the width in columns.
    fn width(&self) -> usize;
}
