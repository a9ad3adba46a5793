//! What can be done to metadata, and what stands against it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vertebra::Metadata;

use super::MetadataTools;

/// What a model wants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Operation {
    Store(Pair),
    Read(Key),
    List,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    key: String,
    value: Value,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Key {
    key: String,
}

impl Operation {
    /// What can be said against it whatever is stored.
    pub(super) fn check(&self, limits: &MetadataTools) -> Result<(), String> {
        match self {
            Self::Store(Pair { key, value }) => limits.check(key, value),
            Self::Read(Key { key }) if !Metadata::is_open(key) => Err(closed(key)),
            Self::Read(_) | Self::List => Ok(()),
        }
    }

    /// Does it. The answer is for the model.
    pub(super) fn perform(self, limits: &MetadataTools, metadata: &mut Metadata) -> Result<String, String> {
        // Again, because another hook may have changed what the tool had checked.
        self.check(limits)?;
        match self {
            Self::Store(Pair { key, value: Value::Null }) => {
                let was_there = metadata.remove(&key);
                Ok(if was_there { format!("forgot `{key}`") } else { format!("there was no `{key}`") })
            }
            Self::Store(Pair { key, value }) => {
                let bytes = limits.keep(metadata, &key, value)?;
                Ok(format!("stored `{key}` ({bytes} bytes)"))
            }
            Self::Read(Key { key }) => match metadata.get(&key) {
                Some(Value::String(text)) => Ok(text.clone()),
                Some(value) => Ok(value.to_string()),
                None => Err(format!("there is no `{key}`; {}", limits.listed(metadata))),
            },
            Self::List => Ok(limits.listed(metadata)),
        }
    }
}

impl MetadataTools {
    /// Keeps a value that a model wants kept, if it may, and says how many bytes it takes.
    pub(crate) fn keep(&self, metadata: &mut Metadata, key: &str, value: Value) -> Result<usize, String> {
        self.check(key, &value)?;
        self.check_room(metadata, key, &value)?;
        let bytes = bytes(&value);
        metadata.set(key, value);
        Ok(bytes)
    }

    fn check(&self, key: &str, value: &Value) -> Result<(), String> {
        self.check_key(key)?;
        let (length, limit) = (bytes(value), self.max_value_bytes);
        if length > limit {
            return Err(format!("the value of `{key}` takes {length} bytes as JSON; at most {limit} are stored"));
        }
        Ok(())
    }

    /// What stands against a key, whatever it is for.
    pub(crate) fn check_key(&self, key: &str) -> Result<(), String> {
        if !Metadata::is_open(key) {
            return Err(closed(key));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        if key.is_empty() || key.len() > self.max_key_bytes || !key.bytes().all(fits) {
            let shown: String = key.chars().take(40).collect();
            let limit = self.max_key_bytes;
            return Err(format!(
                "`{}` cannot be a key: use 1 to {limit} letters, digits, `_`, `-`, `.` or `:`",
                shown.escape_debug()
            ));
        }
        Ok(())
    }

    /// What stands against one more value, given the others.
    fn check_room(&self, metadata: &Metadata, key: &str, value: &Value) -> Result<(), String> {
        let others = || open(metadata).filter(|(other, _)| *other != key);
        if others().count() >= self.max_keys {
            let limit = self.max_keys;
            return Err(format!("there are {limit} keys, and no more are stored: store `null` under one to forget it"));
        }
        let (total, limit) =
            (others().map(|(_, value)| bytes(value)).sum::<usize>() + bytes(value), self.max_total_bytes);
        if total > limit {
            return Err(format!("all values together would take {total} bytes as JSON; at most {limit} are stored"));
        }
        Ok(())
    }

    /// The keys a model may know of. A hook may have written more than a model may: the list is cut there.
    fn listed(&self, metadata: &Metadata) -> String {
        let mut keys: Vec<(&str, &Value)> = open(metadata).collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        let more = keys.len().saturating_sub(self.max_keys);
        let shown: Vec<String> =
            keys.iter().take(self.max_keys).map(|(key, value)| format!("`{key}` ({} bytes)", bytes(value))).collect();
        match (shown.is_empty(), more) {
            (true, _) => "nothing is stored".to_owned(),
            (false, 0) => format!("stored: {}", shown.join(", ")),
            (false, more) => format!("stored: {}, and {more} more", shown.join(", ")),
        }
    }
}

fn open(metadata: &Metadata) -> impl Iterator<Item = (&str, &Value)> {
    metadata.iter().filter(|(key, _)| Metadata::is_open(key))
}

fn closed(key: &str) -> String {
    let shown: String = key.chars().take(40).collect();
    format!("`{}` is not yours: keys with a slash belong to hooks", shown.escape_debug())
}

/// How long a value is, written as JSON.
fn bytes(value: &Value) -> usize {
    value.to_string().len()
}
