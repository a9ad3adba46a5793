//! The points that an agent knows.

use std::sync::Arc;

use serde_json::Map;
use vertebra_hooks::{Kind, nearest};

use crate::{ATTRIBUTES, AnyPoint, Changeable, PointInfo, points::table::POINT_TABLE};

/// The points that an agent, a file or a server knows: the built-in ones, and more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    more: Arc<Vec<AnyPoint>>,
}

/// Why a point cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// Another point has this name already.
    #[error("the point {point} cannot be called `{name}`: {}; choose another name", taken(.name, .by, *.is_built_in))]
    Taken {
        /// The new point.
        point: String,
        /// Its name, or the alias.
        name: String,
        /// The point that has it.
        by: &'static str,
        /// Whether that is one of the built-in points.
        is_built_in: bool,
    },
    /// A name that cannot be one.
    #[error(
        "`{name}` cannot be the name of a point: write letters and digits that begin with a capital, such as `BeforeDeploy`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// An attribute that cannot be one.
    #[error("the point {point} cannot have the attribute `{key}`: {why}")]
    Attribute {
        /// The point.
        point: String,
        /// The attribute.
        key: String,
        /// Why not.
        why: &'static str,
    },
    /// A field that the event cannot have.
    #[error(
        "the point {point} cannot have the field `{field}`: the head of every event has a field of that name; choose another"
    )]
    Field {
        /// The point.
        point: String,
        /// The field.
        field: String,
    },
    /// Hooks can ask, allow or stop, and nothing can be refused.
    #[error(
        "the point {point} has the power {} but not `deny`, so a hook that fails could not refuse anything: add `deny`",
        words(.has)
    )]
    NoDeny {
        /// The point.
        point: String,
        /// Its powers.
        has: Vec<Kind>,
    },
    /// A power that a declared point cannot have.
    #[error("the point {point} cannot have the power `{}`: a declared point has `deny`, `ask`, `allow` and `stop`", .kind.word())]
    NoSuchPower {
        /// The point.
        point: String,
        /// The power.
        kind: Kind,
    },
    /// Too many points were declared.
    #[error("the point {point} cannot be declared: a process can declare at most {limit} different points")]
    TooMany {
        /// The point.
        point: String,
        /// How many there can be.
        limit: usize,
    },
}

/// No point has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown point `{name}`; {}", meant(.nearest.as_deref(), .known))]
pub struct UnknownPoint {
    /// The name.
    pub name: String,
    /// The most similar name.
    pub nearest: Option<&'static str>,
    /// All points that are known.
    pub known: Vec<&'static str>,
}

/// The head of every event: no field of a point's own can have these names.
const HEAD: &[&str] = &[
    "event_id",
    "point",
    "session_id",
    "run_id",
    "agent",
    "depth",
    "step",
    "timestamp",
    "working_directory",
    "decision",
];

/// Keys of a matcher, which no attribute can have.
const MATCHER_KEYS: &[&str] = &["all", "any", "not", "every", "metadata", "session"];

impl Points {
    /// Every point: the built-in ones in the order of an agent's life, then the others in the order they were registered.
    pub fn iter(&self) -> impl Iterator<Item = AnyPoint> {
        POINT_TABLE.iter().chain(self.more.iter()).copied()
    }

    /// The points that are not built in.
    pub fn own(&self) -> &[AnyPoint] {
        &self.more
    }

    /// The point of this name or alias, in `PascalCase`, `camelCase`, `snake_case` or `kebab-case`.
    pub fn named(&self, name: &str) -> Result<AnyPoint, UnknownPoint> {
        let unknown = || {
            let known: Vec<&'static str> = self.iter().map(|point| point.row().name).collect();
            UnknownPoint { name: name.to_owned(), nearest: nearest(name, known.iter().copied()), known }
        };
        self.find(name).ok_or_else(unknown)
    }

    fn find(&self, name: &str) -> Option<AnyPoint> {
        if let Some(point) = self.iter().find(|point| point.name == name) {
            return Some(point);
        }
        let plain = plain(name);
        let is_it = |known: &str| known.eq_ignore_ascii_case(&plain);
        let by_name = self.iter().find(|point| is_it(point.name));
        by_name.or_else(|| self.iter().find(|point| point.aliases.iter().any(|alias| is_it(alias))))
    }

    /// Adds a point. One that is known already stays as it is.
    pub fn add(&mut self, point: AnyPoint) -> Result<(), PointError> {
        if self.iter().any(|known| known == point) {
            return Ok(());
        }
        check(point.row())?;
        for name in std::iter::once(&point.name).chain(point.aliases) {
            if let Some(by) = self.find(name) {
                let is_built_in = by.is_built_in();
                let (point, name) = (point.name.to_owned(), (*name).to_owned());
                return Err(PointError::Taken { point, name, by: by.row().name, is_built_in });
            }
        }
        Arc::make_mut(&mut self.more).push(point);
        Ok(())
    }

    /// Adds the points of others. Of two that share a name, the one that is known already stays.
    pub fn add_missing(&mut self, others: &Self) {
        for point in others.own() {
            let _ = self.add(*point);
        }
    }
}

/// The point of this name among the built-in ones, in any spelling: see [`Points::named`].
pub fn point_named(name: &str) -> Option<&'static str> {
    Points::default().find(name).map(|point| point.row().name)
}

fn check(info: &PointInfo) -> Result<(), PointError> {
    for name in std::iter::once(&info.name).chain(info.aliases) {
        let fits = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.len() <= 64
            && name.chars().all(|letter| letter.is_ascii_alphanumeric());
        if !fits {
            return Err(PointError::Name { name: (*name).to_owned() });
        }
    }
    let of_run = ["session", "agent"];
    for (at, attribute) in info.attributes.iter().enumerate() {
        let key = attribute.key;
        let wrong = |why| Err(PointError::Attribute { point: info.name.to_owned(), key: key.to_owned(), why });
        let is_known = ATTRIBUTES.contains(attribute);
        if info.attributes[..at].iter().any(|other| other.key == key) {
            return wrong("it is declared twice");
        }
        if of_run.contains(&key) && is_known {
            continue;
        }
        if HEAD.contains(&key) || MATCHER_KEYS.contains(&key) {
            return wrong("every event or matcher has a field of that name; choose another");
        }
        let fits = key.starts_with(|first: char| first.is_ascii_lowercase())
            && key.len() <= 64
            && key.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
        if !fits {
            return wrong("write lower case letters, digits and `_`, such as `service`");
        }
        if !is_known && ATTRIBUTES.iter().any(|known| known.key == key) {
            return wrong("its patterns are of another kind than those of the built-in attribute of that name");
        }
    }
    let changes = match info.changes {
        Changeable::Fields(fields) => fields,
        _ => &[],
    };
    let sample = (info.sample)(info);
    let fields = sample.as_object().into_iter().flat_map(Map::keys).map(String::as_str).chain(changes.iter().copied());
    if let Some(field) = fields.into_iter().find(|field| HEAD.contains(field)) {
        return Err(PointError::Field { point: info.name.to_owned(), field: field.to_owned() });
    }
    Ok(())
}

fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).collect()
}

fn taken(name: &str, by: &str, is_built_in: bool) -> String {
    match (plain(name).eq_ignore_ascii_case(by), is_built_in) {
        (true, true) => "a built-in point has that name".to_owned(),
        (true, false) => "another point has that name".to_owned(),
        (false, true) => format!("the built-in point {by} already has this name"),
        (false, false) => format!("the point {by} already has this name"),
    }
}

fn words(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| format!("`{}`", kind.word())).collect::<Vec<_>>().join(", ")
}

fn meant(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known points: {}", known.join(", ")),
    }
}
