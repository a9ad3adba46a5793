//! The tool that finds tools.

use std::{fmt::Write as _, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::search::Words;

pub(super) const NAME: &str = "tools";

/// The hits that are shown unless the model says otherwise.
const USUAL_HITS: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    List,
    Search,
    Help,
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// `list` names tools, `search` finds some by words, `help` explains one.
    action: Action,
    /// For `help`: the name of the tool.
    tool: Option<String>,
    /// For `search`: what the tool should do, in a few words.
    query: Option<String>,
    /// How many tools to name; 10 unless told otherwise.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

/// Answers questions about the other tools of the agent that runs.
pub(super) struct Catalogue(ToolSpec);

impl Default for Catalogue {
    fn default() -> Self {
        let description = "Finds tools. You are shown a few of all there are: search for what you need, read its help, \
                           then call it like any other.";
        Self(ToolSpec::new(NAME, description).input::<Question>().read_only())
    }
}

impl Tool for Catalogue {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let question: Question = args.parse()?;
        let mut tools: Vec<ToolSpec> = invocation.run().tools().map(|tool| tool.spec()).collect();
        tools.retain(|spec| *spec.name != *NAME);
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let limit = question.limit.unwrap_or(USUAL_HITS);
        let answer = match question.action {
            Action::List => list(&tools, limit),
            Action::Search => search(&tools, question.query.as_deref(), limit),
            Action::Help => help(&tools, question.tool.as_deref()),
        };
        answer.map_err(ToolError::new)
    }
}

fn list(tools: &[ToolSpec], limit: usize) -> Result<ToolOutput, String> {
    let mut text = format!("{} tools", tools.len());
    if tools.len() > limit {
        write!(text, ", of which the first {limit} by name; `search` finds the others").map_err(|e| e.to_string())?;
    }
    Ok(lines(text, tools.iter().take(limit)).into())
}

fn search(tools: &[ToolSpec], query: Option<&str>, limit: usize) -> Result<ToolOutput, String> {
    let query = query.map(str::trim).filter(|query| !query.is_empty());
    let words = Words::new(query.ok_or("`search` needs a `query`: what the tool should do, in a few words")?);
    let hits = words.find(tools);
    if hits.is_empty() {
        return Ok("no tool was found: try other words, or `list`".into());
    }
    let shown = &hits[..hits.len().min(limit)];
    let text = lines(format!("{} of {} tools found, the best first", shown.len(), hits.len()), shown.iter().copied());
    Ok(activating(text, shown.iter().map(|spec| &spec.name)))
}

fn help(tools: &[ToolSpec], name: Option<&str>) -> Result<ToolOutput, String> {
    let name = name.ok_or("`help` needs a `tool`: the name of the tool")?;
    let asked = |known: &Arc<str>| known.eq_ignore_ascii_case(name);
    let Some(spec) = tools.iter().find(|spec| asked(&spec.name) || spec.aliases.iter().any(asked)) else {
        let near: Vec<_> =
            Words::new(name).find(tools).into_iter().take(3).map(|spec| format!("`{}`", spec.name)).collect();
        let shown: String = name.chars().take(64).collect();
        let hint =
            if near.is_empty() { "`search` for it".to_owned() } else { format!("did you mean {}?", near.join(", ")) };
        return Err(format!("there is no tool `{}`; {hint}", shown.escape_debug()));
    };
    let text = format!("{}: {}\nArguments, as a JSON schema: {}", spec.name, spec.description, spec.schema);
    Ok(activating(text, std::iter::once(&spec.name)))
}

/// A line for each tool, with the first line of its description.
fn lines<'a>(head: String, tools: impl Iterator<Item = &'a ToolSpec>) -> String {
    let line = |spec: &ToolSpec| {
        let first: String = spec.description.lines().next().unwrap_or_default().chars().take(200).collect();
        format!("{}: {first}", spec.name)
    };
    std::iter::once(head).chain(tools.map(line)).collect::<Vec<_>>().join("\n")
}

/// The answer, and the tools that it brings into the context, for the hook.
fn activating<'a>(text: String, tools: impl Iterator<Item = &'a Arc<str>>) -> ToolOutput {
    ToolOutput { text, exit_code: None, data: json!({ "activate": tools.collect::<Vec<_>>() }) }
}
