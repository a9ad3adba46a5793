//! Translates a judgement into the host's format.

use serde_json::{Map, Value};

use super::{Ask, Host, HostError, HostEvent, Moment, Refusal};
use crate::{
    wholly_shown,
    wire::{Decision, Judgement},
};

/// The answer that a host reads, and the parts of the judgement that the host cannot apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAnswer {
    /// The text for stdout.
    pub stdout: String,
    /// The text for stderr.
    pub stderr: String,
    /// The exit code.
    pub exit_code: u8,
    /// Whether the answer prevents something from happening.
    pub refuses: bool,
    /// The parts of the judgement that the host cannot apply.
    pub lost: Vec<String>,
}

/// Translates a judgement into the host's format.
pub fn answer(event: &HostEvent, judged: &Judgement) -> HostAnswer {
    let mut draft = Draft::new(event.host, event.moment, judged);
    let takes = &event.moment.takes;
    let title = event.host.title;
    let reason = draft.reason.clone();
    if !judged.goes_on {
        match takes.stop {
            Some(form) => {
                draft.say(form);
                draft.answer.refuses = true;
            }
            // The run is about to end anyway: a denial would keep it going.
            None if event.moment.is_end() => {}
            None => draft.refuse(&reason, "a stop"),
        }
        return draft.done();
    }
    match judged.decision {
        // Only `block` keeps a run from ending; `deny` does not.
        Some(Decision::Deny) if event.moment.is_end() => draft.warn(&reason),
        Some(Decision::Deny | Decision::Block) => {
            // A host does not count hooks that it reads from another host's files.
            let is_capped = event.host.caps_stops && event.moment.installed;
            if event.moment.is_end() && event.is_repeated && !is_capped {
                draft.lost(format!(
                    "{title} sets no limit on hooks that keep a run going, so a hook can do it only once"
                ));
                return draft.done();
            }
            draft.refuse(&reason, "a denial");
            return draft.done();
        }
        Some(Decision::Ask) => match takes.ask {
            Ask::Say(form) => draft.say(form),
            Ask::Anyway => {}
            // The question comes later, so the call must not change before then.
            Ask::Later(tools) if is_one_of(event, tools) && judged.tool_input.is_none() => {}
            Ask::Later(_) | Ask::No => {
                let words = format!(
                    "{reason}\nA person must approve this call, and {title} cannot ask one here. A person can allow it in \
                     vertebra.toml."
                );
                draft.refuse(&words, "a question");
                return draft.done();
            }
        },
        Some(Decision::Allow) => match takes.allow {
            Some(form) => draft.say(form),
            None => draft.lost(format!("{title} does not accept permissions from a hook and decides by its own rules")),
        },
        None => {}
    }
    if let Some(args) = judged.tool_input.as_ref().and_then(Value::as_object)
        && let Err(why) = draft.rewrite(event, args)
    {
        let way_out = "A person can remove the rewrite from vertebra.toml.";
        let words = format!(
            "The policy rewrites this call, but {title} {why}, so the call is denied. {}",
            judged.reason.as_deref().unwrap_or(way_out)
        );
        draft.refuse(&words, "rewritten arguments");
        return draft.done();
    }
    draft.result(&judged.effects);
    draft.other_changes(event, &judged.effects);
    draft.done()
}

/// Returns the answer for an event that could not be judged, because the event or the policy could not be read.
///
/// Before a tool call this is a denial. `moment` is the name given by the event or by the command line, if any.
pub fn unread(host: Option<&'static Host>, moment: Option<&str>, why: &str) -> HostAnswer {
    let why = plain(&format!("vertebra cannot judge this event: {why}"));
    let known = host.and_then(|host| Some((host, host.moment(moment?)?)));
    let judged = Judgement { reason: Some(why.clone()), goes_on: true, ..Judgement::default() };
    match known {
        Some((host, moment)) if moment.is_gate() => {
            let mut draft = Draft::new(host, moment, &judged);
            draft.refuse(&why, "a denial");
            draft.done()
        }
        Some((host, _)) => HostAnswer {
            stdout: host.quiet.to_owned(),
            stderr: why.clone() + "\n",
            lost: vec![why],
            ..HostAnswer::default()
        },
        // A host that names an unknown moment gets no answer. Without a name, a tool call may be about to happen: deny it.
        None if moment.is_some() && host.is_some() => {
            let quiet = host.map_or("", |host| host.quiet).to_owned();
            HostAnswer { stdout: quiet, stderr: why.clone() + "\n", lost: vec![why], ..HostAnswer::default() }
        }
        None => HostAnswer { stderr: why + "\n", exit_code: 2, refuses: true, ..HostAnswer::default() },
    }
}

/// Escapes a text for a person. It may quote a model's text, which may be made to mislead.
fn plain(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(wholly_shown).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn is_one_of(event: &HostEvent, tools: &[&str]) -> bool {
    let tool = event.happened.event["tool"].as_str().unwrap_or_default();
    tools.iter().any(|name| name.strip_suffix('*').map_or(tool == *name, |start| tool.starts_with(start)))
}

impl HostError {
    /// Returns the answer to an event that cannot be read.
    pub fn answer(&self, host: Option<&'static Host>, moment: Option<&str>) -> HostAnswer {
        match self {
            // An unknown moment is not one before a tool call.
            Self::UnknownMoment { name, .. } => unread(host, Some(name), &self.to_string()),
            Self::NotAnObject | Self::NoHost | Self::NoMoment { .. } | Self::Fields { .. } => {
                unread(host, moment, &self.to_string())
            }
        }
    }
}

/// An answer that is being built.
struct Draft {
    host: &'static Host,
    moment: &'static Moment,
    reason: String,
    context: Vec<String>,
    warnings: Vec<String>,
    said: Option<Value>,
    answer: HostAnswer,
}

impl Draft {
    fn new(host: &'static Host, moment: &'static Moment, judged: &Judgement) -> Self {
        let reason = judged.reason.as_deref().or(judged.model_sees.as_deref()).map(str::trim).unwrap_or_default();
        // Permission rules already name themselves in their reasons.
        let by = judged.decided_by.as_deref().filter(|by| !reason.contains(by));
        let by = by.map(|by| format!("(vertebra: {by})")).unwrap_or_default();
        // Some hosts ignore a denial without a reason.
        let reason = match (reason, judged.decision) {
            ("", Some(Decision::Allow)) => "The policy allows it",
            ("", Some(Decision::Ask)) => "The policy requires a person's approval",
            ("", _) => "The policy denies it",
            (reason, _) => reason,
        };
        let reason = plain(format!("{reason} {by}").trim_end());
        let told = judged.user_sees.iter().filter(|told| Some(*told) != judged.reason.as_ref());
        let warnings = told.chain(&judged.warnings).map(|told| plain(told)).collect();
        Self {
            host,
            moment,
            reason,
            context: judged.model_context.clone(),
            warnings,
            said: None,
            answer: HostAnswer::default(),
        }
    }

    fn warn(&mut self, what: &str) {
        self.warnings.push(what.to_owned());
    }

    fn lost(&mut self, what: String) {
        self.answer.lost.push(what);
    }

    /// Fills the reason into a form and merges the result into the answer.
    fn say(&mut self, form: &str) {
        self.fill(form, "$reason", self.reason.clone());
    }

    fn fill(&mut self, form: &str, what: &str, with: impl Into<Value>) {
        let with = with.into();
        let Ok(mut form) = serde_json::from_str::<Value>(form) else { return };
        put(&mut form, &|word| match word {
            "$event" => Some(self.moment.name.into()),
            "$reason" if what != "$reason" => Some(self.reason.clone().into()),
            word if word == what => Some(with.clone()),
            _ => None,
        });
        // On a conflict the earlier part wins.
        if let Some(said) = self.said.take() {
            merge(&mut form, said);
        }
        self.said = Some(form);
    }

    fn refuse(&mut self, reason: &str, what: &str) {
        self.said = None;
        // A host reads nothing besides a denial, so the context for the model becomes part of it.
        let told = std::iter::once(reason).chain(self.context.iter().map(String::as_str));
        let told = told.collect::<Vec<_>>().join("\n\n");
        match self.moment.takes.refusal {
            Refusal::No => {
                let (title, moment) = (self.host.title, self.moment.name);
                self.lost(format!("{title} does not accept {what} from a hook at {moment}"));
                return;
            }
            Refusal::Exit2 => {
                self.answer.exit_code = 2;
                self.answer.stderr = told + "\n";
            }
            Refusal::Say(form) => self.fill(form, "$reason", told),
        }
        self.answer.refuses = true;
    }

    fn rewrite(&mut self, event: &HostEvent, args: &Map<String, Value>) -> Result<(), String> {
        let Some(old) = event.happened.event["args"].as_object() else { return Ok(()) };
        let (mut new, mut old) = (args.clone(), old.clone());
        if new == old {
            return Ok(());
        }
        let rewrite =
            self.moment.takes.rewrite.ok_or_else(|| "does not accept rewritten arguments from a hook".to_owned())?;
        if let Some(why) = event.fixed {
            return Err(why.to_owned());
        }
        if let Some(names) = &event.patch {
            names.close(&mut new);
            names.close(&mut old);
            if new == old {
                return Ok(());
            }
        }
        self.fill(rewrite.form, "$args", new);
        Ok(())
    }

    fn result(&mut self, effects: &Map<String, Value>) {
        let Some(result) = effects.get("tool_result") else { return };
        let text = result.get("output").or(Some(result)).cloned().unwrap_or_default();
        match self.moment.takes.result {
            Some(form) => self.fill(form, "$result", text),
            None => self.lost(format!("{} does not let a hook replace a result", self.host.title)),
        }
    }

    /// Reports changes that no host accepts, such as another prompt or another task for a subagent.
    fn other_changes(&mut self, event: &HostEvent, effects: &Map<String, Value>) {
        let others = effects.iter().filter(|(field, _)| !["tool_result", "stop", "shadow"].contains(&field.as_str()));
        for (field, value) in others {
            // In our form, the context for a subagent is part of its task.
            let known = event.happened.event[field.as_str()].as_str().filter(|_| self.moment.point == "SubagentStart");
            let added = known.and_then(|known| value.as_str()?.strip_prefix(known)).map(str::trim);
            if let Some(added) = added.filter(|added| !added.is_empty()) {
                self.context.push(added.to_owned());
                continue;
            }
            self.lost(format!("{} does not let a hook change `{field}` at {}", self.host.title, self.moment.name));
        }
    }

    fn done(mut self) -> HostAnswer {
        if self.answer.exit_code == 0 {
            if !self.context.is_empty() && !self.answer.refuses {
                let text = self.context.join("\n\n");
                match self.moment.takes.context {
                    Some(form) => self.fill(form, "$context", text),
                    None => self.lost(format!(
                        "{} does not accept context from a hook at {}",
                        self.host.title, self.moment.name
                    )),
                }
            }
            if let (Some(form), false) = (self.moment.takes.message, self.warnings.is_empty()) {
                self.fill(form, "$message", format!("vertebra: {}", self.warnings.join("\n")));
            }
            for line in self.warnings.iter().chain(&self.answer.lost) {
                self.answer.stderr.push_str(line);
                self.answer.stderr.push('\n');
            }
            self.answer.stdout = match self.said {
                Some(Value::String(text)) => text,
                Some(said) => said.to_string(),
                None => self.host.quiet.to_owned(),
            };
        }
        self.answer
    }
}

/// Replaces placeholders with their values.
fn put(form: &mut Value, value: &impl Fn(&str) -> Option<Value>) {
    match form {
        Value::String(word) => {
            if let Some(value) = value(word) {
                *form = value;
            }
        }
        Value::Object(map) => map.values_mut().for_each(|inner| put(inner, value)),
        Value::Array(list) => list.iter_mut().for_each(|inner| put(inner, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Merges `other` into `one`; on a conflict `other` wins.
fn merge(one: &mut Value, other: Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in other {
                match one.get_mut(&key) {
                    Some(known) => merge(known, value),
                    None => drop(one.insert(key, value)),
                }
            }
        }
        (one, other) => *one = other,
    }
}
