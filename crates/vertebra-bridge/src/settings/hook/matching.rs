//! `match`: when a hook runs.

use serde_json::json;
use vertebra::{BadPattern, Matcher, Test};

use super::{
    super::{
        SettingsError,
        item::{Field, Item},
        reader::Section,
        shape,
    },
    place::Place,
};

/// The place of the shape of `match` in the JSON schema.
const SHAPE: &str = "#/$defs/match";

/// Reads a `match` in which every key is possible.
pub(in super::super) fn any_match(section: &mut Section<'_>) -> Result<Option<Matcher>, SettingsError> {
    read(section, &Place::ANY)
}

/// Reads the `match` of a hook at this point. A matcher without fields always matches.
pub(super) fn of_hook(section: &mut Section<'_>, place: &Place) -> Result<Option<Matcher>, SettingsError> {
    let shape = || json!({ "$ref": SHAPE });
    Ok(section.table_at("match", shape, |inner| read(inner, place))?.flatten())
}

fn read(section: &mut Section<'_>, place: &Place) -> Result<Option<Matcher>, SettingsError> {
    for key in ["tool", "path", "command", "args"] {
        if section.has(key) && !place.call {
            let points = Place::all_that(|place| place.call);
            return Err(section.wrong(
                key,
                format!("{} has no tool call, so `{key}` cannot be matched there; it can at {points}", place.point),
            ));
        }
    }
    if section.has("step") && !place.step {
        let points = Place::all_that(|place| place.step);
        return Err(section.wrong("step", format!("`step` cannot be matched at {}; it can at {points}", place.point)));
    }
    let mut all = Vec::new();
    let tools = section.known_tools();
    let mut patterns = |key, such_as, make: fn(String) -> Matcher| -> Result<(), SettingsError> {
        let texts = section.one_or_more(key, such_as, |text| {
            let matcher = parsed(make(text.to_owned()))?;
            if let (Matcher::Tool(pattern), Some(tools)) = (&matcher, &tools) {
                tools.check_pattern(pattern)?;
            }
            Ok(matcher)
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
        Ok(())
    };
    patterns("tool", "bash|edit_file", Matcher::Tool)?;
    patterns("path", "src/**/*.rs", Matcher::Path)?;
    patterns("command", r"\\brm\\b", Matcher::Command)?;
    patterns("session", "0198…", Matcher::Session)?;
    patterns("agent", "reviewer", Matcher::Agent)?;
    let steps = ["tool_execution", "final_response", "no_response"].map(|kind| (kind, kind));
    all.extend(section.word("step", &steps)?.map(|said| Matcher::Step(said.value.to_owned())));
    all.extend(
        section
            .map("metadata", test_shape, |key, item| test(item, &|is| Matcher::Metadata { key: key.to_owned(), is }))?,
    );
    all.extend(section.map("args", test_shape, |at, item| {
        if !at.starts_with('/') {
            return Err(format!(
                "a key of `args` is a JSON pointer and starts with a slash: write `args = {{ \"/{at}\" = … }}`"
            ));
        }
        test(item, &|is| Matcher::Args { at: at.to_owned(), is })
    })?);
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
fn parsed(matcher: Matcher) -> Result<Matcher, String> {
    if let Matcher::Path(glob) = &matcher
        && let Some(below) = glob.strip_prefix("~/")
    {
        // The home folder is not known where an event is judged.
        return Err(format!("`~` is not expanded in `path`: write `**/{below}`, or the full path"));
    }
    let checked = matcher.check().map_err(|BadPattern { field, pattern, message }| {
        let last = message.lines().last().unwrap_or_default();
        let why = last.strip_prefix("error: ").unwrap_or(last).trim();
        let kind = match field {
            "path" => "glob",
            "tool" => "pattern",
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
fn test(item: Item<'_>, make: &dyn Fn(Test) -> Matcher) -> Result<Matcher, String> {
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
            parsed(make(Test::Matches(pattern.to_owned())))
        }
        other => {
            let meant = vertebra::nearest(other, ["exists", "equals", "matches"]);
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(format!("unknown test `{other}`: write {tests}{meant}"))
        }
    }
}
