//! One skill: a folder with a `SKILL.md`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Problem,
    front_matter::{self, Document, Fields, NAME_RULE, Words, entries, is_name, line_of, stated},
    tool_list::ToolList,
};

pub(super) const FILE: &str = "SKILL.md";
/// The folders of a skill whose files are listed to whoever loads it.
const RESOURCES: [&str; 4] = ["scripts", "references", "assets", "examples"];
/// How many files are listed, and how deep.
const MAX_RESOURCES: usize = 100;
const MAX_RESOURCE_DEPTH: u32 = 4;
const MAX_DESCRIPTION: usize = 1024;

/// A skill, as its file says.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its name.
    pub name: Arc<str>,
    /// What it does and when to use it.
    pub description: String,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs to work.
    pub compatibility: Option<String>,
    /// Anything else its author noted.
    pub metadata: BTreeMap<String, Value>,
    /// The tools that may be used while it is active; `None` leaves all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether only people may start it.
    pub disable_model_invocation: bool,
    /// Whether people may start it.
    pub user_invocable: bool,
    /// What arguments it takes, for people.
    pub argument_hint: Option<String>,
    /// The model that is asked while it is active.
    pub model: Option<String>,
    /// Where it runs.
    pub context: Context,
    /// The subagent it runs as, if it runs as a child.
    pub agent: Option<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// The files that come with it, below its folder.
    pub resources: Vec<String>,
    /// Its instructions.
    pub body: String,
}

/// Where a skill runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Context {
    /// In the conversation that loads it.
    #[default]
    Inline,
    /// In a child agent, which answers with its result.
    Fork,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Written {
    name: Option<String>,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
    #[serde(default, deserialize_with = "stated")]
    allowed_tools: Option<Words>,
    #[serde(default)]
    disable_model_invocation: bool,
    #[serde(default = "yes")]
    user_invocable: bool,
    argument_hint: Option<Hint>,
    model: Option<String>,
    #[serde(default)]
    context: Context,
    agent: Option<String>,
}

impl Fields for Written {
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "license",
        "compatibility",
        "metadata",
        "allowed-tools",
        "disable-model-invocation",
        "user-invocable",
        "argument-hint",
        "model",
        "context",
        "agent",
        // Of other agents: see `front_matter::hooks_in`.
        "hooks",
    ];
}

fn yes() -> bool {
    true
}

/// `[issue] [priority]` without quotes is a list to YAML, and text to whoever wrote it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Hint {
    Text(String),
    List(Vec<String>),
}

impl Skill {
    /// Reads the skill in a folder; `None` if the folder holds none.
    pub(super) fn load(folder: &Path) -> Option<Result<Self, Problem>> {
        let path = folder.join(FILE);
        // Whether there is something, not what it is: a link that leads nowhere is a problem to tell.
        fs::symlink_metadata(&path).ok()?;
        Some(front_matter::read(&path).and_then(|text| Self::parse(folder, &path, &text)))
    }

    fn parse(folder: &Path, path: &Path, text: &str) -> Result<Self, Problem> {
        let Document { fields, body } = front_matter::parse::<Written>(path, text)?;
        let broken = |field: &str, message: String| Problem::new(path, line_of(text, field), message);
        let own_name = || folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = fields.name.unwrap_or_else(own_name);
        if !is_name(&name) {
            return Err(broken("name", format!("`{name}` is not a name; {NAME_RULE}")));
        }
        let length = fields.description.chars().count();
        if fields.description.trim().is_empty() || length > MAX_DESCRIPTION {
            let message =
                format!("`description` has {length} characters; write 1 to {MAX_DESCRIPTION}: what it does, and when");
            return Err(broken("description", message));
        }
        let allowed_tools = fields.allowed_tools.map(|Words(tools)| tools);
        allowed_tools.as_ref().map(ToolList::new).transpose().map_err(|message| broken("allowed-tools", message))?;
        Ok(Self {
            name: name.into(),
            description: fields.description,
            license: fields.license,
            compatibility: fields.compatibility,
            metadata: fields.metadata,
            allowed_tools,
            disable_model_invocation: fields.disable_model_invocation,
            user_invocable: fields.user_invocable,
            argument_hint: fields.argument_hint.map(|hint| match hint {
                Hint::Text(text) => text,
                Hint::List(words) => words.iter().map(|word| format!("[{word}]")).collect::<Vec<_>>().join(" "),
            }),
            model: fields.model.filter(|model| model != "inherit"),
            context: fields.context,
            agent: fields.agent,
            folder: folder.to_owned(),
            resources: resources(folder),
            body,
        })
    }

    /// Its name and what it is for, in one line.
    pub(super) fn line(&self) -> String {
        let words: Vec<&str> = self.description.split_whitespace().collect();
        format!("- {}: {}", self.name, words.join(" "))
    }
}

/// The files in the folders that skills keep their things in. Links are not followed.
fn resources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in RESOURCES {
        collect(&folder.join(name), name, MAX_RESOURCE_DEPTH, &mut found);
    }
    found
}

fn collect(folder: &Path, prefix: &str, depth: u32, found: &mut Vec<String>) {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    if depth == 0 || !is_folder(folder) {
        return;
    }
    for path in entries(folder).0 {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let below = format!("{prefix}/{name}");
        if found.len() >= MAX_RESOURCES || name.chars().any(char::is_control) {
            continue;
        }
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
            found.push(below);
        } else {
            collect(&path, &below, depth - 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Skill, String> {
        let folder = Path::new("skills/commit");
        Skill::parse(folder, &folder.join(FILE), text).map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_field_is_read() {
        let text = "---\nname: commit\ndescription: Commits\n  changes\nlicense: MIT\ncompatibility: needs git\n\
            metadata: {author: me, version: 1.0}\nallowed-tools: Bash(git *), Read\ndisable-model-invocation: true\n\
            user-invocable: false\nargument-hint: [scope]\nmodel: small\ncontext: fork\nagent: reviewer\nversion: 7\n---\nDo it.";
        let skill = parsed(text).expect("a skill");
        assert_eq!(skill.line(), "- commit: Commits changes");
        assert_eq!((skill.license.as_deref(), skill.compatibility.as_deref()), (Some("MIT"), Some("needs git")));
        assert_eq!(skill.metadata["author"], "me");
        assert_eq!(skill.allowed_tools, Some(vec!["Bash(git *)".to_owned(), "Read".to_owned()]));
        assert!(skill.disable_model_invocation && !skill.user_invocable);
        assert_eq!(skill.argument_hint.as_deref(), Some("[scope]"));
        assert_eq!((skill.model.as_deref(), skill.agent.as_deref()), (Some("small"), Some("reviewer")));
        assert_eq!((skill.context, &*skill.body), (Context::Fork, "Do it."));
    }

    #[test]
    fn a_short_skill_takes_the_rest_from_its_folder_and_the_format() {
        let skill = parsed("---\ndescription: Commits\n---\nDo it.").expect("a skill");
        assert_eq!((&*skill.name, skill.context, skill.user_invocable), ("commit", Context::Inline, true));
        assert_eq!((skill.allowed_tools, skill.disable_model_invocation), (None, false));
    }

    #[test]
    fn allowed_tools_may_be_parted_by_blanks_commas_or_lines() {
        for written in [
            "Read Bash(git add *)",
            "Read, Bash(git add *)",
            "[Read, Bash(git add *)]",
            "\n  - Read\n  - Bash(git add *)",
        ] {
            let skill = parsed(&format!("---\ndescription: x\nallowed-tools: {written}\n---\n")).expect(written);
            assert_eq!(skill.allowed_tools, Some(vec!["Read".to_owned(), "Bash(git add *)".to_owned()]), "{written}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_what_to_write() {
        let cases = [
            ("name: ../up\ndescription: x", ":2: `../up` is not a name"),
            ("description: ''", ":2: `description` has 0 characters; write 1 to 1024"),
            ("description: x\nallowed_tools: Read", ":3: unknown field `allowed_tools`; did you mean `allowed-tools`?"),
            ("description: x\nallowed-tools:", ":3: the field is empty"),
            ("description: x\nallowed-tools: Bash(git", ":3: invalid rule `Bash(git`: the closing `)` is missing"),
            ("description: x\ncontext: spoon", ":3: "),
            ("description: x\nuser-invocable: perhaps", ":3: "),
            ("name: commit", ":2: "),
        ];
        for (matter, problem) in cases {
            let told = parsed(&format!("---\n{matter}\n---\n")).expect_err(matter);
            assert!(told.starts_with("skills/commit/SKILL.md:") && told.contains(problem), "{matter}: {told}");
        }
    }

    #[test]
    fn files_that_come_with_a_skill_are_listed_and_links_are_not_followed() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("below")).expect("a folder");
            fs::write(path, "x").expect("written");
        };
        ["scripts/b.sh", "scripts/deep/a.py", "references/style.md", "secret/key", "LICENSE"]
            .into_iter()
            .for_each(write);
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path().join("secret"), root.path().join("assets")).expect("a link");
        assert_eq!(resources(root.path()), ["scripts/b.sh", "scripts/deep/a.py", "references/style.md"]);
        (0..200).for_each(|number| write(&format!("scripts/{number}.sh")));
        assert_eq!(resources(root.path()).len(), MAX_RESOURCES);
    }
}
