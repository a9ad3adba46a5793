//! An event of a host, in our words.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use vertebra::nearest;

use super::{
    HOSTS, Host, Moment, Sign, Source, args, patch,
    row::{INSTEAD, THROUGH, claude_name},
};
use crate::wire::{EventError, Happened};

/// Variables by name, as far as they are text.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// An event of a host, and all that is needed to answer it.
#[derive(Debug, Clone)]
pub struct HostEvent {
    /// Whose.
    pub host: &'static Host,
    /// When it calls.
    pub moment: &'static Moment,
    /// The event in our words.
    pub happened: Happened,
    /// The folder that the session began in: its policy holds, wherever the agent has gone since.
    pub project: Option<PathBuf>,
    /// The host's own name of the tool.
    pub tool: Option<String>,
    /// What the arguments of a patch were called, if the call is one.
    pub(super) patch: Option<patch::Names>,
    /// Why its arguments cannot be put back into the host's form once they are others.
    pub(super) fixed: Option<&'static str>,
    /// Whether hooks have kept this from ending before.
    pub(super) is_repeated: bool,
}

/// Why an event of a host cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It is not an object.
    #[error("the event is not a JSON object")]
    NotAnObject,
    /// Nothing gives away who sent it.
    #[error("it cannot be told which agent sent this event: say it with `--host NAME`")]
    NoHost,
    /// It does not say what happened.
    #[error("{host} does not say what happened: say it with `--event NAME`")]
    NoMoment {
        /// Whose.
        host: &'static str,
    },
    /// It says something that has no place here.
    #[error("{host} calls with `{name}`, which has no place here{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownMoment {
        /// Whose.
        host: &'static str,
        /// What it says.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// Something is missing, or of another kind.
    #[error("{host} calls with `{moment}`, but {message}")]
    Fields {
        /// Whose.
        host: &'static str,
        /// When.
        moment: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// The host of this name.
pub fn find(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name || host.other_names.contains(&name))
}

/// Reads an event. Without a host it is told by its looks; without the name of the moment, the event has to say it.
pub fn read(
    event: &Value,
    host: Option<&'static Host>,
    moment: Option<&str>,
    environment: Environment<'_>,
) -> Result<HostEvent, HostError> {
    if !event.is_object() {
        return Err(HostError::NotAnObject);
    }
    let looks_like = |host: &&'static Host| is_from(host, event, said(host, event).or(moment), environment);
    let host = match host {
        None => HOSTS.iter().find(looks_like).ok_or(HostError::NoHost)?,
        Some(host) => {
            let readers = HOSTS.iter().filter(|other| host.readers.contains(&other.name));
            let knows =
                |other: &&'static Host| named(other, event, moment).is_some_and(|name| other.moment(name).is_some());
            readers.filter(knows).find(looks_like).unwrap_or(host)
        }
    };
    let name = named(host, event, moment).ok_or(HostError::NoMoment { host: host.title })?;
    let moment = host.moment(name).ok_or_else(|| HostError::UnknownMoment {
        host: host.title,
        name: crate::shown(name),
        nearest: nearest(name, host.moments.iter().map(|moment| moment.name)),
    })?;
    translated(event, host, moment, environment)
}

/// What happened. What the event says is nearer to the truth than what stands in a file; but a word that nobody knows must
/// not open a gate that an entry of ours stands at.
pub fn named<'n>(host: &Host, event: &'n Value, moment: Option<&'n str>) -> Option<&'n str> {
    let said = said(host, event);
    let known = |name: &&str| host.moment(name).is_some();
    said.filter(known).or(moment.filter(known)).or(said).or(moment)
}

fn said<'e>(host: &Host, event: &'e Value) -> Option<&'e str> {
    host.event_at.iter().find_map(|at| event.pointer(at)?.as_str())
}

/// The host that an event seems to be of.
pub fn looks_like(event: &Value, environment: Environment<'_>) -> Option<&'static Host> {
    HOSTS.iter().find(|host| is_from(host, event, said(host, event), environment))
}

fn is_from(host: &'static Host, event: &Value, name: Option<&str>, environment: Environment<'_>) -> bool {
    let holds = |sign: &Sign| match sign {
        Sign::Has(at) => event.pointer(at).is_some(),
        Sign::HasText(at) => event.pointer(at).is_some_and(Value::is_string),
        Sign::Lacks(at) => event.pointer(at).is_none(),
        Sign::Event(names) => name.is_some_and(|name| names.contains(&name)),
        Sign::Tool(names) => event["tool_name"].as_str().is_some_and(|tool| names.contains(&tool)),
        Sign::Variable(name) => environment(name).is_some(),
    };
    host.signs.iter().any(|signs| signs.iter().all(holds))
}

fn translated(
    event: &Value,
    host: &'static Host,
    moment: &'static Moment,
    environment: Environment<'_>,
) -> Result<HostEvent, HostError> {
    let wrong = |message: String| HostError::Fields { host: host.title, moment: moment.name, message };
    let mut given = Given::default();
    for (field, source) in moment.fields {
        let value = match source.strip_prefix('=') {
            Some(value) => value.into(),
            None => event.pointer(source).cloned().unwrap_or_default(),
        };
        given.take(field, value).map_err(|expected| wrong(format!("`{source}` is not {expected}")))?;
    }
    let text = |at: &str| event.pointer(at).and_then(Value::as_str).filter(|text| !text.is_empty());
    let project = host.project.iter().find_map(|source| match source {
        Source::At(at) => text(at).map(str::to_owned),
        Source::Variable(name) => environment(name).filter(|folder| !folder.is_empty()),
    });
    let folder = ["/cwd", "/tool_info/cwd"].iter().copied().find_map(text);
    let folder = folder.map(str::to_owned).or_else(|| project.clone());
    let project = project.map(PathBuf::from).filter(|folder| folder.is_absolute());

    let (mut patch, mut fixed) = (None, None);
    let tool = given.tool.clone();
    if is_tool(moment.point) {
        let (ours, aliases) = given.names(host).ok_or_else(|| wrong("it does not say which tool".to_owned()))?;
        if let Some(text) = given.text.take() {
            // Some send a patch as it is. Any other text is an argument that only rules about texts could see.
            if ours != "edit_file" || !patch::is_patch(&text) {
                return Err(wrong("what it gives as arguments is not a JSON object".to_owned()));
            }
            given.args.insert("patch".to_owned(), text.into());
            fixed = Some("sends this patch without a name for it");
        }
        if let Some(meant) = host.texts {
            args::read_texts(&mut given.args, meant);
        }
        if ours == "bash" && args::gather_commands(&mut given.args) {
            fixed = Some("sends these commands in a form of its own");
        }
        let is_command =
            |key: &str| given.args.get(key).is_some_and(|command| command.is_string() || command.is_array());
        let has_other = INSTEAD.iter().any(|(own, key)| tool.as_deref() == Some(own) && given.args.contains_key(*key));
        if moment.is_gate() && ours == "bash" && !["command", "cmd"].into_iter().any(is_command) && !has_other {
            // An agent that has renamed an argument must not get past every rule about commands.
            return Err(wrong("there is no `command` in the arguments of its shell".to_owned()));
        }
        // A shell runs what follows a line that looks like a patch.
        if ours == "edit_file" {
            patch = patch::opened(&mut given.args);
            if patch.as_ref().is_some_and(patch::Names::are_several) {
                fixed = Some("sends several patches in one call");
            }
        }
        given.event.insert("tool".to_owned(), ours.into());
        given.event.insert("aliases".to_owned(), aliases.into());
        given.event.insert("args".to_owned(), Value::Object(given.args));
    }
    if moment.point == "AfterToolUse" {
        let (status, output) = (if given.failed { "failed" } else { "done" }, given.output);
        let result = json!({ "status": status, "success": !given.failed, "output": output, "duration_ms": 0 });
        given.event.insert("result".to_owned(), result);
    }
    let session = ["/session_id", "/sessionId", "/conversation_id", "/trajectory_id", "/taskId"].iter();
    if let Some(session) = session.copied().find_map(text) {
        given.event.insert("session_id".to_owned(), session.into());
    }
    given.event.insert("agent".to_owned(), host.name.into());
    given.event.insert("timestamp".to_owned(), now().into());
    // Who names its parent says so of the first agent as well, which has none.
    let is_child = match event.pointer("/parent_agent_id") {
        Some(parent) => parent.is_string(),
        None => text("/agent_id").is_some(),
    };
    if is_child {
        given.event.insert("depth".to_owned(), 1.into());
    }
    if let Some(folder) = folder {
        given.event.insert("working_directory".to_owned(), folder.into());
    }
    let happened = Happened::at(moment.point, &given.event).map_err(|error| match error {
        EventError::Fields { message, .. } => wrong(message),
        other => wrong(other.to_string()),
    })?;
    Ok(HostEvent { host, moment, happened, project, tool, patch, fixed, is_repeated: given.is_repeated })
}

fn is_tool(point: &str) -> bool {
    matches!(point, "BeforeToolUse" | "PermissionRequest" | "AfterToolUse" | "ToolUseFailed")
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// What an event of a host gives of ours.
#[derive(Default)]
struct Given {
    event: Map<String, Value>,
    tool: Option<String>,
    mcp_server: Option<String>,
    mcp_tool: Option<String>,
    args: Map<String, Value>,
    /// Arguments that are a text and nothing else.
    text: Option<String>,
    output: String,
    failed: bool,
    is_repeated: bool,
}

impl Given {
    /// Takes a field in; says what it should have been if it is something else.
    fn take(&mut self, field: &str, value: Value) -> Result<(), &'static str> {
        if value.is_null() {
            return Ok(());
        }
        match (field, value) {
            // Nobody could say of a tool without a name what it may do.
            ("tool", Value::String(tool)) if tool.trim().is_empty() => return Err("the name of a tool"),
            ("tool", Value::String(tool)) => self.tool = Some(tool),
            ("mcp_server", Value::String(server)) => self.mcp_server = Some(server),
            ("mcp_tool", Value::String(tool)) => self.mcp_tool = Some(tool),
            ("args", Value::Object(args)) => self.args.extend(args),
            // Some write arguments as JSON in a text.
            ("args", Value::String(text)) => match serde_json::from_str(&text) {
                Ok(Value::Object(args)) => self.args.extend(args),
                _ => self.text = Some(text),
            },
            ("args", _) => return Err("a JSON object"),
            ("result/output", value) => self.output = readable(value),
            ("result/error", _) => self.failed = true,
            ("result/success", value) => self.failed = value == json!(false),
            ("repeated", value) => self.is_repeated |= value == json!(true),
            ("continuations", value) => {
                let times = value.as_u64().unwrap_or_else(|| u64::from(value == json!(true)));
                self.is_repeated |= times > 0;
                self.event.insert(field.to_owned(), times.into());
            }
            ("error", value) => drop(self.event.insert(field.to_owned(), readable(value).into())),
            (field, value) => match field.strip_prefix("args/") {
                Some(key) => drop(self.args.insert(key.to_owned(), value)),
                None if value.is_string() => drop(self.event.insert(field.to_owned(), value)),
                None => return Err("a text"),
            },
        }
        Ok(())
    }

    /// Our name of the tool, and all others.
    fn names(&self, host: &'static Host) -> Option<(String, Vec<String>)> {
        let own = self.tool.as_deref();
        let of_server = |tool: &str| format!("mcp__{}__{tool}", self.mcp_server.as_deref().unwrap_or("unknown"));
        let mut names: Vec<String> = Vec::new();
        if let Some(tool) = &self.mcp_tool {
            names.push(of_server(tool));
            // The same call is one tool to a rule, whichever moment it is judged at.
            names.extend(host.mcp_prefix.filter(|_| own.is_none()).map(|prefix| format!("{prefix}{tool}")));
        }
        if let Some(own) = own {
            let rest =
                host.mcp_prefix.and_then(|prefix| own.strip_prefix(prefix)).filter(|_| !own.starts_with("mcp__"));
            match rest.map(|rest| (rest, rest.split_once('_'))) {
                // `mcp_github_create_issue`: where the server's name ends is a guess.
                Some((_, Some((server, tool)))) if host.mcp_prefix == Some("mcp_") => {
                    names.push(format!("mcp__{server}__{tool}"));
                }
                // `@postgres/query`
                Some((rest, _)) if host.mcp_prefix == Some("@") => match rest.split_once('/') {
                    Some((server, tool)) => names.push(format!("mcp__{server}__{tool}")),
                    None => names.push(host.our_name(own).to_owned()),
                },
                Some((tool, _)) => names.push(of_server(tool)),
                // Of any other tool, what a model writes among the arguments names nothing.
                None if host.our_name(own) == THROUGH => {
                    let meant = |key: &str| self.args.get(key).and_then(Value::as_str).unwrap_or("unknown");
                    names.push(format!("{THROUGH}{}__{}", meant("server_name"), meant("tool_name")));
                }
                None => names.push(host.our_name(own).to_owned()),
            }
            names.push(own.to_owned());
            // Which server it is of is a guess, so every rule holds that could be meant.
            let between = host.mcp_between.filter(|_| host.known_name(own).is_none() && !own.starts_with("mcp__"));
            names.extend(between.into_iter().flat_map(|between| of_servers(own, between)));
        }
        let claude = names.first().and_then(|ours| claude_name(ours));
        names.extend(claude.map(str::to_owned));
        let ours = names.first()?.clone();
        let mut aliases: Vec<String> = Vec::new();
        for name in names {
            if name != ours && !aliases.contains(&name) {
                aliases.push(name);
            }
        }
        Some((ours, aliases))
    }
}

/// A tool's name as one of a server, wherever the server's name may end.
fn of_servers<'n>(own: &'n str, between: &'n str) -> impl Iterator<Item = String> + 'n {
    let splits = own.match_indices(between).map(move |(at, _)| (&own[..at], &own[at + between.len()..]));
    let splits = splits.filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    splits.map(|(server, tool)| format!("mcp__{server}__{tool}"))
}

/// What a tool gave back, as a model would read it.
fn readable(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Object(map) if map.get("stdout").is_some_and(Value::is_string) => {
            let part = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            [part("stdout"), part("stderr")].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
