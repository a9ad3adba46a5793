//! What is done about characters that nobody sees and a model reads.

use std::borrow::Cow;

use crate::is_invisible;

/// What becomes of invisible characters in the results of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invisible {
    /// They are taken out, and a line at the end says how many there were.
    Strip,
    /// They are written out: `\u{e0041}`.
    Label,
    /// They stay.
    Keep,
}

impl Invisible {
    pub(crate) fn treat(self, text: &str) -> Cow<'_, str> {
        let count = if self == Self::Keep { 0 } else { text.chars().filter(|c| is_invisible(*c)).count() };
        if count == 0 {
            return Cow::Borrowed(text);
        }
        let mut treated = String::with_capacity(text.len());
        for c in text.chars() {
            match self {
                Self::Label if is_invisible(c) => treated.extend(c.escape_unicode()),
                Self::Strip if is_invisible(c) => {}
                Self::Strip | Self::Label | Self::Keep => treated.push(c),
            }
        }
        if self == Self::Strip {
            treated = format!("{treated}\n[{count} invisible characters were taken out]");
        }
        Cow::Owned(treated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_stripped_or_labelled_and_what_scripts_and_emoji_need_stays() {
        let smuggled = "safe\u{e0041}\u{202e}text";
        assert_eq!(Invisible::Strip.treat(smuggled), "safetext\n[2 invisible characters were taken out]");
        assert_eq!(Invisible::Label.treat(smuggled), "safe\\u{e0041}\\u{202e}text");
        assert_eq!(Invisible::Keep.treat(smuggled), smuggled);
        for plain in ["naïve 日本語", "می\u{200c}خواهم", "👨\u{200d}👩", "❤\u{fe0f}"] {
            assert!(matches!(Invisible::Strip.treat(plain), Cow::Borrowed(_)), "{plain}");
        }
    }
}
