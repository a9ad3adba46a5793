//! Where output goes: text that stays, and a few lines under it that change.

/// Where a view draws. Text comes cleaned of others' escape sequences; those in it are ours.
pub(crate) trait Surface: Send {
    /// Writes lines that stay. `text` ends with a newline.
    fn write(&mut self, text: &str);

    /// Writes lines of what the run is for: the answer. On a terminal they stand among the rest; in a pipe they alone go
    /// to standard output, and the rest goes to standard error.
    fn answer(&mut self, text: &str) {
        self.write(text);
    }

    /// Puts these lines under everything else, in place of those that were there. A pipe has no such place.
    fn footer(&mut self, lines: Vec<String>);

    /// How many columns there are.
    fn width(&self) -> usize;
}
