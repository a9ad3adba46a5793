//! What a policy made of an event, in the words of the host.

use serde_json::{Map, Value};

use super::{Ask, Host, HostError, HostEvent, Moment, Refusal};
use crate::{
    wholly_shown,
    wire::{Decision, Judgement},
};

/// What a host reads, and what of a judgement it cannot take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAnswer {
    /// For stdout.
    pub stdout: String,
    /// For stderr.
    pub stderr: String,
    /// The exit code.
    pub exit_code: u8,
    /// Whether this keeps something from happening.
    pub refuses: bool,
    /// What the host has no way to take.
    pub lost: Vec<String>,
}

/// Puts a judgement into the host's words.
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
            // What is about to end does: a no would keep it going.
            None if event.moment.is_end() => {}
            None => draft.refuse(&reason, "the end of the run"),
        }
        return draft.done();
    }
    match judged.decision {
        // Only whoever wants it to go on keeps something from ending.
        Some(Decision::Deny) if event.moment.is_end() => draft.warn(&reason),
        Some(Decision::Deny | Decision::Block) => {
            // What stands in the files of another host is not counted there.
            let is_capped = event.host.caps_stops && event.moment.installed;
            if event.moment.is_end() && event.is_repeated && !is_capped {
                draft.lost(format!("{title} never ends a run that hooks keep from ending, so it goes on only once"));
                return draft.done();
            }
            draft.refuse(&reason, "a no");
            return draft.done();
        }
        Some(Decision::Ask) => match takes.ask {
            Ask::Say(form) => draft.say(form),
            Ask::Anyway => {}
            // What is asked about later has to be what is judged now.
            Ask::Later(tools) if is_one_of(event, tools) && judged.tool_input.is_none() => {}
            Ask::Later(_) | Ask::No => {
                let words = format!(
                    "{reason}\nA person has to decide this, and {title} cannot ask one here. Whoever may decide can allow it in \
                     vertebra.toml."
                );
                draft.refuse(&words, "a question");
                return draft.done();
            }
        },
        Some(Decision::Allow) => match takes.allow {
            Some(form) => draft.say(form),
            None => draft.lost(format!("{title} takes no permission from a hook: it decides by its own rules")),
        },
        None => {}
    }
    if let Some(args) = judged.tool_input.as_ref().and_then(Value::as_object)
        && let Err(why) = draft.rewrite(event, args)
    {
        let way_out = "Whoever may decide can take the change out of vertebra.toml.";
        let words = format!(
            "The policy changes this call, and {title} {why}. It is denied instead. {}",
            judged.reason.as_deref().unwrap_or(way_out)
        );
        draft.refuse(&words, "other arguments");
        return draft.done();
    }
    draft.result(&judged.effects);
    draft.other_changes(event, &judged.effects);
    draft.done()
}

/// What a host reads when there was no judgement: the event could not be read, or the policy could not.
///
/// Before a tool that is a no. The moment is the one that the event or the command line names, if either does.
pub fn unread(host: Option<&'static Host>, moment: Option<&str>, why: &str) -> HostAnswer {
    let why = plain(&format!("vertebra cannot judge this: {why}"));
    let known = host.and_then(|host| Some((host, host.moment(moment?)?)));
    let judged = Judgement { reason: Some(why.clone()), goes_on: true, ..Judgement::default() };
    match known {
        Some((host, moment)) if moment.is_gate() => {
            let mut draft = Draft::new(host, moment, &judged);
            draft.refuse(&why, "a no");
            draft.done()
        }
        Some((host, _)) => HostAnswer {
            stdout: host.quiet.to_owned(),
            stderr: why.clone() + "\n",
            lost: vec![why],
            ..HostAnswer::default()
        },
        // A host that names a moment we do not know is told nothing; of all others it is not known what is about to happen.
        None if moment.is_some() && host.is_some() => {
            let quiet = host.map_or("", |host| host.quiet).to_owned();
            HostAnswer { stdout: quiet, stderr: why.clone() + "\n", lost: vec![why], ..HostAnswer::default() }
        }
        None => HostAnswer { stderr: why + "\n", exit_code: 2, refuses: true, ..HostAnswer::default() },
    }
}

/// A text for a person to read, who may be asked by it: what it quotes may be a model's, and made to mislead.
fn plain(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(wholly_shown).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn is_one_of(event: &HostEvent, tools: &[&str]) -> bool {
    let tool = event.happened.event["tool"].as_str().unwrap_or_default();
    tools.iter().any(|name| name.strip_suffix('*').map_or(tool == *name, |start| tool.starts_with(start)))
}

impl HostError {
    /// The answer to an event that cannot be read.
    pub fn answer(&self, host: Option<&'static Host>, moment: Option<&str>) -> HostAnswer {
        match self {
            // Whatever it is, it is none of the moments before a tool.
            Self::UnknownMoment { name, .. } => unread(host, Some(name), &self.to_string()),
            Self::NotAnObject | Self::NoHost | Self::NoMoment { .. } | Self::Fields { .. } => {
                unread(host, moment, &self.to_string())
            }
        }
    }
}

/// An answer in the making.
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
        // Rules name themselves in their reasons.
        let by = judged.decided_by.as_deref().filter(|by| !reason.contains(by));
        let by = by.map(|by| format!("(vertebra: {by})")).unwrap_or_default();
        // An empty reason would void a no in some hosts.
        let reason = match (reason, judged.decision) {
            ("", Some(Decision::Allow)) => "The policy allows it",
            ("", Some(Decision::Ask)) => "The policy wants a person to decide",
            ("", _) => "The policy says no",
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

    /// Says something in a form, together with what is said already.
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
        // What was said first stands.
        if let Some(said) = self.said.take() {
            merge(&mut form, said);
        }
        self.said = Some(form);
    }

    fn refuse(&mut self, reason: &str, what: &str) {
        self.said = None;
        // Beside a no nothing else is read, so what the model should know is a part of it.
        let told = std::iter::once(reason).chain(self.context.iter().map(String::as_str));
        let told = told.collect::<Vec<_>>().join("\n\n");
        match self.moment.takes.refusal {
            Refusal::No => {
                let (title, moment) = (self.host.title, self.moment.name);
                self.lost(format!("{title} takes {what} at {moment} from no hook"));
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
        let rewrite = self.moment.takes.rewrite.ok_or_else(|| "takes no other arguments from a hook".to_owned())?;
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
            None => self.lost(format!("{} takes no other result from a hook", self.host.title)),
        }
    }

    /// No host takes another prompt, or another task for a subagent, and whoever wants one has to hear that.
    fn other_changes(&mut self, event: &HostEvent, effects: &Map<String, Value>) {
        let others = effects.iter().filter(|(field, _)| !["tool_result", "stop", "shadow"].contains(&field.as_str()));
        for (field, value) in others {
            // To us, what a subagent should know is a part of its task.
            let known = event.happened.event[field.as_str()].as_str().filter(|_| self.moment.point == "SubagentStart");
            let added = known.and_then(|known| value.as_str()?.strip_prefix(known)).map(str::trim);
            if let Some(added) = added.filter(|added| !added.is_empty()) {
                self.context.push(added.to_owned());
                continue;
            }
            self.lost(format!("{} takes no other `{field}` at {} from a hook", self.host.title, self.moment.name));
        }
    }

    fn done(mut self) -> HostAnswer {
        if self.answer.exit_code == 0 {
            if !self.context.is_empty() && !self.answer.refuses {
                let text = self.context.join("\n\n");
                match self.moment.takes.context {
                    Some(form) => self.fill(form, "$context", text),
                    None => self.lost(format!("{} has no ear for context at {}", self.host.title, self.moment.name)),
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

/// Puts values where their names stand.
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

/// Puts one answer over another.
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
