//! Attributes: named values of an event that matchers test.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use crate::{Point, RegisterError, order::nearest};

/// The name of an attribute in a matcher.
pub type AttributeKey = Cow<'static, str>;

/// An attribute that the events of a point have: its key, and how matchers test it.
///
/// A point lists its attributes in [`Point::ATTRIBUTES`], and its events answer for them in
/// [`Event::attribute`](crate::Event::attribute). A matcher on any other key is an error at registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// The key, as matchers name it.
    pub key: &'static str,
    /// How a pattern for it is read.
    pub kind: PatternKind,
}

/// How the pattern of a matcher is read.
///
/// The list is closed: settings and SDKs have to read each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// A whole name, without regard to case: `bash`, `edit|write`, `read_*`, `/mcp__.+/`.
    Name,
    /// A glob over paths: `*` stays within a folder, `**` crosses folders, and a glob without a slash matches at any depth.
    Glob,
    /// A regular expression, found anywhere in the text.
    Regex,
    /// The text itself.
    Exact,
    /// The text itself, without regard to case.
    Word,
    /// JSON: a matcher tests a place inside it. See [`Matcher::Inside`](crate::Matcher::Inside).
    Json,
}

/// The value of an attribute. A matcher holds if one of the texts matches.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue<'e> {
    /// One text.
    Text(&'e str),
    /// A name, and other names of the same thing.
    Names(&'e str, &'e [Arc<str>]),
    /// Several texts. Of a path that has two forms, the relative one stands before the absolute one.
    Texts(Vec<Cow<'e, str>>),
    /// A command line, and the commands inside it.
    Commands(Box<Commands<'e>>),
    /// JSON.
    Json(Cow<'e, Value>),
}

/// A command line as matchers test it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands<'e> {
    /// The whole line.
    pub line: Option<Cow<'e, str>>,
    /// Each simple command inside the line.
    pub simple: Vec<Cow<'e, str>>,
    /// More commands that the line may run, by ways that are not certain. A pattern that is negated, or that allows something,
    /// need not match them.
    pub further: Vec<Cow<'e, str>>,
}

impl<'e> AttributeValue<'e> {
    /// Whether one of the texts is such; JSON has none.
    pub(crate) fn any_text(&self, mut is_such: impl FnMut(&str) -> bool) -> bool {
        match self {
            Self::Text(text) => is_such(text),
            Self::Names(name, others) => is_such(name) || others.iter().any(|name| is_such(name)),
            Self::Texts(texts) => texts.iter().any(|text| is_such(text)),
            Self::Commands(commands) => {
                let Commands { line, simple, further } = &**commands;
                line.iter().chain(simple).chain(further).any(|text| is_such(text))
            }
            Self::Json(_) => false,
        }
    }

    /// The texts of several things, such as paths or the simple commands of a line.
    pub fn several(&self) -> &[Cow<'e, str>] {
        match self {
            Self::Texts(texts) => texts,
            Self::Commands(commands) => &commands.simple,
            Self::Text(_) | Self::Names(..) | Self::Json(_) => &[],
        }
    }

    pub(crate) fn commands(&self) -> Option<&Commands<'e>> {
        match self {
            Self::Commands(commands) => Some(commands),
            Self::Text(_) | Self::Names(..) | Self::Texts(_) | Self::Json(_) => None,
        }
    }

    /// The place in JSON that a pointer names.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        match self {
            Self::Json(value) => value.pointer(pointer),
            Self::Text(_) | Self::Names(..) | Self::Texts(_) | Self::Commands(_) => None,
        }
    }
}

/// A point whose events have the attribute `A`, a type that is named like the attribute.
///
/// Matcher methods are bounded by it, so that a matcher on an attribute that a point lacks does not compile.
#[diagnostic::on_unimplemented(
    message = "this point has no attribute `{A}`",
    label = "the events of `{Self}` have no `{A}`",
    note = "a matcher tests the attributes that the point has; use `when` for a condition in code"
)]
pub trait HasAttribute<A>: Point {}

/// Why a matcher does not fit the point of its hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadMatcher {
    /// A pattern does not parse.
    #[error("invalid {field} pattern `{pattern}`: {message}")]
    Pattern {
        /// The attribute, or `metadata`.
        field: &'static str,
        /// The pattern.
        pattern: String,
        /// The parser's message.
        message: String,
    },
    /// The point has no such attribute.
    #[error("no attribute `{key}`")]
    NoAttribute {
        /// The key in the matcher.
        key: String,
        /// The attributes that the point has.
        known: Vec<&'static str>,
    },
}

impl BadMatcher {
    /// The error for the hook that has the matcher.
    pub(crate) fn of(self, hook: &crate::Name, point: &'static str) -> RegisterError {
        let hook = hook.clone();
        match self {
            Self::Pattern { field, pattern, message } => RegisterError::Pattern { hook, field, pattern, message },
            Self::NoAttribute { key, known } => {
                let nearest = nearest(&key, known.iter().copied());
                RegisterError::NoAttribute { hook, point, key, nearest, known }
            }
        }
    }
}

/// The place of an attribute in the list of its point: what matchers and indexes hold in place of the key.
pub(crate) fn place(attributes: &[Attribute], key: &str) -> Result<(u32, Attribute), BadMatcher> {
    let found = (0..).zip(attributes).find(|(_, attribute)| attribute.key == key);
    found.map(|(place, attribute)| (place, *attribute)).ok_or_else(|| BadMatcher::NoAttribute {
        key: key.to_owned(),
        known: attributes.iter().map(|attribute| attribute.key).collect(),
    })
}
