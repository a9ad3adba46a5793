//! What is done about characters that nobody sees and a model reads.

use std::borrow::Cow;

use crate::invisible::is_smuggled;

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
        if self == Self::Keep || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let (mut treated, mut count, mut before) = (String::with_capacity(text.len()), 0, '\n');
        let mut letters = text.chars().peekable();
        while let Some(c) = letters.next() {
            let after = letters.peek().copied().unwrap_or('\n');
            let is_smuggled = is_smuggled(c, before, after);
            count += usize::from(is_smuggled);
            match self {
                Self::Label if is_smuggled => treated.extend(c.escape_unicode()),
                Self::Strip if is_smuggled => {}
                Self::Strip | Self::Label | Self::Keep => treated.push(c),
            }
            before = c;
        }
        if count == 0 {
            return Cow::Borrowed(text);
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
        // A byte for each selector, a bit for each joiner, and letters that look like nothing.
        assert_eq!(Invisible::Strip.treat("😀\u{fe00}\u{fe0f}\u{fe0e}").lines().next(), Some("😀"));
        assert_eq!(Invisible::Label.treat("a\u{200c}\u{200d}\u{200c}b"), "a\\u{200c}\\u{200d}\\u{200c}b");
        assert_eq!(Invisible::Label.treat("x\u{3164}\u{2800}y"), "x\\u{3164}\\u{2800}y");
        for plain in
            ["\u{e0b0} icon", "❤\u{fe0f}\u{200d}🔥", "naïve 日本語", "می\u{200c}خواهم", "👨\u{200d}👩", "❤\u{fe0f}"]
        {
            assert!(matches!(Invisible::Strip.treat(plain), Cow::Borrowed(_)), "{plain}");
        }
    }
}
