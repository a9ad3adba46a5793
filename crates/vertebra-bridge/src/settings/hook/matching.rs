//! `match`: when a hook runs.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vertebra::{ATTRIBUTES, AnyPoint, Attribute, BadMatcher, Matcher, POINT_TABLE, PatternKind, Test, nearest};

use super::{
    super::{
        SettingsError,
        item::{Field, Item},
        point::{COMBINING, pattern_shape},
        reader::Section,
        shape,
    },
    place::Place,
};

/// The place of the shape of `match` in the JSON schema.
const SHAPE: &str = "#/$defs/match";

/// Returns the part of the JSON schema of a hook that depends on its point, and the definitions that it refers to. The keys of
/// `match` at a built-in point are known; at other points, every key may be an attribute.
pub(in super::super) fn by_point(strict: &Value) -> (Value, Value) {
    let own = "#/$defs/own_match";
    let mut open = strict.clone();
    open["additionalProperties"] = pattern_shape();
    let mut refer = vec![&mut open];
    while let Some(value) = refer.pop() {
        match value {
            Value::String(text) if text == SHAPE => own.clone_into(text),
            Value::Array(items) => refer.extend(items),
            Value::Object(fields) => refer.extend(fields.values_mut()),
            _ => {}
        }
    }
    let keys = |shape: &str| json!({ "properties": { "match": { "$ref": shape } } });
    let names: BTreeSet<String> = POINT_TABLE.iter().flat_map(spellings).collect();
    let hook =
        json!({ "if": { "properties": { "point": { "enum": names } } }, "then": keys(SHAPE), "else": keys(own) });
    (hook, json!({ "match": strict, "own_match": open }))
}

/// The usual spellings of the names of a point.
fn spellings(point: &AnyPoint) -> Vec<String> {
    let names = std::iter::once(&point.name).chain(point.aliases);
    names.flat_map(|name| [(*name).to_owned(), camel(name), spaced(name, '_'), spaced(name, '-')]).collect()
}

fn camel(name: &str) -> String {
    name.chars().enumerate().map(|(at, letter)| if at == 0 { letter.to_ascii_lowercase() } else { letter }).collect()
}

fn spaced(name: &str, mark: char) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push(mark);
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Reads a `match` in which every key is possible.
pub(in super::super) fn any_match(section: &mut Section<'_>) -> Result<Option<Matcher>, SettingsError> {
    read(section, &Place::ANY)
}

/// Reads the `match` of a hook at this point. A matcher without fields always matches.
pub(super) fn of_hook(section: &mut Section<'_>, place: &Place) -> Result<Option<Matcher>, SettingsError> {
    // Which keys there are depends on the point: see `hook::by_point`.
    let shape = || json!({ "type": "object" });
    Ok(section.table_at("match", shape, |inner| read(inner, place))?.flatten())
}

fn read(section: &mut Section<'_>, place: &Place) -> Result<Option<Matcher>, SettingsError> {
    if let Some(lacking) = ATTRIBUTES.iter().find(|one| section.has(one.key) && !place.has(one.key)) {
        let key = lacking.key;
        let points = Place::all_that(|place| place.has(key));
        return Err(
            section.wrong(key, format!("{} has no attribute `{key}`; it can be matched at {points}", place.point))
        );
    }
    if place.is_own()
        && let Some(key) = section.keys().find(|key| !place.has(key) && !COMBINING.contains(key))
    {
        let keys = || place.attributes.iter().map(|attribute| attribute.key);
        let meant = nearest(key, keys()).map(|name| format!("did you mean `{name}`?"));
        let all = || format!("it has `{}`", keys().collect::<Vec<_>>().join("`, `"));
        let message = format!("{} has no attribute `{key}`; {}", place.point, meant.unwrap_or_else(all));
        return Err(section.wrong(key, message));
    }
    let mut all = Vec::new();
    let tools = section.known_tools();
    for Attribute { key, kind } in place.attributes.iter().copied() {
        let such_as = match kind {
            PatternKind::Json => continue,
            _ if key == "step" => {
                let steps = ["tool_execution", "final_response", "no_response"].map(|kind| (kind, kind));
                all.extend(section.word(key, &steps)?.map(|said| Matcher::attribute(key, said.value)));
                continue;
            }
            PatternKind::Name => "bash|edit_file",
            PatternKind::Glob => "src/**/*.rs",
            PatternKind::Regex => r"\\brm\\b",
            PatternKind::Exact => "0198…",
            PatternKind::Word => "reviewer",
        };
        let texts = section.one_or_more(key, such_as, |text| {
            if let (Some(tools), "tool") = (&tools, key) {
                tools.check_pattern(text)?;
            }
            parsed(Matcher::attribute(key, text), place)
        })?;
        let mut any: Vec<Matcher> = texts.into_iter().map(|said| said.value).collect();
        match any.len() {
            0 if section.has(key) => {
                let why = format!("an empty list matches nothing: write `{key} = \"{such_as}\"`, or remove `{key}`");
                return Err(section.wrong(key, why));
            }
            0 => {}
            1 => all.append(&mut any),
            _ => all.push(Matcher::Any(any)),
        }
    }
    let metadata = |key: &str, item: Item<'_>| test(item, place, &|is| Matcher::Metadata { key: key.to_owned(), is });
    all.extend(section.map("metadata", test_shape, metadata)?);
    for Attribute { key, .. } in place.attributes.iter().filter(|one| one.kind == PatternKind::Json).copied() {
        all.extend(section.map(key, test_shape, |at, item| {
            if !at.starts_with('/') {
                return Err(format!(
                    "a key of `{key}` is a JSON pointer and starts with a slash: write `{key} = {{ \"/{at}\" = … }}`"
                ));
            }
            test(item, place, &|is| Matcher::inside(key, at, is))
        })?);
    }
    let inner = || json!({ "$ref": SHAPE });
    for (key, join) in [("all", Matcher::All as fn(Vec<Matcher>) -> Matcher), ("any", Matcher::Any)] {
        let has = section.has(key);
        let several = section.tables(key, Some(SHAPE), |section, _| match read(section, place)? {
            Some(matcher) => Ok(Some(matcher)),
            None => Err(empty(section)),
        })?;
        if has && several.is_empty() {
            return Err(section
                .wrong(key, format!("`{key}` needs at least one matcher: write `{key} = [{{ tool = \"bash\" }}]`")));
        }
        all.extend(has.then(|| join(several.into_iter().map(|said| said.value).collect())));
    }
    if let Some(not) = section.table_at("not", inner, |section| match read(section, place)? {
        Some(matcher) => Ok(matcher),
        None => Err(empty(section)),
    })? {
        all.push(not.negated());
    }
    Ok(match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Matcher::All(all)),
    })
}

/// The error for an empty matcher; if it is empty because of a misspelt key, the error about that key.
fn empty(section: &Section<'_>) -> SettingsError {
    let nothing = || section.lacks("the matcher is empty: write `{ tool = \"bash\" }`");
    section.finish().err().unwrap_or_else(nothing)
}

/// Checks that the patterns of a matcher parse. The error has the parser's message on one line.
fn parsed(matcher: Matcher, place: &Place) -> Result<Matcher, String> {
    if let Some(glob) = matcher.pattern_for("path")
        && let Some(below) = glob.strip_prefix("~/")
    {
        // The home folder is not known where an event is judged.
        return Err(format!("`~` is not expanded in `path`: write `**/{below}`, or the full path"));
    }
    let checked = matcher.check(place.attributes).map_err(|bad| {
        let BadMatcher::Pattern { field, pattern, message } = bad else { return bad.to_string() };
        let last = message.lines().last().unwrap_or_default();
        let why = last.strip_prefix("error: ").unwrap_or(last).trim();
        let kind = match place.attributes.iter().find(|one| one.key == field).map(|one| one.kind) {
            Some(PatternKind::Glob) => "glob",
            Some(PatternKind::Name) => "pattern",
            _ => "regex",
        };
        format!("invalid {kind} `{pattern}` in `{field}`: {why}")
    });
    checked.map(|()| matcher)
}

fn test_shape() -> serde_json::Value {
    let tests = json!({
        "type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
        "properties": { "exists": shape::flag(), "equals": {}, "matches": shape::text("^src/") },
    });
    shape::either([json!({ "type": ["string", "number", "boolean", "array"] }), tests])
}

/// Reads a test of a value: `{ exists = true }`, `{ equals = … }`, `{ matches = "…" }`, or the value itself.
fn test(item: Item<'_>, place: &Place, make: &dyn Fn(Test) -> Matcher) -> Result<Matcher, String> {
    let tests = "`{ exists = true }`, `{ equals = … }` or `{ matches = \"…\" }`";
    let Some(fields) = item.fields() else { return Ok(make(Test::Equals(item.to_json()?))) };
    let [Field { key, item: value, .. }] = fields.as_slice() else {
        return Err(format!("a test must be one of {tests}"));
    };
    match *key {
        "exists" => match value.as_bool() {
            Some(true) => Ok(make(Test::Exists)),
            Some(false) => Ok(make(Test::Exists).negated()),
            None => Err("`exists` must be `true` or `false`".to_owned()),
        },
        "equals" => Ok(make(Test::Equals(value.to_json()?))),
        "matches" => {
            let pattern = value.as_str().ok_or("`matches` must be a regex: write `matches = \"^src/\"`")?;
            parsed(make(Test::Matches(pattern.to_owned())), place)
        }
        other => {
            let meant = nearest(other, ["exists", "equals", "matches"]);
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(format!("unknown test `{other}`: write {tests}{meant}"))
        }
    }
}
