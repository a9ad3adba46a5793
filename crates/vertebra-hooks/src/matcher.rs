//! Matchers as data: when a hook runs.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use crate::{
    Attribute, AttributeKey, BadMatcher,
    compiled::{Compiled, NamePattern, between_slashes, is_glob, split_alternatives},
    pattern::Compile,
};

/// Says when a hook runs. Compiled once, at registration; an invalid pattern is an error there, and so is an attribute
/// that the hook's point does not have.
///
/// In JSON a matcher is an object with one field: `{"tool": "bash"}`, `{"args": {"at": "/force", "is": "exists"}}`,
/// `{"metadata": {"key": "mode", "is": {"equals": "dry-run"}}}`, `{"all": […]}`, `{"any": […]}`, `{"not": …}`, `{"every": …}`.
///
/// The list is closed: what translates, explains or judges a policy has to know each kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// An attribute of the event matches a pattern. The point says how the pattern is read: see
    /// [`PatternKind`](crate::PatternKind).
    Attribute {
        /// The attribute.
        key: AttributeKey,
        /// The pattern.
        pattern: String,
    },
    /// A place inside an attribute that is JSON.
    Inside {
        /// The attribute.
        key: AttributeKey,
        /// A JSON pointer, such as `/options/force`.
        at: String,
        /// What must hold there.
        is: Test,
    },
    /// A metadata key of the state.
    Metadata {
        /// The key.
        key: String,
        /// What must hold for its value.
        is: Test,
    },
    /// All of these hold.
    All(Vec<Matcher>),
    /// One of these holds.
    Any(Vec<Matcher>),
    /// This does not hold. A regular expression or a glob inside is asked of each text of its attribute, such as each command
    /// and path of a call: the whole matcher holds if it does for one of them, so `git log; rm x` is not excused by `git log`.
    Not(Box<Matcher>),
    /// This holds for every command and every path of the event, not only for one: for hooks that allow something.
    Every(Box<Matcher>),
}

/// What must hold for a value.
///
/// The list is closed, as that of [`Matcher`] is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is there.
    Exists,
    /// It is this.
    Equals(Value),
    /// It is text that matches this regular expression.
    Matches(String),
}

impl Matcher {
    /// An attribute of the event matches a pattern: `Matcher::attribute("tool", "bash")`.
    pub fn attribute(key: impl Into<AttributeKey>, pattern: impl Into<String>) -> Self {
        Self::Attribute { key: key.into(), pattern: pattern.into() }
    }

    /// A place inside an attribute passes a test: `Matcher::inside("args", "/force", Test::Exists)`.
    pub fn inside(key: impl Into<AttributeKey>, at: impl Into<String>, is: Test) -> Self {
        Self::Inside { key: key.into(), at: at.into(), is }
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other);
                Self::All(all)
            }
            first => Self::All(vec![first, other]),
        }
    }

    /// Does not hold.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Holds for every command and every path.
    #[must_use]
    pub fn for_every(self) -> Self {
        Self::Every(Box::new(self))
    }

    /// Checks that all patterns inside parse and that all attributes are among these. No pattern is compiled.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), BadMatcher> {
        Compiled::check(self, attributes)
    }

    /// Whether one of the matchers inside, or this one, is such.
    pub fn contains(&self, is_such: &dyn Fn(&Matcher) -> bool) -> bool {
        is_such(self)
            || match self {
                Self::All(inner) | Self::Any(inner) => inner.iter().any(|inner| inner.contains(is_such)),
                Self::Not(inner) | Self::Every(inner) => inner.contains(is_such),
                Self::Attribute { .. } | Self::Inside { .. } | Self::Metadata { .. } => false,
            }
    }

    /// The pattern for this attribute, if this is a matcher on it.
    pub fn pattern_for(&self, attribute: &str) -> Option<&str> {
        match self {
            Self::Attribute { key, pattern } if key == attribute => Some(pattern),
            _ => None,
        }
    }

    /// Every pattern for this attribute, at any depth.
    pub fn patterns_for(&self, attribute: &str) -> Vec<&str> {
        match self {
            Self::All(inner) | Self::Any(inner) => {
                inner.iter().flat_map(|inner| inner.patterns_for(attribute)).collect()
            }
            Self::Not(inner) | Self::Every(inner) => inner.patterns_for(attribute),
            Self::Attribute { .. } | Self::Inside { .. } | Self::Metadata { .. } => {
                self.pattern_for(attribute).into_iter().collect()
            }
        }
    }

    /// The names that a pattern of the kind [`Name`](crate::PatternKind::Name) lists, such as `edit|write`. `None` if it
    /// has a wildcard or is a regular expression, so that it may match any number of names.
    pub fn names_listed(pattern: &str) -> Option<Vec<&str>> {
        let names: Vec<&str> = split_alternatives(pattern).collect();
        let is_listed = between_slashes(pattern).is_none() && !names.iter().any(|name| is_glob(name));
        is_listed.then_some(names)
    }

    /// Whether one of these names matches a pattern of the kind [`Name`](crate::PatternKind::Name). `None` if the pattern
    /// does not parse.
    pub fn name_pattern_holds(pattern: &str, names: &[&str]) -> Option<bool> {
        Self::names_held(pattern, names.iter().copied()).map(|held| !held.is_empty())
    }

    /// Which of these names match a pattern of the kind [`Name`](crate::PatternKind::Name). `None` if the pattern does not
    /// parse.
    pub fn names_held<'n>(pattern: &str, names: impl IntoIterator<Item = &'n str>) -> Option<Vec<&'n str>> {
        let compiled = NamePattern::new("name", pattern, Compile::Now).ok()?;
        Some(names.into_iter().filter(|name| compiled.holds(name).unwrap_or(true)).collect())
    }
}

/// A test of one place or key, as it is written.
#[derive(Serialize, Deserialize)]
struct At<T> {
    at: T,
    is: Test,
}

#[derive(Serialize, Deserialize)]
struct Keyed<T> {
    key: T,
    is: Test,
}

/// What stands behind the key of an attribute.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tested {
    Pattern(String),
    Inside(At<String>),
}

impl Serialize for Matcher {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Attribute { key, pattern } => map.serialize_entry(key, pattern),
            Self::Inside { key, at, is } => map.serialize_entry(key, &At { at, is: is.clone() }),
            Self::Metadata { key, is } => map.serialize_entry("metadata", &Keyed { key, is: is.clone() }),
            Self::All(inner) => map.serialize_entry("all", inner),
            Self::Any(inner) => map.serialize_entry("any", inner),
            Self::Not(inner) => map.serialize_entry("not", inner),
            Self::Every(inner) => map.serialize_entry("every", inner),
        }?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneField;

        impl<'de> Visitor<'de> for OneField {
            type Value = Matcher;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a matcher: an object with one field")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Matcher, A::Error> {
                let key: String = map.next_key()?.ok_or_else(|| A::Error::custom("the matcher is empty"))?;
                let matcher = match &*key {
                    "metadata" => {
                        let Keyed { key, is } = map.next_value()?;
                        Matcher::Metadata { key, is }
                    }
                    "all" => Matcher::All(map.next_value()?),
                    "any" => Matcher::Any(map.next_value()?),
                    "not" => Matcher::Not(map.next_value()?),
                    "every" => Matcher::Every(map.next_value()?),
                    _ => match map.next_value()? {
                        Tested::Pattern(pattern) => Matcher::attribute(key, pattern),
                        Tested::Inside(At { at, is }) => Matcher::inside(key, at, is),
                    },
                };
                match map.next_key::<String>()? {
                    None => Ok(matcher),
                    Some(second) => Err(A::Error::custom(format!(
                        "a matcher has one field; put `{second}` into another, and both into `all`"
                    ))),
                }
            }
        }

        deserializer.deserialize_map(OneField)
    }
}
