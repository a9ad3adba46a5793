//! Where output goes: text that stays, and a few lines under it that change.

/// Where a view draws. Text comes cleaned of others' escape sequences; those in it are ours.
pub(crate) trait Surface: Send {
    /// Writes lines that stay. `text` ends with a newline.
    fn write(&mut self, text: &str);

    /// Puts these lines under everything else, in place of those that were there. A pipe has no such place.
    fn footer(&mut self, lines: Vec<String>);

    /// How many columns there are.
    fn width(&self) -> usize;
}
