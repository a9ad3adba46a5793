//! The words a command receives, and how expansions become words.

use super::value::bounded;

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    /// It has an unquoted character of a pattern.
    pub(super) glob: bool,
}

impl Field {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), glob: false }
    }
}

pub(super) fn plain(texts: impl IntoIterator<Item = String>) -> Vec<Field> {
    texts.into_iter().map(Field::plain).collect()
}

pub(super) fn texts(fields: &[Field]) -> Vec<&str> {
    fields.iter().map(|field| field.text.as_str()).collect()
}

/// Words in the making.
#[derive(Default)]
pub(super) struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
    /// How many bytes it took to make them.
    bytes: usize,
}

impl Fields {
    /// Text in quotes, or escaped: it makes a word even when it is empty.
    pub(super) fn quoted(&mut self, text: &str) {
        self.bytes += text.len();
        self.current.get_or_insert_default().text.push_str(text);
    }

    /// Text as it stands.
    pub(super) fn literal(&mut self, c: char) {
        self.bytes += 1;
        let current = self.current.get_or_insert_default();
        current.glob |= matches!(c, '*' | '?' | '[');
        current.text.push(c);
    }

    /// What an unquoted expansion gave.
    pub(super) fn split(&mut self, value: &str, separators: &str) {
        for c in value.chars() {
            if separators.contains(c) {
                self.end();
            } else {
                self.literal(c);
            }
        }
    }

    /// Ends the word, if there is one.
    pub(super) fn end(&mut self) {
        self.done.extend(self.current.take());
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.done.len()
    }

    pub(super) fn finish(mut self) -> Vec<Field> {
        self.end();
        for field in &mut self.done {
            field.text = bounded(std::mem::take(&mut field.text));
        }
        self.done
    }
}
