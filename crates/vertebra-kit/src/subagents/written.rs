//! Subagents in files: Markdown with front matter, YAML or JSON.

use std::{path::Path, time::Duration};

use jiff::Timestamp;
use serde::Deserialize;
use vertebra::Limits;

use super::Subagent;
use crate::{
    Problem,
    front_matter::{self, Document, Fields, Words, line_of, stated},
};

/// The fields as people write them, here and in the files of other agents.
#[derive(Debug, Deserialize)]
struct Written {
    name: String,
    description: String,
    #[serde(default, alias = "systemPrompt", alias = "system_prompt")]
    prompt: String,
    #[serde(default, deserialize_with = "stated")]
    tools: Option<Words>,
    #[serde(default, alias = "toolsDeny", alias = "disallowedTools", alias = "disallowed-tools")]
    tools_deny: Words,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    skills: Words,
    #[serde(default, alias = "budget")]
    limits: WrittenLimits,
    #[serde(default, rename = "maxTurns")]
    max_turns: Option<u64>,
}

impl Fields for Written {
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "prompt",
        "systemPrompt",
        "system_prompt",
        "tools",
        "tools_deny",
        "toolsDeny",
        "disallowedTools",
        "disallowed-tools",
        "model",
        "skills",
        "limits",
        "budget",
        "maxTurns",
        // See `front_matter::hooks_in`.
        "hooks",
        // Of other agents, and close enough to one of ours to be taken for a slip.
        "mode",
    ];
}

/// A field that is wrong, and what to write instead.
type Wrong = (&'static str, String);

/// The limits as people write them. Here a field that nobody knows would be a limit that nobody keeps.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenLimits {
    #[serde(alias = "maxSteps")]
    max_steps: Option<u64>,
    #[serde(alias = "maxTokens")]
    max_tokens: Option<u64>,
    #[serde(alias = "maxSeconds")]
    max_seconds: Option<f64>,
    #[serde(alias = "maxCost")]
    max_cost: Option<f64>,
    deadline: Option<Timestamp>,
}

impl WrittenLimits {
    fn limits(&self) -> Result<Limits, Wrong> {
        let time = self.max_seconds.map(Duration::try_from_secs_f64).transpose();
        Ok(Limits {
            steps: self.max_steps,
            tokens: self.max_tokens,
            time: time.map_err(|error| ("max_seconds", format!("invalid `max_seconds`: {error}")))?,
            cost_micros: self.max_cost.map(micros).transpose()?,
            deadline: self.deadline,
        })
    }
}

/// Dollars in millionths.
fn micros(dollars: f64) -> Result<u64, Wrong> {
    // Half a billion dollars: below it every millionth is a number of its own, and more is a slip.
    if !(0.0..=5e8).contains(&dollars) {
        return Err(("max_cost", format!("`max_cost` is {dollars}; write dollars, such as `0.50`")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the range of both")]
    Ok((dollars * 1e6).round() as u64)
}

/// Reads the agent in a file; `None` if the file is not of a kind that holds agents.
pub(super) fn load(path: &Path) -> Option<Result<Subagent, Problem>> {
    let kind = path.extension()?.to_str()?;
    if !matches!(kind, "md" | "yaml" | "yml" | "json") {
        return None;
    }
    Some(front_matter::read(path).and_then(|text| parse(path, kind, &text)))
}

fn parse(path: &Path, kind: &str, text: &str) -> Result<Subagent, Problem> {
    let written: Written = match kind {
        "json" => front_matter::json(path, text)?,
        "yaml" | "yml" => front_matter::yaml(path, text)?,
        _ => {
            let Document { fields, body } = front_matter::parse::<Written>(path, text)?;
            Written { prompt: body, ..fields }
        }
    };
    subagent(written).map_err(|(field, message)| Problem::new(path, line_of(text, field), message))
}

fn subagent(written: Written) -> Result<Subagent, Wrong> {
    if written.prompt.trim().is_empty() {
        let message = "has no prompt; write below the front matter, or in `prompt`, what the agent is told";
        return Err(("prompt", message.to_owned()));
    }
    let mut limits = written.limits.limits()?;
    limits.steps = [limits.steps, written.max_turns].into_iter().flatten().min();
    let agent = Subagent {
        prompt: written.prompt,
        tools: written.tools.into_iter().map(|Words(tools)| tools).collect(),
        tools_deny: written.tools_deny.0,
        model: written.model.filter(|model| model != "inherit"),
        skills: written.skills.0,
        limits,
        ..Subagent::new(written.name, written.description)
    };
    agent.check().map_err(|problem| (problem.field(), problem.to_string()))?;
    Ok(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(kind: &str, text: &str) -> Result<Subagent, String> {
        parse(Path::new("a"), kind, text).map_err(|problem| problem.to_string())
    }

    const MARKDOWN: &str = "---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep\ntools_deny: [Bash]\n\
        model: small\nskills: [style]\nlimits:\n  max_steps: 3\n  max_tokens: 900\n  max_seconds: 1.5\n  max_cost: 0.25\n  \
        deadline: 2030-01-01T00:00:00Z\n---\n\nYou review.\n";
    const YAML: &str = "name: reviewer\ndescription: Reviews code\nprompt: You review.\ntools: [Read, Grep]\n\
        disallowedTools: Bash\nmodel: small\nskills: style\nbudget: {maxSteps: 3, maxTokens: 900, maxSeconds: 1.5, \
        maxCost: 0.25, deadline: \"2030-01-01T00:00:00Z\"}\n";
    const JSON: &str = r#"{
        "name": "reviewer", "description": "Reviews code", "systemPrompt": "You review.", "tools": ["Read", "Grep"],
        "toolsDeny": ["Bash"], "model": "small", "skills": ["style"],
        "limits": {"max_steps": 3, "max_tokens": 900, "max_seconds": 1.5, "max_cost": 0.25,
                   "deadline": "2030-01-01T00:00:00Z"}
    }"#;

    #[test]
    fn one_agent_is_the_same_in_every_form() {
        for (kind, text) in [("md", MARKDOWN), ("yaml", YAML), ("json", JSON)] {
            let agent = parsed(kind, text).expect(kind);
            assert_eq!(agent.to_string(), "- reviewer: Reviews code (tools: Read, Grep, but not Bash)", "{kind}");
            assert_eq!((&*agent.prompt, agent.model.as_deref()), ("You review.", Some("small")), "{kind}");
            assert_eq!(agent.skills, ["style"], "{kind}");
            let limits = Limits {
                steps: Some(3),
                tokens: Some(900),
                time: Some(Duration::from_millis(1500)),
                cost_micros: Some(250_000),
                deadline: Some("2030-01-01T00:00:00Z".parse().expect("a moment")),
            };
            assert_eq!(agent.limits, limits, "{kind}");
        }
    }

    #[test]
    fn absent_tools_are_all_and_an_empty_list_is_none() {
        let with =
            |tools: &str| parsed("yaml", &format!("name: a\ndescription: b\nprompt: c\n{tools}")).expect("an agent");
        assert_eq!(with("").to_string(), "- a: b (tools: all of yours)");
        assert_eq!(with("tools: []").to_string(), "- a: b (tools: none)");
        assert_eq!(with("maxTurns: 4").limits.steps, Some(4));
        assert_eq!(with("model: inherit").model, None);
        assert_eq!(with("permissionMode: bypassPermissions\nmode: all").to_string(), "- a: b (tools: all of yours)");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        let cases = [
            (
                "name: Big Boss\ndescription: b\nprompt: c",
                "a:1: `Big Boss` is not a name; names are lower-case letters, digits, `-` and `_`, at most 64 of them",
            ),
            ("name: a\ndescription: ' '\nprompt: c", "a:2: it has no description; say what it is for"),
            (
                "name: a\ndescription: b",
                "a:1: has no prompt; write below the front matter, or in `prompt`, what the agent is told",
            ),
            (
                "name: a\ndescription: b\nprompt: c\nlimits: {max_cost: -1}",
                "a:4: `max_cost` is -1; write dollars, such as `0.50`",
            ),
            (
                "name: a\ndescription: b\nprompt: c\ntool_deny: x",
                "a:4: unknown field `tool_deny`; did you mean `tools_deny`?",
            ),
            (
                "name: a\ndescription: b\nprompt: c\ntools: 'Bash(git'",
                "a:4: invalid rule `Bash(git`: the closing `)` is missing (at character 9); write `Bash(git)`",
            ),
        ];
        for (text, problem) in cases {
            assert_eq!(parsed("yaml", text).expect_err(text), problem);
        }
        for text in [
            "name: a\ndescription: b\nprompt: c\nlimits: {max_stepz: 1}",
            "name: a\ndescription: b\nprompt: c\nlimits:\n  max_steps: many",
        ] {
            assert!(parsed("yaml", text).expect_err(text).contains("max_step") || text.contains("many"), "{text}");
        }
    }
}
