//! Patches, which several agents send through one tool. The files in a patch count as paths, and its text is not a command.

use serde_json::{Map, Value};

/// The first line of a patch. Some agents accept it in the middle of other text, so it is searched anywhere.
const BEGIN: &str = "*** Begin Patch";

/// Lines of a patch that name a file.
const HEADS: &[&str] = &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The original arguments of a patch.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// The keys of its texts.
    keys: Vec<String>,
    /// The original value of `paths`.
    paths: Option<Value>,
}

pub(super) fn is_patch(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Rewrites arguments that contain patches into the form that rules match: `{"patch": …, "paths": […]}`. Returns the original
/// names.
pub(super) fn opened(args: &mut Map<String, Value>) -> Option<Names> {
    let holds = |value: &Value| value.as_str().is_some_and(is_patch);
    if !args.values().any(holds) {
        return None;
    }
    // An existing `patch` argument must not be overwritten.
    let keys = args.iter().filter(|(key, value)| holds(value) || *key == "patch").map(|(key, _)| key.clone());
    let keys: Vec<String> = keys.collect();
    let texts = keys.iter().filter_map(|key| args.remove(key)).map(|value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    });
    let patch = texts.collect::<Vec<_>>().join("\n");
    let paths = args.remove("paths");
    let mut all: Vec<Value> = match paths.clone() {
        Some(Value::Array(paths)) => paths,
        other => other.into_iter().collect(),
    };
    all.extend(named(&patch).map(Value::from));
    args.insert("patch".to_owned(), patch.into());
    args.insert("paths".to_owned(), all.into());
    Some(Names { keys, paths })
}

/// Returns the files that a patch names.
fn named(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| {
        // Languages differ in which characters count as white space.
        let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
        HEADS.iter().find_map(|head| line.strip_prefix(head)).map(str::trim)
    })
}

impl Names {
    /// Returns whether there were several patches, so that a change cannot be assigned to one.
    pub(super) fn are_several(&self) -> bool {
        self.keys.len() > 1
    }

    /// Restores the host's form of the arguments.
    pub(super) fn close(&self, args: &mut Map<String, Value>) {
        args.remove("paths");
        args.extend(self.paths.clone().map(|paths| ("paths".to_owned(), paths)));
        if let (Some(patch), Some(key)) = (args.remove("patch"), self.keys.first()) {
            args.insert(key.clone(), patch);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(given: &Value) -> (Map<String, Value>, Names) {
        let mut args = given.as_object().cloned().expect("an object");
        let names = opened(&mut args).expect("a patch");
        (args, names)
    }

    #[test]
    fn every_file_of_a_patch_is_a_path_and_its_text_is_no_command() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: .env\n@@\n-x\n+rm -rf /\n*** Add File: b\n+\n*** Delete File: c d\n*** End Patch";
        let given = json!({ "command": patch });
        let (mut args, names) = open(&given);
        assert_eq!(args["paths"], json!(["src/a.rs", ".env", "b", "c d"]));
        assert!(args.get("command").is_none());
        names.close(&mut args);
        assert_eq!(Value::Object(args), given);
    }

    #[test]
    fn a_patch_is_found_wherever_it_begins_and_however_many_there_are() {
        let patch = "*** Begin Patch\n*** Delete File: .env\n*** End Patch";
        for disguised in [format!("hello\n{patch}"), format!("<<'EOF'\n{patch}\nEOF"), format!("\u{feff}{patch}")] {
            assert_eq!(open(&json!({ "patchText": disguised })).0["paths"], json!([".env"]), "{disguised}");
        }
        let (args, names) = open(&json!({ "a": "*** Begin Patch\n*** Add File: b\n", "input": patch, "paths": ["c"] }));
        assert_eq!(args["paths"], json!(["c", "b", ".env"]));
        assert!(names.are_several());
    }
}
