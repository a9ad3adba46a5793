//! What comes back from outside, in our own contract.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use vertebra::{AnyCx, AnyPoint, AnyVerdict, Changeable, HookError, Lasting, PointInfo, nearest};

use super::outside;
use crate::told::capped;

/// The keys of an answer.
const KEYS: &[&str] =
    &["verdict", "reason", "instruction", "after_ms", "with", "modified", "patch", "set", "context", "note"];

/// How many texts an answer may add for the model.
const MAX_CONTEXTS: usize = 64;

/// An answer: a verdict of the point, what changes, what the model is told besides.
///
/// On the wire it is an object: `{"verdict": "deny", "reason": "…"}`. `modified` replaces what the point lets be changed
/// (the arguments of a call), `patch` is a JSON merge patch of it, `set` replaces single arguments or fields, `context` is a text or texts for the model, `note` is
/// left for later hooks. An empty answer has no opinion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The verdict as the point's own type reads it; none is no opinion.
    pub verdict: Option<Map<String, Value>>,
    /// What replaces that which may be changed.
    pub modified: Option<Value>,
    /// A merge patch of it.
    pub patch: Option<Value>,
    /// Single arguments, or fields, in place of those there are.
    pub set: Option<Value>,
    /// What the model is told besides.
    pub context: Vec<String>,
    /// What later hooks find under this hook's name.
    pub note: Option<Value>,
    /// What was meant for the person, of a contract that has words for them. A hook tells it to the model rather than to
    /// nobody; from a guard, which adds nothing, it is in the record alone. Not on our own wire.
    pub aside: Option<String>,
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// It is not JSON, or not an object.
    #[error("the answer is not a JSON object: {0}")]
    NotJson(String),
    /// It has a key that means nothing.
    #[error("the answer has an unknown key `{key}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownKey {
        /// The key.
        key: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// A key has a value of the wrong kind.
    #[error("`{key}` in the answer must be {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// The point cannot honour it.
    #[error("invalid answer at {point}: {message}")]
    NotHere {
        /// The point.
        point: &'static str,
        /// Why not.
        message: String,
    },
}

/// The keys of an answer, for a parser that takes each of them once. Nobody looks at the values.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Once {
    verdict: IgnoredAny,
    reason: IgnoredAny,
    instruction: IgnoredAny,
    after_ms: IgnoredAny,
    with: IgnoredAny,
    modified: IgnoredAny,
    patch: IgnoredAny,
    set: IgnoredAny,
    context: IgnoredAny,
    note: IgnoredAny,
}

impl Reply {
    /// Just a verdict with a reason or instruction: `Reply::verdict("deny", "reason", "no")`.
    pub fn verdict(verdict: &str, key: &str, text: &str) -> Self {
        let verdict = [("verdict".to_owned(), verdict.into()), (key.to_owned(), text.into())];
        Self { verdict: Some(verdict.into_iter().collect()), ..Self::default() }
    }

    /// Reads what was written. Nothing but blanks has no opinion.
    pub fn read(text: &str) -> Result<Self, ReplyError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| ReplyError::NotJson(error.to_string()))?;
        // Which of two of one name counts would be chance, or the choice of whoever could add to the text.
        if value.is_object() {
            serde_json::from_str::<Once>(text).map_err(|error| ReplyError::NotJson(error.to_string()))?;
        }
        Self::from_value(value)
    }

    /// Reads an answer that is JSON already.
    pub fn from_value(value: Value) -> Result<Self, ReplyError> {
        let Value::Object(mut object) = value else {
            return Err(ReplyError::NotJson("it is some other JSON".to_owned()));
        };
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(ReplyError::UnknownKey { key: key.clone(), nearest: nearest(key, KEYS.iter().copied()) });
        }
        let context = match object.remove("context") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(texts)) if texts.len() <= MAX_CONTEXTS && texts.iter().all(Value::is_string) => {
                texts.into_iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
            }
            Some(_) => {
                return Err(ReplyError::WrongType {
                    key: "context",
                    expected: "a string or a list of up to 64 strings",
                });
            }
        };
        let [modified, patch, set, note] = ["modified", "patch", "set", "note"].map(|key| object.remove(key));
        if [&modified, &patch, &set].into_iter().flatten().count() > 1 {
            return Err(ReplyError::WrongType {
                key: "modified",
                expected: "the only one of `modified`, `patch` and `set`",
            });
        }
        let verdict = match object.get("verdict") {
            Some(Value::String(_)) => Some(object),
            Some(_) => return Err(ReplyError::WrongType { key: "verdict", expected: "a string" }),
            None if object.is_empty() => None,
            None => return Err(ReplyError::WrongType { key: "verdict", expected: "set if there is a reason" }),
        };
        Ok(Self { verdict, modified, patch, set, context, note, aside: None })
    }

    /// The same, with a reason that can be read: most of a long one is in a file.
    #[must_use]
    pub(crate) fn readable(mut self) -> Self {
        for key in ["reason", "instruction"] {
            if let Some(Value::String(text)) = self.verdict.as_mut().and_then(|verdict| verdict.get_mut(key)) {
                *text = capped(std::mem::take(text));
            }
        }
        self
    }

    /// Returns the verdict as this point writes it, `None` for no opinion, or why the point has no such verdict.
    pub fn verdict_at(&self, point: AnyPoint) -> Result<Option<Value>, ReplyError> {
        let Some(verdict) = self.spelled_out() else { return Ok(None) };
        let read = point.verdict(&verdict).map(Some);
        read.map_err(|error| ReplyError::NotHere { point: point.row().name, message: error.to_string() })
    }

    /// The verdict by our name for it, with a reason where it needs one.
    fn spelled_out(&self) -> Option<Cow<'_, Map<String, Value>>> {
        let verdict = self.verdict.as_ref()?;
        let given = verdict.get("verdict").and_then(Value::as_str).unwrap_or_default();
        // Other agents have other names for the same verdicts.
        let ours = match given {
            "block" => "deny",
            "continue" => "go_on",
            given => given,
        };
        let lacks_reason = matches!(ours, "deny" | "ask" | "stop" | "halt") && !verdict.contains_key("reason");
        if ours == given && !lacks_reason {
            return Some(Cow::Borrowed(verdict));
        }
        let mut verdict = verdict.clone();
        verdict.insert("verdict".to_owned(), ours.into());
        verdict.entry("reason").or_insert_with(|| "the hook gives no reason".into());
        Some(Cow::Owned(verdict))
    }

    /// Checks that this point lets the reply change what it changes.
    pub fn fits(&self, point: &'static PointInfo) -> Result<(), ReplyError> {
        let Some(change) = self.change() else { return Ok(()) };
        let not_here = |message: String| Err(ReplyError::NotHere { point: point.name, message });
        let Some(change) = change.as_object() else { return not_here("a change must be a JSON object".to_owned()) };
        match point.changes {
            Changeable::Args => Ok(()),
            Changeable::Nothing => not_here("hooks cannot change anything here".to_owned()),
            Changeable::Fields(fields) => match change.keys().find(|key| !fields.contains(&key.as_str())) {
                None => Ok(()),
                Some(key) => not_here(format!("`{key}` cannot be changed; these can: {}", fields.join(", "))),
            },
        }
    }

    fn change(&self) -> Option<&Value> {
        self.modified.as_ref().or(self.patch.as_ref()).or(self.set.as_ref())
    }

    /// Whether it does more than decide.
    pub fn changes(&self) -> bool {
        self.change().is_some() || !self.context.is_empty() || self.note.is_some()
    }

    /// What a guard makes of it: a verdict, and nothing that changes.
    pub fn judge(&self, point: &'static PointInfo) -> Result<AnyVerdict, ReplyError> {
        if self.changes() {
            let message = "a guard cannot change anything: make it a hook, or remove the change".to_owned();
            return Err(ReplyError::NotHere { point: point.name, message });
        }
        Ok(self.spelled_out().map(Cow::into_owned))
    }

    /// What a hook makes of it: the changes are made, the context is added, and the verdict is given.
    pub fn apply(self, cx: &mut dyn AnyCx) -> Result<AnyVerdict, HookError> {
        self.fits(cx.point())?;
        let verdict = self.spelled_out().map(Cow::into_owned);
        match (self.modified, self.patch, self.set) {
            (Some(Value::Object(modified)), ..) => outside::replace(cx, &modified)?,
            (None, Some(Value::Object(patch)), _) => outside::patch(cx, &patch)?,
            (None, None, Some(Value::Object(set))) => outside::set(cx, set)?,
            _ => {}
        }
        for text in self.context.into_iter().chain(self.aside) {
            outside::tell_model(cx, text);
        }
        if let Some(note) = self.note {
            cx.note(Lasting::Run, note)?;
        }
        Ok(verdict)
    }
}
