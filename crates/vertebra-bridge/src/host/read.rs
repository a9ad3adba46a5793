//! Reads the event of a host and translates it into our own form.

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

/// An event of a host, with everything needed to answer it.
#[derive(Debug, Clone)]
pub struct HostEvent {
    /// The host that sent it.
    pub host: &'static Host,
    /// The moment at which the host called the hook.
    pub moment: &'static Moment,
    /// The event in our own form.
    pub happened: Happened,
    /// The folder in which the session started. Its policy applies even if the agent has changed folders since.
    pub project: Option<PathBuf>,
    /// The host's name for the tool.
    pub tool: Option<String>,
    /// The original argument names of a patch, if the call is one.
    pub(super) patch: Option<patch::Names>,
    /// Why changed arguments cannot be translated back into the host's form.
    pub(super) fixed: Option<&'static str>,
    /// Whether a hook has already kept this run from ending.
    pub(super) is_repeated: bool,
}

/// The reason why an event of a host cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The event is not a JSON object.
    #[error("the event is not a JSON object")]
    NotAnObject,
    /// No known host sends events of this shape.
    #[error("cannot detect which agent sent this event; pass `--host NAME`")]
    NoHost,
    /// The event does not name its type.
    #[error("the event from {host} does not name its type; pass `--event NAME`")]
    NoMoment {
        /// The host that sent it.
        host: &'static str,
    },
    /// The event has a type that we do not know.
    #[error("unknown event `{name}` from {host}{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownMoment {
        /// The host that sent it.
        host: &'static str,
        /// The name of the event.
        name: String,
        /// The known name that is most similar.
        nearest: Option<&'static str>,
    },
    /// A field is missing or has the wrong type.
    #[error("invalid `{moment}` event from {host}: {message}")]
    Fields {
        /// The host that sent it.
        host: &'static str,
        /// The name of the event.
        moment: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// Returns the host with this name.
pub fn find(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name || host.other_names.contains(&name))
}

/// Reads an event. Without `host`, the host is detected from the shape of the event. Without `moment`, the event must name
/// its type.
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

/// Returns the name of the moment. The name in the event takes precedence over the name in the installed entry, unless only
/// the latter is known: an unknown name must not bypass an installed entry.
pub fn named<'n>(host: &Host, event: &'n Value, moment: Option<&'n str>) -> Option<&'n str> {
    let said = said(host, event);
    let known = |name: &&str| host.moment(name).is_some();
    said.filter(known).or(moment.filter(known)).or(said).or(moment)
}

fn said<'e>(host: &Host, event: &'e Value) -> Option<&'e str> {
    host.event_at.iter().find_map(|at| event.pointer(at)?.as_str())
}

/// Returns the host that seems to have sent an event.
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
        let (ours, aliases) = given.names(host).ok_or_else(|| wrong("the tool name is missing".to_owned()))?;
        if let Some(text) = given.text.take() {
            // Some hosts send a patch as plain text. Rules could not inspect any other text.
            if ours != "edit_file" || !patch::is_patch(&text) {
                return Err(wrong("the tool input is not a JSON object".to_owned()));
            }
            given.args.insert("patch".to_owned(), text.into());
            fixed = Some("sends this patch without an argument name");
        }
        if let Some(meant) = host.texts {
            args::read_texts(&mut given.args, meant);
        }
        if ours == "bash" && args::gather_commands(&mut given.args) {
            fixed = Some("sends these commands in its own format");
        }
        let is_command =
            |key: &str| given.args.get(key).is_some_and(|command| command.is_string() || command.is_array());
        let has_other = INSTEAD.iter().any(|(own, key)| tool.as_deref() == Some(own) && given.args.contains_key(*key));
        if moment.is_gate() && ours == "bash" && !["command", "cmd"].into_iter().any(is_command) && !has_other {
            // An agent that renames an argument must not bypass every rule about commands.
            return Err(wrong("the shell call has no `command` argument".to_owned()));
        }
        // Only for `edit_file`: a shell would run the text that follows a line that looks like a patch.
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
    // A host that names parents sends this field for the first agent too, which has none.
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
    let point = vertebra::Points::default().named(moment.point).map_err(|error| wrong(error.to_string()))?;
    let happened = Happened::at(point, &given.event).map_err(|error| match error {
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

/// The fields of our event that an event of a host provides.
#[derive(Default)]
struct Given {
    event: Map<String, Value>,
    tool: Option<String>,
    mcp_server: Option<String>,
    mcp_tool: Option<String>,
    args: Map<String, Value>,
    /// Arguments that are plain text.
    text: Option<String>,
    output: String,
    failed: bool,
    is_repeated: bool,
}

impl Given {
    /// Stores a field. Returns the expected type if the value has another one.
    fn take(&mut self, field: &str, value: Value) -> Result<(), &'static str> {
        if value.is_null() {
            return Ok(());
        }
        match (field, value) {
            // No rule could apply to a tool without a name.
            ("tool", Value::String(tool)) if tool.trim().is_empty() => return Err("a tool name"),
            ("tool", Value::String(tool)) => self.tool = Some(tool),
            ("mcp_server", Value::String(server)) => self.mcp_server = Some(server),
            ("mcp_tool", Value::String(tool)) => self.mcp_tool = Some(tool),
            ("args", Value::Object(args)) => self.args.extend(args),
            // Some hosts send arguments as JSON in a string.
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
                None => return Err("a string"),
            },
        }
        Ok(())
    }

    /// Returns our name for the tool, and its aliases.
    fn names(&self, host: &'static Host) -> Option<(String, Vec<String>)> {
        let own = self.tool.as_deref();
        let of_server = |tool: &str| format!("mcp__{}__{tool}", self.mcp_server.as_deref().unwrap_or("unknown"));
        let mut names: Vec<String> = Vec::new();
        if let Some(tool) = &self.mcp_tool {
            names.push(of_server(tool));
            // A rule sees the same tool name at every moment of a call.
            names.extend(host.mcp_prefix.filter(|_| own.is_none()).map(|prefix| format!("{prefix}{tool}")));
        }
        if let Some(own) = own {
            let rest =
                host.mcp_prefix.and_then(|prefix| own.strip_prefix(prefix)).filter(|_| !own.starts_with("mcp__"));
            match rest.map(|rest| (rest, rest.split_once('_'))) {
                // `mcp_github_create_issue`: the end of the server's name is a guess.
                Some((_, Some((server, tool)))) if host.mcp_prefix == Some("mcp_") => {
                    names.push(format!("mcp__{server}__{tool}"));
                }
                // `@postgres/query`
                Some((rest, _)) if host.mcp_prefix == Some("@") => match rest.split_once('/') {
                    Some((server, tool)) => names.push(format!("mcp__{server}__{tool}")),
                    None => names.push(host.our_name(own).to_owned()),
                },
                Some((tool, _)) => names.push(of_server(tool)),
                // Only for this tool do arguments, which the model writes, name the server and the tool.
                None if host.our_name(own) == THROUGH => {
                    let meant = |key: &str| self.args.get(key).and_then(Value::as_str).unwrap_or("unknown");
                    names.push(format!("{THROUGH}{}__{}", meant("server_name"), meant("tool_name")));
                }
                None => names.push(host.our_name(own).to_owned()),
            }
            names.push(own.to_owned());
            // The server is a guess, so the call gets every name that a rule could use for it.
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

/// Returns the possible `mcp__SERVER__TOOL` names of a tool, one for each place where the server's name may end.
fn of_servers<'n>(own: &'n str, between: &'n str) -> impl Iterator<Item = String> + 'n {
    let splits = own.match_indices(between).map(move |(at, _)| (&own[..at], &own[at + between.len()..]));
    let splits = splits.filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    splits.map(|(server, tool)| format!("mcp__{server}__{tool}"))
}

/// Returns a tool result as the model would read it.
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
