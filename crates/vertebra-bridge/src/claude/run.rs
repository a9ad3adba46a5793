//! Running handlers, and what each of them said.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};
use tokio::time::timeout;
use vertebra_kit::mcp::Servers;

use super::{
    event::Event,
    fill::{braced, expanded},
    handler::{Action, Level, Plugin},
    means::AskModel,
    output::Written,
    rule::fits,
    settings::{Declared, Settings},
};
use crate::{
    handler::{
        Http,
        process::{Program, Start},
    },
    settings::Words,
    trust::{Seal, Seals},
    wire::{End, Exchange},
};

/// Where and with what handlers run.
#[derive(Clone)]
pub struct Session {
    /// Where the session was started: `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The environment that commands inherit.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether a person is there: a call can be put off only where nobody is.
    pub is_attended: bool,
    /// The MCP servers that are connected.
    pub servers: Servers,
    /// The model that judges, if there is one.
    pub model: Option<Arc<dyn AskModel>>,
    /// Where commands leave variables for later commands, if they may.
    pub env_file: Option<PathBuf>,
    /// The project's scripts as they were trusted.
    pub seals: Seals,
}

/// How a handler ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Which of the handlers it is, as they are declared.
    pub(super) place: usize,
    /// The how manieth to end it was.
    pub(super) order: usize,
    pub(super) exchange: Exchange,
    pub(super) said: Said,
}

/// What it said.
#[derive(Debug)]
pub(super) enum Said {
    /// It ended with this code; what is no process and did its work ended with 0.
    Exited {
        code: i32,
        written: Written,
        stderr: String,
    },
    /// A model judged.
    Judged {
        ok: bool,
        reason: String,
        impossible: bool,
        goes_on: bool,
    },
    TimedOut {
        after: Duration,
    },
    /// It could not be begun, or broke off, or said what nobody can read.
    Failed {
        message: String,
    },
}

impl Said {
    /// Whether it did what it was to do, whatever it thinks of the event.
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0, .. } | Self::Judged { .. })
    }
}

/// What a handler is given.
pub(super) struct Given<'g> {
    pub(super) event: &'static Event,
    pub(super) input: &'g Map<String, Value>,
    /// The input as it is written to commands and servers.
    pub(super) body: &'g str,
    /// The folder commands run in.
    pub(super) cwd: &'g Path,
    pub(super) settings: &'g Settings,
    pub(super) session: &'g Session,
}

impl Given<'_> {
    pub(super) async fn run(&self, declared: &Declared, limit: Duration) -> (Exchange, Said) {
        let shown = declared.handler.shown();
        let began = Instant::now();
        let answered = match &declared.handler.action {
            Action::Command { command, args, shell, .. } => {
                let plugin = declared.origin.level.plugin();
                let mut program = self.program(command, args.as_deref(), shell.as_deref(), plugin);
                if matches!(declared.origin.level, Level::Project | Level::Local) {
                    program.seal = self.session.seals.of_command(&match args {
                        None => Words::Line(command.clone()),
                        Some(args) => Words::List(std::iter::once(command).chain(args).cloned().collect()),
                    });
                    // A script that is not as it was trusted is not started, and a guard that does not start blocks.
                    if let Err(message) = program.check() {
                        let exchange = Exchange { handler: shown, ..failed(message.clone(), began) };
                        let written = Written::read("", self.event);
                        return (exchange, Said::Exited { code: 2, written, stderr: message });
                    }
                }
                let exchange = Exchange { handler: shown, ..program.exchange(self.body.as_bytes(), limit).await };
                let said = self.said(&exchange);
                return (exchange, said);
            }
            Action::Http { url, headers, allowed_variables } => {
                let exchange = match self.http(url, headers, allowed_variables) {
                    Ok(http) => http.exchange(self.body.as_bytes().to_owned(), limit).await,
                    Err(message) => failed(message, began),
                };
                let exchange = Exchange { handler: shown, ..only_objects(exchange) };
                let said = self.said(&exchange);
                return (exchange, said);
            }
            Action::McpTool { server, tool, input } => {
                let input = input.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect();
                let call = self.session.servers.call(server, tool, input);
                let call = timeout(limit, call).await;
                call.map(|answer| answer.map(|answer| answer.text).map_err(|error| error.to_string()))
            }
            Action::Prompt { prompt, model, .. } | Action::Agent { prompt, model } => match &self.session.model {
                Some(asked) => timeout(limit, asked.ask(model.as_deref(), self.asked(prompt))).await,
                None => Ok(Err("no model can be asked from here".to_owned())),
            },
        };
        let (end, stdout, said) = match answered {
            Err(_) => (End::TimedOut { after: limit }, String::new(), Said::TimedOut { after: limit }),
            Ok(Err(message)) => (End::Failed { message: message.clone() }, String::new(), Said::Failed { message }),
            Ok(Ok(text)) => {
                let said = match &declared.handler.action {
                    Action::Prompt { goes_on, .. } => judged(&text, *goes_on),
                    // An agent's objection never ends the turn.
                    Action::Agent { .. } => judged(&text, true),
                    Action::Command { .. } | Action::Http { .. } | Action::McpTool { .. } => {
                        Said::Exited { code: 0, written: Written::read(&text, self.event), stderr: String::new() }
                    }
                };
                (End::Answered, text, said)
            }
        };
        (Exchange { handler: shown, end, stdout, stderr: String::new(), took: began.elapsed() }, said)
    }

    fn said(&self, exchange: &Exchange) -> Said {
        let exited = |code: i32| Said::Exited {
            code,
            written: Written::read(&exchange.stdout, self.event),
            stderr: exchange.stderr.clone(),
        };
        match &exchange.end {
            End::Exited { exit_code } => exited(*exit_code),
            End::NotText { exit_code } => exited(exit_code.unwrap_or(1)),
            End::Answered => exited(0),
            End::TimedOut { after } => Said::TimedOut { after: *after },
            End::Signalled { signal } => match exited(128 + *signal) {
                // What it said before counts, as it would if a shell were between.
                said @ Said::Exited { written: Written::Answer(_), .. } => said,
                _ => Said::Failed { message: format!("it was ended by signal {signal}") },
            },
            // An agent may have given it that much to repeat: what nobody reads to its end is no yes.
            End::TooLarge { limit } => {
                let stderr = format!("it wrote more than {limit} bytes, which nobody reads");
                Said::Exited { code: 2, written: Written::Nothing, stderr }
            }
            End::Failed { message } => Said::Failed { message: message.clone() },
        }
    }

    fn program(
        &self,
        command: &str,
        args: Option<&[String]>,
        shell: Option<&str>,
        plugin: Option<&Arc<Plugin>>,
    ) -> Program {
        let start = match (args, shell) {
            (Some(args), _) => {
                let words = std::iter::once(command).chain(args.iter().map(String::as_str));
                Start::Exec(words.map(|word| self.placed(word, plugin, Quoting::None)).collect())
            }
            (None, Some("bash")) => Start::Bash(self.placed(command, plugin, Quoting::Shell)),
            (None, Some("powershell")) => Start::Exec(
                ["pwsh", "-NoProfile", "-NonInteractive", "-Command"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([self.placed(command, plugin, Quoting::Shell)])
                    .collect(),
            ),
            (None, _) => Start::Shell(self.placed(command, plugin, Quoting::Shell)),
        };
        Program { start, folder: self.cwd.to_owned(), variables: self.variables(plugin), seal: Seal::default() }
    }

    /// The text with `${CLAUDE_PROJECT_DIR}` and its like in place.
    fn placed(&self, text: &str, plugin: Option<&Arc<Plugin>>, quoting: Quoting) -> String {
        let places = self.places(plugin);
        let mut whole = text.to_owned();
        for (name, path) in places {
            let path = path.to_string_lossy();
            // What a shell would read as more than a path, it takes from the variable itself.
            let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=~ ".contains(c);
            if quoting == Quoting::None || path.chars().all(plain) {
                whole = whole.replace(&format!("${{{name}}}"), &path);
            }
        }
        whole
    }

    fn places(&self, plugin: Option<&Arc<Plugin>>) -> Vec<(&'static str, PathBuf)> {
        let mut places = vec![("CLAUDE_PROJECT_DIR", self.session.project.clone())];
        if let Some(plugin) = plugin {
            places.push(("CLAUDE_PLUGIN_ROOT", plugin.root.clone()));
            places.push(("CLAUDE_PLUGIN_DATA", plugin.data.clone()));
        }
        places
    }

    fn variables(&self, plugin: Option<&Arc<Plugin>>) -> Vec<(OsString, OsString)> {
        let scrub = self.session.variables.iter().any(|(name, value)| name == SCRUB && value == "1");
        let passes = |name: &OsString| {
            let name = name.to_string_lossy();
            let ours = name.starts_with("CLAUDE_PLUGIN_") || matches!(&*name, "CLAUDE_PROJECT_DIR" | "CLAUDE_ENV_FILE");
            let kept_back = name.starts_with("OTEL_") || ours || (scrub && is_credential(&name));
            !kept_back
        };
        let inherited = self.session.variables.iter().filter(|(name, _)| passes(name)).cloned();
        let mut variables: Vec<(OsString, OsString)> = inherited.collect();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), value));
        for (name, path) in self.places(plugin) {
            set(name, path.into());
        }
        for (key, value) in plugin.iter().flat_map(|plugin| &plugin.options) {
            let key: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            set(&format!("CLAUDE_PLUGIN_OPTION_{}", key.to_ascii_uppercase()), value.into());
        }
        if let Some(file) = self.session.env_file.as_ref().filter(|_| self.event.has_env_file()) {
            set("CLAUDE_ENV_FILE", file.into());
        }
        if let Some(level) = self.input.get("effort").and_then(|effort| effort.get("level")?.as_str()) {
            set("CLAUDE_EFFORT", level.into());
        }
        variables
    }

    fn http(&self, url: &str, headers: &[(String, String)], names: &[String]) -> Result<Http, String> {
        if let Some(allowed) = self.settings.allowed_urls()
            && !allowed.iter().any(|pattern| fits(pattern, url))
        {
            return Err(format!("{url} is not among allowedHttpHookUrls"));
        }
        let widest = self.settings.allowed_variables();
        let may = |name: &str| {
            names.iter().any(|of| of == name) && widest.as_ref().is_none_or(|of| of.iter().any(|of| of == name))
        };
        let value = |name: &str| {
            let found = self.session.variables.iter().find(|(of, _)| may(name) && of == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let headers: BTreeMap<String, String> =
            headers.iter().map(|(name, text)| (name.clone(), expanded(text, value))).collect();
        // The contract knows no bounds but the list above: handlers on this machine are common.
        Http::new(url, &headers, true).map_err(|error| error.to_string())
    }

    /// A value with `${tool_input.x}` in its texts in place.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let found = |path: &str| {
                    let mut at = self.input.get(path.split('.').next()?)?;
                    for part in path.split('.').skip(1) {
                        at = at.get(part)?;
                    }
                    Some(at.as_str().map_or_else(|| at.to_string(), str::to_owned))
                };
                Value::String(braced(text, |path| found(path).unwrap_or_default()))
            }
            Value::Array(list) => list.iter().map(|value| self.filled(value)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// What a model is asked: the prompt with the event in place, and how to answer.
    fn asked(&self, prompt: &str) -> String {
        let prompt = if prompt.contains("$ARGUMENTS") {
            prompt.replace("$ARGUMENTS", self.body.trim_end())
        } else {
            format!("{prompt}\n\n{}", self.body.trim_end())
        };
        format!(
            "{prompt}\n\nAnswer with one JSON object and nothing else: {{\"ok\": true}}, or \
             {{\"ok\": false, \"reason\": \"why\"}}; add \"impossible\": true if it can never be made good."
        )
    }
}

fn failed(message: String, began: Instant) -> Exchange {
    let (handler, stdout, stderr) = (String::new(), String::new(), String::new());
    Exchange { handler, end: End::Failed { message }, stdout, stderr, took: began.elapsed() }
}

/// A server answers with nothing or with an object; anything else is an error, and no text.
fn only_objects(exchange: Exchange) -> Exchange {
    let body = exchange.stdout.trim().trim_start_matches('\u{feff}');
    let fits = body.is_empty() || matches!(serde_json::from_str(body), Ok(Value::Object(_)));
    if exchange.end != End::Answered || fits {
        return exchange;
    }
    let message = "the server's answer is not a JSON object".to_owned();
    Exchange { end: End::Failed { message }, ..exchange }
}

const SCRUB: &str = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    None,
    Shell,
}

fn is_credential(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|part| name.to_ascii_uppercase().contains(part))
}

/// What a model made of a question. It may have put its answer between other words.
fn judged(text: &str, goes_on: bool) -> Said {
    let object = match (text.find('{'), text.rfind('}')) {
        (Some(from), Some(to)) if from < to => serde_json::from_str::<Value>(&text[from..=to]).ok(),
        _ => None,
    };
    let answer = object.as_ref().and_then(|object| Some((object, object.get("ok")?.as_bool()?)));
    let Some((object, ok)) = answer else {
        return Said::Failed { message: "the model did not answer with {\"ok\": …}".to_owned() };
    };
    let reason = object.get("reason").and_then(Value::as_str).unwrap_or("Blocked by hook").to_owned();
    Said::Judged { ok, reason, impossible: object.get("impossible") == Some(&Value::Bool(true)), goes_on }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_answer_is_found_between_other_words() {
        let said = judged("Sure:\n```json\n{\"ok\": false, \"reason\": \"R\"}\n```", false);
        assert!(matches!(said, Said::Judged { ok: false, reason, .. } if reason == "R"));
        assert!(matches!(judged("yes", false), Said::Failed { .. }));
        assert!(matches!(judged("{\"ok\": \"yes\"}", false), Said::Failed { .. }));
    }
}
