//! The arguments of a tool call: a JSON object with shared structure.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value, map};
use vertebra_shell::{CommandLine, ParseLimits, parse, quote_line};

/// Arguments of a tool call. Cloning is O(1); the first write after a clone copies. The digest is computed once, and command
/// lines are parsed once.
#[derive(Clone, Default)]
pub struct Args(Arc<Shared>);

#[derive(Default)]
struct Shared {
    map: Map<String, Value>,
    digest: OnceLock<blake3::Hash>,
    lines: OnceLock<Vec<CommandLine>>,
}

impl Clone for Shared {
    /// Arguments are copied to be changed, so the copy has no digest and no parsed lines.
    fn clone(&self) -> Self {
        self.map.clone().into()
    }
}

impl From<Map<String, Value>> for Shared {
    fn from(map: Map<String, Value>) -> Self {
        Self { map, digest: OnceLock::new(), lines: OnceLock::new() }
    }
}

impl Args {
    /// The command lines among the arguments, parsed. One that is a list of words is quoted as a shell would need it.
    pub fn command_lines(&self) -> &[CommandLine] {
        self.0.lines.get_or_init(|| {
            let lines = ["command", "cmd"].iter().filter_map(|name| line(self.get(name)?));
            lines.map(|line| parse(&line, ParseLimits::default())).collect()
        })
    }

    /// The argument of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.map.get(name)
    }

    /// The argument of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Sets an argument.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        self.write().insert(name.into(), value.into());
        self
    }

    /// Takes an argument away.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.write().remove(name)
    }

    /// A place to fill in: `args.entry("timeout").or_insert(30_000)`.
    pub fn entry(&mut self, name: impl Into<String>) -> ArgEntry<'_> {
        ArgEntry(self.write().entry(name))
    }

    /// Changes the arguments as a JSON merge patch says: objects merge, `null` removes, anything else replaces.
    pub fn patch(&mut self, patch: &Map<String, Value>) {
        merge(self.write(), patch);
    }

    /// Names and values, by name.
    pub fn iter(&self) -> map::Iter<'_> {
        self.0.map.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.map.is_empty()
    }

    /// The arguments as one JSON value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.map.clone())
    }

    /// The arguments as a type of one's own.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.0.map)
    }

    /// Roughly how many bytes they take when written out.
    pub(crate) fn weight(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + weight_of(value)).sum()
    }

    /// A fingerprint of the exact arguments. An approval is bound to it.
    pub fn digest(&self) -> String {
        let digest = self.0.digest.get_or_init(|| {
            let mut hasher = blake3::Hasher::new();
            digest_object(&self.0.map, &mut hasher);
            hasher.finalize()
        });
        digest.to_hex().to_string()
    }

    /// The map, to change. What was computed of it does not hold any more.
    fn write(&mut self) -> &mut Map<String, Value> {
        let shared = Arc::make_mut(&mut self.0);
        shared.digest.take();
        shared.lines.take();
        &mut shared.map
    }
}

fn weight_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight_of).sum(),
        Value::Object(map) => map.iter().map(|(name, value)| name.len() + weight_of(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// Feeds an object to the hasher, its names in order, whatever order the map keeps.
fn digest_object(object: &Map<String, Value>, hasher: &mut blake3::Hasher) {
    let mut names: Vec<_> = object.keys().collect();
    names.sort_unstable();
    hasher.update(b"{");
    for name in names {
        digest_value(&Value::String(name.clone()), hasher);
        digest_value(&object[name], hasher);
    }
    hasher.update(b"}");
}

fn digest_value(value: &Value, hasher: &mut blake3::Hasher) {
    match value {
        Value::Object(object) => digest_object(object, hasher),
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                digest_value(item, hasher);
            }
            hasher.update(b"]");
        }
        // The text of a scalar says where it ends, so no two different values feed the same bytes.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hasher.update(value.to_string().as_bytes()).update(b",");
        }
    }
}

fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (target.get_mut(name), value) {
            (_, Value::Null) => drop(target.remove(name)),
            (Some(Value::Object(inner)), Value::Object(patch)) => merge(inner, patch),
            (_, Value::Object(patch)) => {
                let mut inner = Map::new();
                merge(&mut inner, patch);
                target.insert(name.clone(), Value::Object(inner));
            }
            (_, value) => drop(target.insert(name.clone(), value.clone())),
        }
    }
}

/// An argument that may not be there yet.
pub struct ArgEntry<'a>(map::Entry<'a>);

impl<'a> ArgEntry<'a> {
    /// The argument, set to this if it is not there.
    pub fn or_insert(self, value: impl Into<Value>) -> &'a mut Value {
        self.0.or_insert(value.into())
    }
}

impl<'a> IntoIterator for &'a Args {
    type Item = (&'a String, &'a Value);
    type IntoIter = map::Iter<'a>;

    fn into_iter(self) -> map::Iter<'a> {
        self.iter()
    }
}

impl From<Map<String, Value>> for Args {
    fn from(map: Map<String, Value>) -> Self {
        Self(Arc::new(map.into()))
    }
}

impl PartialEq for Args {
    fn eq(&self, other: &Self) -> bool {
        self.0.map == other.0.map
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map.fmt(f)
    }
}

impl Serialize for Args {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

/// Arguments are an object; this is what came instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("arguments must be a JSON object, not {0}")]
pub struct NotAnObject(pub Value);

impl TryFrom<Value> for Args {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(map) => Ok(map.into()),
            other => Err(NotAnObject(other)),
        }
    }
}

/// A command as a line, also where it is a list of words.
fn line(command: &Value) -> Option<Cow<'_, str>> {
    match command {
        Value::String(line) => Some(Cow::Borrowed(line)),
        Value::Array(words) => {
            let text = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
            Some(Cow::Owned(quote_line(words.iter().map(text))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: Value) -> Args {
        Args::try_from(value).expect("an object")
    }

    #[test]
    fn a_patch_merges_objects_removes_nulls_and_replaces_the_rest() {
        let mut changed = args(json!({"a": {"b": 1, "c": 2}, "d": [1], "e": 1}));
        changed.patch(json!({"a": {"b": null, "x": 9}, "d": [2], "f": {"g": null}}).as_object().expect("an object"));
        assert_eq!(changed.to_value(), json!({"a": {"c": 2, "x": 9}, "d": [2], "e": 1, "f": {}}));
    }

    #[test]
    fn a_clone_does_not_see_later_writes() {
        let before = args(json!({"a": 1}));
        let mut after = before.clone();
        after.set("a", 2);
        assert_eq!(before.to_value(), json!({"a": 1}));
        assert_ne!(before.digest(), after.digest());
    }

    #[test]
    fn the_digest_is_of_what_the_arguments_are_now() {
        let mut changed = args(json!({"a": 1}));
        let before = changed.digest();
        *changed.entry("a").or_insert(0) = json!(2);
        assert_eq!(changed.digest(), args(json!({"a": 2})).digest());
        changed.set("a", 1);
        assert_eq!(changed.digest(), before);
    }

    #[test]
    fn a_command_line_is_parsed_once_and_again_after_a_change() {
        let mut changed = args(json!({"command": "ls; rm x"}));
        let shared = changed.clone();
        let texts = |args: &Args| args.command_lines()[0].texts().to_vec();
        assert_eq!(texts(&changed), ["ls", "rm x"]);
        assert!(std::ptr::eq(changed.command_lines(), shared.command_lines()), "a clone shares what was parsed");
        changed.set("command", "ls");
        assert_eq!((texts(&changed), texts(&shared).len()), (vec!["ls".to_owned()], 2));
        *changed.entry("command").or_insert("") = json!(["time", "a b"]);
        assert_eq!(changed.command_lines()[0].text(), "'time' 'a b'");
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order_of_names() {
        assert_eq!(args(json!({"a": 1, "b": 2})).digest(), args(json!({"b": 2, "a": 1})).digest());
    }
}
