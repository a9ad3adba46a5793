//! Names and lists of names, as people write them.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};

/// Words as people write them: `a, b`, `a b` or a list. What stands in parentheses stays together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl Words {
    pub(crate) fn split(text: &str) -> Self {
        let mut depth = 0_u32;
        let apart = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (c == ',' || c.is_whitespace())
        };
        Self(text.split(apart).filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names, such as `[read_file, grep]` or `read_file, grep`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words::split(text))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Words, E> {
                Err(E::custom("the field is empty; write `[]` for none, or leave it out"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element::<String>()? {
                    words.push(word.trim().to_owned());
                }
                Ok(Words(words))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A field that may be left out, but not left empty: nothing at all and everything are too far apart.
pub(crate) fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Words>, D::Error> {
    Words::deserialize(deserializer).map(Some)
}

/// Whether a name of an agent or a skill is one: `^[a-z0-9][a-z0-9_-]*$`, at most 64 letters. Nothing else can leave a
/// folder, close a tag or be mistaken for an option.
pub(crate) fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=64).contains(&name.len())
        && name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || matches!(byte, b'_' | b'-'))
}

pub(crate) const NAME_RULE: &str = "names are lower-case letters, digits, `-` and `_`, at most 64 of them";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::tree, *};

    #[test]
    fn lists_are_read_as_people_write_them() {
        for written in ["Read, Grep, Bash(git add *)", "Read Grep Bash(git add *)", "Read,Grep , Bash(git add *)"] {
            assert_eq!(Words::split(written).0, ["Read", "Grep", "Bash(git add *)"]);
        }
        let of = |value: &str| {
            let document = tree::read(&format!("names: {value}")).expect("YAML");
            let names: BTreeMap<String, Words> = Deserialize::deserialize(&document).expect("a list");
            names["names"].0.clone()
        };
        assert_eq!(of("[]"), [""; 0]);
        assert_eq!(of("Read"), ["Read"]);
        assert_eq!(of("\n- Read\n- Bash(git add *)"), ["Read", "Bash(git add *)"]);
    }

    #[test]
    fn names_cannot_leave_their_folder() {
        assert!(["a", "code-review", "x_1", "9lives"].into_iter().all(is_name));
        let no = ["", "A", "-a", "_a", "a/b", "..", "a.b", "a b", "ä", "a\n"];
        assert!(!no.into_iter().any(is_name));
        assert!(is_name(&"a".repeat(64)) && !is_name(&"a".repeat(65)));
    }
}
