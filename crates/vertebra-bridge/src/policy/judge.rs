//! What a policy makes of one event.

use std::{sync::Arc, time::Duration};

use serde::Deserialize as _;
use serde_json::{Value, json};
use vertebra::{
    Agent, AgentPoint, AgentState, Alone, AnyFired, Args, At, Changeable, Clock, Kind, PointInfo, Ran, Record, RunInfo,
    SystemClock, ToolSpec, point_named, shell::CommandLine,
};
use vertebra_kit::{
    bash::policy::{self as bash, Ground},
    permissions::Effect,
};

use super::{Policy, PolicyHook};
use crate::wire::{Decision, Exchange, Happened, Judgement, RanHandler, take_context};

/// How long watches that run behind the scenes may take to finish.
const DRAIN: Duration = Duration::from_secs(5);

/// Tools that read and change nothing, as events of all agents call them.
const READING: &[&str] = &["read_file", "list_dir", "search_files", "grep", "web_search", "web_fetch"];

/// Whether a tool only reads, by the name that all agents' events give it.
pub fn only_reads(tool: &str) -> bool {
    READING.contains(&tool)
}

/// Whether the hooks of an agent stand beside these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// They do, and may be named.
    WithOthers,
    /// There is no agent.
    Alone,
}

/// One event, judged, and how that came about.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What came of it.
    pub judgement: Judgement,
    /// Every hook that matched, in order.
    pub record: Record,
}

impl Policy {
    /// What comes of an event: what its hooks say, then its rules, then, of a shell command, whether it would do harm. The
    /// strongest decides.
    pub async fn judge(&self, happened: &Happened) -> Judgement {
        self.fire(happened).await.judgement
    }

    /// The same, with the record of the hooks.
    pub async fn fire(&self, happened: &Happened) -> Trial {
        Court { agent: &self.bare, policy: Some(self), whose: Whose::Theirs }.fire(happened).await
    }

    /// What comes of an event in the form of its point, to an agent that knows this.
    pub async fn fire_at<P: AgentPoint>(&self, point: P, run: RunInfo, event: P::Event, state: AgentState) -> Trial {
        Court { agent: &self.bare, policy: Some(self), whose: Whose::Ours }.fire_at(point, run, event, state).await
    }

    /// A name of a record for people: with its file and line where it has one.
    pub fn author(&self, name: &str) -> String {
        match self.hook(name) {
            Some(PolicyHook { name, origin, .. }) => format!("{name} ({})", origin.spot()),
            None => name.to_owned(),
        }
    }

    /// What the rules and the kit's own judgement of commands say of a call.
    async fn on_call(&self, event: &Value, whose: Whose) -> Option<Word> {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let args = Args::try_from(event.get("args")?.clone()).ok()?;
        let mut spec = ToolSpec::new(text("tool"), "");
        spec.read_only = only_reads(text("tool"));
        let aliases = event.get("aliases").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        spec.aliases = aliases.map(Arc::from).collect();
        let folder = text("working_directory");
        let rule = self.has_rules.then(|| match whose {
            Whose::Ours => self.rules.explain(text("session_id"), &spec, &args, folder),
            Whose::Theirs => self.rules.explain_unheld(text("session_id"), &spec, &args, folder),
        });
        // What a mode leaves open is a question of our own agent, and no word of this policy.
        let rule = rule.filter(|told| !told.rules.is_empty() || told.effect == Some(Effect::Deny));
        let rule = rule.and_then(|told| {
            let by = told.rules.first().map_or_else(|| "permissions.mode".to_owned(), ToString::to_string);
            let decision = match told.effect? {
                Effect::Allow => Decision::Allow,
                Effect::Ask => Decision::Ask,
                Effect::Deny => Decision::Deny,
            };
            Some(Word { decision, reason: told.reason, by })
        });
        let harm = async || {
            let home = std::env::home_dir().map_or_else(|| "/".to_owned(), |home| home.to_string_lossy().into_owned());
            let ground = Ground::new(folder, home);
            // A tool that is not known may be a shell. One of a server runs its commands elsewhere.
            let is_here = !text("tool").starts_with("mcp__");
            let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
            for line in args.command_lines().iter().filter(|_| is_here) {
                let judged = bash::judge_aside(&clock, line.text(), &ground).await;
                if judged.decision == bash::Decision::Deny {
                    let by = "bash policy".to_owned();
                    return Some(Word { decision: Decision::Deny, reason: judged.reason, by });
                }
            }
            None
        };
        let reads_commands = self.has_rules || self.in_force().any(PolicyHook::is_about_commands);
        match rule {
            Some(word) if word.decision == Decision::Deny => Some(word),
            other => match unread(&args).filter(|_| reads_commands) {
                Some(word) => Some(word),
                None => harm().await.or(other),
            },
        }
    }
}

/// What comes of an event to the hooks of an agent, and to nothing else of it: no rules, no judgement of commands.
pub async fn fire(agent: &Agent, happened: &Happened) -> Trial {
    Court { agent, policy: None, whose: Whose::Theirs }.fire(happened).await
}

/// Whose hooks judge, and whose rules besides.
#[derive(Clone, Copy)]
struct Court<'a> {
    agent: &'a Agent,
    policy: Option<&'a Policy>,
    whose: Whose,
}

/// Who makes a call.
#[derive(Clone, Copy)]
enum Whose {
    /// Our own agent, whose sandbox hides what rules deny.
    Ours,
    /// Another agent: only its text is judged.
    Theirs,
}

impl Court<'_> {
    async fn fire(self, happened: &Happened) -> Trial {
        let Happened { point, event } = happened;
        let at = match serde_json::from_value::<At>(event.clone()) {
            Ok(at) => at,
            Err(error) => return unreadable(happened, &error.to_string()),
        };
        let (alone, mut state) = (Alone::new(self.agent, (*at.run).clone()), AgentState::default());
        match point.fire(&alone, event.clone(), &mut state).await {
            Ok(fired) => {
                let after = fired.changed.as_ref().map_or_else(|| event.clone(), |(_, after)| after.clone());
                self.settle(point.row(), fired, after, state).await
            }
            Err(error) => unreadable(happened, &error.to_string()),
        }
    }

    async fn fire_at<P: AgentPoint>(self, point: P, run: RunInfo, mut event: P::Event, mut state: AgentState) -> Trial {
        // What waits already was said by others.
        take_context(&mut state);
        let fired = AnyFired::of(point, &Alone::new(self.agent, run), &mut event, &mut state).await;
        let after = match &fired.changed {
            Some((_, after)) => after.clone(),
            None if is_call(P::NAME) => (P::code().event_to_json)(&event).unwrap_or_default(),
            None => Value::Null,
        };
        self.settle(point.info(), fired, after, state).await
    }

    /// Makes the judgement.
    async fn settle(self, point: &PointInfo, fired: AnyFired, after: Value, mut state: AgentState) -> Trial {
        let AnyFired { changed, decision, record } = fired;
        let drained = self.agent.hooks().drain(DRAIN).await;
        let mut judgement = Judgement { goes_on: true, ..Judgement::default() };
        self.tell_of_hooks(&record, &mut judgement);
        if drained.unfinished > 0 {
            let message = format!("{} watches had not finished after {} s", drained.unfinished, DRAIN.as_secs());
            judgement.warnings.push(message);
        }
        if let Some((before, after)) = changed {
            tell_of_changes(point.changes, &before, &after, &mut judgement);
        }
        judgement.model_context.extend(take_context(&mut state));
        if let Some((ruling, kind)) = decision {
            decide(point, kind, &ruling.verdict, &mut judgement);
            judgement.reason.clone_from(&record.reason);
            judgement.decided_by = Some(self.author(&ruling.by));
        }
        let word = match self.policy {
            Some(policy) if is_call(point.name) => policy.on_call(&after, self.whose).await,
            // Matchers of an agent's hooks may not have seen all of such a line.
            None if is_call(point.name) => {
                after.get("args").and_then(|args| unread(&Args::try_from(args.clone()).ok()?))
            }
            Some(_) | None => None,
        };
        if let Some(word) = word
            && judgement.decision.is_none_or(|decision| decision < word.decision)
        {
            judgement.decision = Some(word.decision);
            judgement.reason = Some(word.reason);
            judgement.decided_by = Some(word.by);
        }
        judgement.tell_people();
        Trial { judgement, record }
    }
}

/// Whether an event is about a call, which rules judge too.
fn is_call(point: &str) -> bool {
    matches!(point, "BeforeToolUse" | "PermissionRequest")
}

/// Denies a command line that is beyond what matchers and rules read of it.
fn unread(args: &Args) -> Option<Word> {
    args.command_lines().iter().any(CommandLine::is_beyond_reading).then(|| Word {
        decision: Decision::Deny,
        reason: "the command is too complex to judge; split it into simpler commands".to_owned(),
        by: "policy".to_owned(),
    })
}

/// A decision, and whose.
struct Word {
    decision: Decision,
    reason: String,
    by: String,
}

impl Court<'_> {
    /// A name of a record for people.
    fn author(&self, name: &str) -> String {
        self.policy.map_or_else(|| name.to_owned(), |policy| policy.author(name))
    }

    /// What was started outside, what failed, and what those would have said that only stand beside.
    fn tell_of_hooks(&self, record: &Record, judgement: &mut Judgement) {
        let mut beside = Vec::new();
        for trace in &record.hooks {
            let hook = self.policy.and_then(|policy| policy.hook(&trace.hook));
            let origin = hook.map(|hook| hook.origin.spot());
            let name = hook.map_or(&trace.hook, |hook| &hook.name).to_string();
            let exchange = trace.account.as_deref().and_then(|told| Exchange::deserialize(told).ok());
            if let Some(exchange) = exchange {
                let exit_code = exchange.end.exit_code();
                judgement.ran.push(RanHandler { hook: name.clone(), origin, exit_code, exchange });
            }
            match &trace.ran {
                _ if trace.shadow => beside.push(json!({ "hook": name, "ran": trace.ran, "changes": trace.changes })),
                Ran::Failed { failure, .. } if record.decided_by.as_deref() != Some(&*trace.hook) => {
                    judgement.warnings.push(format!("{} {failure}", self.author(&trace.hook)));
                }
                Ran::Dropped => judgement.warnings.push(format!("{} missed it", self.author(&trace.hook))),
                Ran::Answered { .. } | Ran::Failed { .. } | Ran::Skipped { .. } | Ran::Detached => {}
            }
        }
        if !beside.is_empty() {
            judgement.effects.insert("shadow".to_owned(), beside.into());
        }
    }
}

impl Judgement {
    fn tell_people(&mut self) {
        let refused = matches!(self.decision, Some(Decision::Deny | Decision::Block));
        if refused {
            self.model_sees.clone_from(&self.reason);
        }
        if refused || self.decision == Some(Decision::Ask) || !self.goes_on {
            self.user_sees.clone_from(&self.reason);
        }
    }
}

/// What a verdict comes to in the words that hosts share.
fn decide(point: &PointInfo, kind: Kind, verdict: &Value, judgement: &mut Judgement) {
    let built_in = ["BeforeToolUse", "PermissionRequest", "BeforeInference", "SubagentStart"];
    // A custom point is fired before its operation.
    let gate = built_in.contains(&point.name) || point_named(point.name).is_none();
    judgement.decision = match kind {
        Kind::Allow => Some(Decision::Allow),
        Kind::Ask => Some(Decision::Ask),
        // Whoever stops before something happens does not want it to happen.
        Kind::Deny | Kind::Stop | Kind::Replace if gate => Some(Decision::Deny),
        Kind::Deny | Kind::Halt | Kind::GoOn => Some(Decision::Block),
        Kind::Stop | Kind::Replace | Kind::Recover | Kind::Retry | Kind::Hold | Kind::Skip | Kind::Proceed => None,
    };
    if kind == Kind::Stop {
        judgement.goes_on = false;
        judgement.effects.insert("stop".to_owned(), verdict.get("reason").cloned().unwrap_or_default());
    }
    if let (Kind::Replace | Kind::Recover, Some(with)) = (kind, verdict.get("with")) {
        judgement.effects.insert("tool_result".to_owned(), with.clone());
    }
}

/// What hooks changed of the event.
fn tell_of_changes(open: Changeable, before: &Value, after: &Value, judgement: &mut Judgement) {
    let changed = |field: &str| after.get(field).filter(|value| before.get(field) != Some(value));
    match open {
        Changeable::Nothing => {}
        Changeable::Args => judgement.tool_input = changed("args").cloned(),
        Changeable::Fields(fields) => {
            for field in fields {
                let Some(value) = changed(field) else { continue };
                match *field {
                    "context" => {
                        let known = before.get(*field).and_then(Value::as_array).map_or(0, Vec::len);
                        let texts = value.as_array().into_iter().flatten().skip(known);
                        judgement.model_context.extend(texts.filter_map(|text| text.as_str().map(str::to_owned)));
                    }
                    "result" => _ = judgement.effects.insert("tool_result".to_owned(), value.clone()),
                    field => _ = judgement.effects.insert(field.to_owned(), value.clone()),
                }
            }
        }
    }
}

/// What nobody can read passes no gate.
fn unreadable(happened: &Happened, error: &str) -> Trial {
    let judgement = Judgement {
        decision: Some(Decision::Deny),
        reason: Some(format!("the event cannot be judged: {error}")),
        goes_on: true,
        ..Judgement::default()
    };
    let record = Record {
        point: happened.point.row().name.into(),
        hooks: Vec::new(),
        verdict: Kind::Deny,
        decided_by: None,
        reason: judgement.reason.clone(),
        took: Duration::ZERO,
    };
    Trial { judgement, record }
}
