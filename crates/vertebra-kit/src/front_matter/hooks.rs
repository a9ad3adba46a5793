//! The hooks that a skill or an agent brings along, as they are written.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{Fields, json, parse, yaml};

/// What a file of a skill or an agent brings besides its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The name of the skill or agent.
    pub name: String,
    /// Its `hooks`, in the form of Claude Code's settings.
    pub hooks: Value,
}

#[derive(Debug, Deserialize)]
struct Written {
    name: Option<String>,
    hooks: Option<Value>,
}

impl Fields for Written {
    // What else a file says is looked at by whoever uses it.
    const KNOWN: &'static [&'static str] = &[];
}

/// The hooks in the text of a `SKILL.md` or of an agent's file. A file that cannot be read brings none; whoever uses the
/// skill or the agent tells what is wrong with it.
///
/// Nothing runs here: whether and when such hooks run is for whoever knows their contract.
pub fn hooks_in(path: &Path, text: &str) -> Option<Brought> {
    let written: Written = match path.extension()?.to_str()? {
        "json" => json(path, text).ok()?,
        "yaml" | "yml" => yaml(path, text).ok()?,
        _ => parse::<Written>(path, text).ok()?.fields,
    };
    let of_folder = || path.parent()?.file_name()?.to_str().map(str::to_owned);
    Some(Brought { name: written.name.or_else(of_folder)?, hooks: written.hooks? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn brought(path: &str, text: &str) -> Option<(String, Value)> {
        hooks_in(Path::new(path), text).map(|brought| (brought.name, brought.hooks))
    }

    #[test]
    fn hooks_are_read_from_every_form_that_skills_and_agents_have() {
        let hooks = json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] });
        let in_yaml = "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: \"true\"\n";
        let expected = |name: &str| Some((name.to_owned(), hooks.clone()));
        assert_eq!(
            brought("skills/tidy/SKILL.md", &format!("---\ndescription: d\n{in_yaml}---\nText")),
            expected("tidy")
        );
        assert_eq!(brought("agents/a.md", &format!("---\nname: b\n{in_yaml}---\n")), expected("b"));
        assert_eq!(brought("agents/a.yaml", &format!("name: b\n{in_yaml}")), expected("b"));
        assert_eq!(brought("agents/a.json", &json!({ "name": "b", "hooks": hooks }).to_string()), expected("b"));
    }

    #[test]
    fn a_file_without_hooks_or_without_sense_brings_none() {
        for text in ["---\nname: a\n---\n", "no front matter", "---\nhooks: [\n---\n", "---\nhooks: &a [*a]\n---\n"] {
            assert_eq!(brought("skills/a/SKILL.md", text), None, "{text}");
        }
    }
}
