//! Keeps secrets out of the log. Text that looks like a secret is replaced by a keyed hash, so that equal secrets stay equal.
//!
//! Detection works on the shape of a word and uses no regular expressions, which take longer to compile than an event takes to
//! judge. A password that is an ordinary word is found only after a name such as `password`.

use std::{io, path::Path};

use serde_json::Value;

use super::log::cut;
use crate::key::machine_key;

/// The file with the key of the hashes.
const KEY_FILE: &str = "hook-log.key";

/// The length from which a word of letters and digits counts as a secret.
const LONG: usize = 20;

/// Names whose value always counts as a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "bearer",
    "basic",
    "credential",
    "private_key",
];

/// Replaces secrets by hashes.
pub(super) struct Mask {
    key: [u8; 32],
}

impl Mask {
    /// Creates a mask with this machine's key, which only its owner can read. Without a key, short secrets could be guessed.
    pub(super) fn of_machine(folder: &Path) -> io::Result<Self> {
        Ok(Self { key: machine_key(&folder.join(KEY_FILE))? })
    }

    /// Returns a value without secrets and with long texts cut.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(list) => list.iter().map(|inner| self.value(inner)).collect(),
            Value::Object(map) => {
                let hidden = |key: &str, inner: &Value| match inner {
                    Value::String(text) if is_name(key) => self.hidden(text).into(),
                    Value::Number(_) | Value::Array(_) | Value::Object(_) if is_name(key) => {
                        self.hidden(&inner.to_string()).into()
                    }
                    inner => self.value(inner),
                };
                map.iter().map(|(key, inner)| (key.clone(), hidden(key, inner))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Returns a text without secrets, cut to its maximum length.
    pub(super) fn text(&self, text: &str) -> String {
        let text = cut(text);
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        let mut named = false;
        while let Some(first) = rest.chars().next() {
            let word = &rest[..rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len())];
            // Between a name and its value: `password=x`, `"token": "x"`, `Authorization: Bearer x`.
            let between = matches!(first, ' ' | '=' | ':' | '"' | '\'');
            if named && !between && !is_name(word) {
                // A value may contain any characters.
                let end = rest.find(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''));
                let (value, after) = rest.split_at(end.unwrap_or(rest.len()));
                out.push_str(&self.hidden(value));
                (rest, named) = (after, false);
                continue;
            }
            if let Some((name, after)) = out.ends_with("://").then(|| credentials(rest)).flatten() {
                // `https://name:password@host`
                out.push_str(&self.hidden(name));
                (rest, named) = (after, false);
                continue;
            }
            if word.is_empty() {
                named &= between;
                out.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            if looks_secret(word) {
                out.push_str(&self.hidden(word));
            } else {
                out.push_str(word);
            }
            named = is_name(word);
            rest = &rest[word.len()..];
        }
        out
    }

    fn hidden(&self, secret: &str) -> String {
        let print = blake3::keyed_hash(&self.key, secret.as_bytes()).to_hex();
        format!("[hidden {}]", &print[..12])
    }
}

/// Splits off the credentials before the `@` of an address, if it has any.
fn credentials(rest: &str) -> Option<(&str, &str)> {
    let host =
        rest.find(|letter: char| letter.is_whitespace() || matches!(letter, '/' | '"' | '\'')).unwrap_or(rest.len());
    let at = rest[..host].rfind('@')?;
    Some(rest.split_at(at))
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+')
}

fn is_name(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    NAMES.iter().any(|name| word.ends_with(name))
}

fn looks_secret(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    let known = ["sk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "glpat-"].iter();
    known.clone().any(|start| word.starts_with(start) && word.len() > start.len() + 8)
        || (word.len() >= LONG && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MASK: Mask = Mask { key: [7; 32] };

    #[test]
    fn secrets_are_hidden_and_ordinary_words_are_kept() {
        let cases = [
            ("git push origin main --force-with-lease", true),
            ("cargo test -p vertebra-bridge --all-targets", true),
            ("cat crates/vertebra-bridge/src/host/install/mod.rs", true),
            ("curl -H 'Authorization: Bearer abc.def' https://x", false),
            ("export TOKEN=hunter2", false),
            ("psql --password hunter2", false),
            ("git clone https://github.com/a/b.git", true),
            ("mail a@example.org", true),
            ("echo ghp_0123456789abcdef", false),
            ("aws AKIAIOSFODNN7EXAMPLE", false),
            ("key 3f786850e387550fdab836ed7e6dc881de23001b", false),
        ];
        for (text, plain) in cases {
            assert_eq!(MASK.text(text) == text, plain, "{text}: {}", MASK.text(text));
        }
        assert!(!MASK.text("psql --password hunter2 -h db").contains("hunter2"));
        assert_eq!(MASK.text("TOKEN=hunter2"), MASK.text("TOKEN=hunter2"), "equal ones stay equal");
        for text in [
            "curl -H 'Authorization: Basic dXNlcjpodW50ZXIy' https://x",
            "curl -H 'Authorization: Basic a+b/dXNlcjpodW50ZXIy==' https://x",
            "mysql --password='$dXNlcjpodW50ZXIy!'",
            "PASSWORD=p@dXNlcjpodW50ZXIy/x next",
            "git clone https://me:dXNlcjpodW50ZXIy@example.org/a.git",
        ] {
            assert!(!MASK.text(text).contains("dXNlcjpodW50ZXIy"), "{}", MASK.text(text));
        }
    }

    #[test]
    fn a_value_with_a_secret_name_is_hidden() {
        let value = MASK.value(
            &json!({ "args": { "db_password": "a b", "path": "/tmp/x", "n": 1, "token": ["x7"], "secret": 7321 } }),
        );
        assert_eq!(value["args"]["path"], "/tmp/x");
        assert!(!value.to_string().contains("x7") && !value.to_string().contains("7321"), "{value}");
        assert!(value["args"]["db_password"].as_str().is_some_and(|text| text.starts_with("[hidden ")));
    }
}
