//! `[[point]]`: a point that a settings file declares.

use serde_json::json;
use vertebra::{AnyPoint, Kind, PatternKind, PointDeclaration, PointError};

use super::{Said, SettingsError, item::Item, reader::Section, shape};

/// The largest number of attributes, aliases or fields of a point.
const MOST: usize = 32;

/// The largest number of points in a file. A declared point is kept for as long as the process runs.
const MOST_POINTS: usize = 64;

/// How the patterns of an attribute are read.
const KINDS: &[(&str, PatternKind)] = &[
    ("name", PatternKind::Name),
    ("glob", PatternKind::Glob),
    ("regex", PatternKind::Regex),
    ("exact", PatternKind::Exact),
    ("word", PatternKind::Word),
    ("json", PatternKind::Json),
];

/// The verdicts that a declared point can have.
const POWERS: &[(&str, Kind)] =
    &[("deny", Kind::Deny), ("ask", Kind::Ask), ("allow", Kind::Allow), ("stop", Kind::Stop)];

/// Reads all points that a file declares. From then on, the hooks of the file may name them.
pub(super) fn read(root: &mut Section<'_>) -> Result<Vec<Said<AnyPoint>>, SettingsError> {
    root.tables("point", None, |section, _| point(section))
}

fn point(section: &mut Section<'_>) -> Result<Option<AnyPoint>, SettingsError> {
    let name = section.text("name", "BeforeDeploy")?;
    let about = section.text("about", "A service is about to be deployed.")?;
    let aliases = words(section, "aliases", "PreDeploy")?;
    let kinds = || shape::one_of(&KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
    let attributes = section.map("attributes", kinds, |key, item| Ok((key.to_owned(), kind(item)?)))?;
    let powers = section.one_or_more("powers", "deny", |word| one_of("powers", word, POWERS))?;
    let changes = words(section, "changes", "replicas")?;
    if section.is_sketch() {
        return Ok(None);
    }
    // A misspelt key is reported before the keys that are missing because of it.
    section.finish()?;
    let name = name.ok_or_else(|| section.lacks("the point has no name: write `name = \"BeforeDeploy\"`"))?;
    for (key, count) in [("attributes", attributes.len()), ("aliases", aliases.len()), ("changes", changes.len())] {
        if count > MOST {
            return Err(section.wrong(key, format!("a point can have at most {MOST} {key}")));
        }
    }
    if section.points().own().len() >= MOST_POINTS {
        return Err(section.wrong("name", format!("a file can declare at most {MOST_POINTS} points")));
    }
    let declaration = PointDeclaration {
        name: name.value,
        about: about.map(|said| said.value).unwrap_or_default(),
        aliases,
        attributes,
        powers: powers.into_iter().map(|said| said.value).collect(),
        changes,
    };
    let point = declaration.point().and_then(|point| section.declare_point(point).map(|()| point));
    point.map(Some).map_err(|error| section.wrong(about_key(&error), error.to_string()))
}

/// The key that an error is about.
fn about_key(error: &PointError) -> &'static str {
    match error {
        PointError::Attribute { .. } => "attributes",
        PointError::Field { .. } => "changes",
        PointError::NoDeny { .. } | PointError::NoSuchPower { .. } => "powers",
        _ => "name",
    }
}

fn words(section: &mut Section<'_>, key: &'static str, such_as: &str) -> Result<Vec<String>, SettingsError> {
    let words = section.one_or_more(key, such_as, |word| Ok(word.to_owned()))?;
    Ok(words.into_iter().map(|said| said.value).collect())
}

fn kind(item: Item<'_>) -> Result<PatternKind, String> {
    one_of("an attribute", item.as_str().unwrap_or_default(), KINDS)
}

fn one_of<T: Copy>(what: &str, word: &str, words: &[(&str, T)]) -> Result<T, String> {
    let names = || words.iter().map(|(name, _)| *name);
    words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
        let all = names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let meant = vertebra::nearest(word, names()).map(|name| format!("; did you mean {name:?}?"));
        format!("{what} must be one of {all}{}", meant.unwrap_or_default())
    })
}

/// The keys of a matcher that are no attributes.
pub(super) const COMBINING: &[&str] = &["metadata", "all", "any", "not"];

/// The JSON schema of the value of an attribute that a file declares.
pub(super) fn pattern_shape() -> serde_json::Value {
    json!({ "type": ["string", "array", "object"] })
}
