//! Where output goes: permanent text, and a few changing lines below it.

/// A place where a view draws. Its text contains only our own escape sequences.
pub(crate) trait Surface: Send {
    /// Writes permanent lines. `text` ends with a newline.
    fn write(&mut self, text: &str);

    /// Writes lines of the answer. On a terminal they appear among the other lines. In a pipe only the answer goes to standard
    /// output, and the rest goes to standard error.
    fn answer(&mut self, text: &str) {
        self.write(text);
    }

    /// Replaces the lines below all other text. A pipe has no such lines.
    fn footer(&mut self, lines: Vec<String>);

    /// Returns the number of columns.
    fn width(&self) -> usize;

    /// Returns how many rows are on the screen.
    fn height(&self) -> usize {
        24
    }
}
