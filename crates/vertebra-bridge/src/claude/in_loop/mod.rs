//! Claude Code's hooks in our own loop: every event that has a place in it, one hook each.

mod beside;
mod follow;
pub(super) mod names;
mod points;
mod transcript;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::{Map, Value, json};
use vertebra::{
    AgentPoint, AgentState, At, BoxFuture, Capability, Cx, HookError, InferenceReport, Kit, Message, Messages,
    Point as _, Run, SessionStart, Stop, StopReason, ToolCall,
};
use vertebra_kit::{
    bash::CWD,
    permissions::{For, Mode, Rules},
};

pub use self::follow::Follow;
use self::{
    beside::{Besides, Told},
    follow::{Change, POLICY},
    transcript::Transcripts,
};
use super::{
    at_work::{AtWork, Remembered},
    event::Event,
    fire::Hooks,
    means::AskModel,
    run::Session,
    settings::Settings,
};
use crate::{
    policy::Reload,
    wire::{Decision, Judgement},
};

/// How many messages of the conversation are in the transcript.
const WRITTEN: &str = "claude-code/transcript";

/// What is remembered of hooks that skills and agents bring.
const BROUGHT: &str = "claude-code/brought";

/// What people are told under, so that it does not come back to hooks as news.
const NEWS: &str = "claude-code";

/// Claude Code's hooks as a capability.
///
/// Each event of Claude Code that has a place in our loop is one hook, `claude-code/PreToolUse` and its like, which runs
/// the matching handlers as Claude Code would: at the same time, with their own contract, in Claude Code's names. The
/// guard `claude-code/rules` holds the permission rules of the settings against the final form of a call.
pub struct ClaudeHooks {
    hooks: Hooks,
    transcripts: PathBuf,
    permissions: Option<Rules>,
    follow: Option<Follow>,
    policy: Option<Reload>,
}

impl ClaudeHooks {
    /// These settings, for sessions like this one. Transcripts are written to the folder.
    pub fn new(settings: Settings, session: Session, transcripts: impl Into<PathBuf>) -> Self {
        let (hooks, transcripts) = (Hooks::new(settings, session), transcripts.into());
        Self { hooks, transcripts, permissions: None, follow: None, policy: None }
    }

    /// Looks at the files of the settings again whenever a step begins: a change counts from that step on.
    #[must_use]
    pub fn following(mut self, follow: Follow) -> Self {
        self.follow = Some(follow);
        self
    }

    /// The permissions of the agent: hooks are told their mode, and add to their rules.
    #[must_use]
    pub fn permissions(mut self, rules: Rules) -> Self {
        self.permissions = Some(rules);
        self
    }

    /// The policy of the agent: while it is not whole, no hook answers for a person.
    #[must_use]
    pub fn beside(mut self, policy: Reload) -> Self {
        self.policy = Some(policy);
        self
    }

    /// What was not understood of the settings.
    pub fn warnings(&self) -> Vec<String> {
        self.hooks.warnings().cloned().collect()
    }
}

impl Capability for ClaudeHooks {
    fn install(self, kit: &mut Kit) {
        let place = Place {
            transcripts: Transcripts(self.transcripts),
            hooks: RwLock::new(Arc::new(self.hooks)),
            follow: self.follow,
            permissions: self.permissions,
            policy: self.policy,
            beside: Besides::default(),
        };
        points::install(Arc::new(place), kit);
    }
}

/// The context of any point. Behind a reference, so that firing an event is compiled once and not for each point.
trait AnyPlace: Send {
    fn state(&self) -> &AgentState;
    fn state_mut(&mut self) -> &mut AgentState;
    fn run(&self) -> &Run;
    fn point(&self) -> &'static str;
    fn account(&self, told: Value);
}

impl<P: AgentPoint> AnyPlace for Cx<'_, P> {
    fn state(&self) -> &AgentState {
        Cx::state(self)
    }

    fn state_mut(&mut self) -> &mut AgentState {
        Cx::state_mut(self)
    }

    fn run(&self) -> &Run {
        Cx::scope(self)
    }

    fn point(&self) -> &'static str {
        P::NAME
    }

    fn account(&self, told: Value) {
        Cx::account(self, told);
    }
}

/// What the hooks share.
struct Place {
    hooks: RwLock<Arc<Hooks>>,
    follow: Option<Follow>,
    transcripts: Transcripts,
    permissions: Option<Rules>,
    policy: Option<Reload>,
    beside: Besides,
}

impl Place {
    /// What is in force.
    fn hooks(&self) -> Arc<Hooks> {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether only a person may approve a call, because a policy is not whole.
    fn needs_person(&self) -> bool {
        self.hooks().rules().is_incomplete() || self.policy.as_ref().is_some_and(|policy| policy.why_asked().is_some())
    }

    /// Whether some handler stands at an event, or may do so later.
    fn may_have(&self, event: &str) -> bool {
        self.follow.is_some() || self.has(event)
    }

    /// Whether something is to be said at an event: by a handler, or about a call by a rule.
    fn has(&self, event: &str) -> bool {
        let hooks = self.hooks();
        let has_rules = || event == "PreToolUse" && !hooks.rules().is_empty();
        Event::named(event).is_some_and(|event| hooks.settings().in_force(event).next().is_some()) || has_rules()
    }

    /// Looks at the files of the settings, and takes over what changed unless a hook objects.
    async fn look_again(self: &Arc<Self>, cx: &mut dyn AnyPlace, at: &At) -> Result<(), HookError> {
        if self.follow.is_none() {
            return Ok(());
        }
        let (me, old) = (self.clone(), self.hooks());
        let looked = {
            let old = old.clone();
            tokio::task::spawn_blocking(move || me.follow.as_ref().map(|follow| follow.look(old.settings())))
        };
        let Some(Change { settings, files, mut told }) = looked.await? else { return Ok(()) };
        if let Some((mut settings, seals)) = settings {
            let mut judged = Vec::new();
            for (file, source) in files {
                let of = fields(json!({ "source": source, "file_path": file }));
                let judgement = self.fire(cx, at, "ConfigChange", of).await?;
                if judgement.decision == Some(Decision::Block) && source != POLICY {
                    settings.keep_file(&file, old.settings());
                    told.push(format!("a hook keeps {} as it was", file.display()));
                }
                judged.push(judgement);
            }
            cx.account(json!({ "changes": judged }));
            let bare = old.bare_session();
            let session = Session { seals: seals.unwrap_or_else(|| bare.seals.clone()), ..bare.clone() };
            let hooks = Hooks::new(settings, session);
            told.push(format!("the hooks of Claude Code were read again: {}", hooks.settings().hooks().count()));
            *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hooks);
        }
        for text in told {
            tell(cx, "settings", &text).await;
        }
        Ok(())
    }

    /// Fires an event: updates the transcript, runs the handlers, records them, and passes on their messages.
    fn fire<'a>(
        &'a self,
        cx: &'a mut dyn AnyPlace,
        at: &'a At,
        event: &'a str,
        fields: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Judgement, HookError>> {
        Box::pin(self.fired(cx, at, event, fields))
    }

    async fn fired(
        &self,
        cx: &mut dyn AnyPlace,
        at: &At,
        event: &str,
        fields: Map<String, Value>,
    ) -> Result<Judgement, HookError> {
        if !self.has(event) {
            return Ok(Judgement { goes_on: true, ..Judgement::default() });
        }
        let hooks = self.hooks();
        let written = cx.state().metadata().read(WRITTEN)?.unwrap_or_default();
        let now = self.transcripts.add(at, cx.state().messages(), written)?;
        if now != written {
            cx.state_mut().metadata_mut().set(WRITTEN, now);
        }
        // Where the agent has gone. Handlers run where it works all the same: `./check.sh` must not become another file.
        let here: Option<String> = cx.state().metadata().read(CWD).ok().flatten();
        let input = Value::Object(self.input(at, event, here.as_deref(), fields));
        let model: Arc<dyn AskModel> = Arc::new(OfRun { run: cx.run().clone(), state: cx.state().clone() });
        let session = Session { model: Some(model), ..hooks.session().clone() };
        let mut remembered: Remembered = cx.state().metadata().read(BROUGHT)?.unwrap_or_default();
        let agent = (at.run.depth > 0).then(|| at.run.agent.clone());
        let at_work = AtWork::Known { agent, remembered: remembered.clone() };
        let fired = hooks.fire_in(&session, &input, &at_work, Some(Path::new(&*at.run.working_directory))).await;
        if !fired.spent.is_empty() {
            remembered.spent.extend(fired.spent);
            cx.state_mut().metadata_mut().set(BROUGHT, serde_json::to_value(remembered)?);
        }
        for declared in fired.background {
            self.beside.start(&at.run.session_id, hooks.clone(), declared, fired.input.clone(), fired.folder.clone());
        }
        let mut judgement = fired.judgement;
        for ran in &mut judgement.ran {
            ran.exchange = ran.exchange.clone().for_record();
        }
        let Told { ran, warnings } = self.beside.tell(&at.run.session_id);
        judgement.ran.extend(ran);
        judgement.warnings.extend(warnings);
        cx.account(serde_json::to_value(&judgement)?);
        for text in judgement.warnings.iter().chain(&judgement.user_sees) {
            if cx.point() == SessionStart::NAME {
                // Nobody follows a session before its first run.
                self.beside.keep_news(&at.run.session_id, format!("{event}: {text}"));
            } else {
                tell(cx, event, text).await;
            }
        }
        Ok(judgement)
    }

    /// Tells the record and people of what ended beside the agent, where no event does it.
    async fn tell_of_beside(&self, cx: &mut dyn AnyPlace, at: &At) {
        let told = self.beside.tell(&at.run.session_id);
        if let Some(account) = told.account() {
            cx.account(account);
        }
        for text in &told.warnings {
            tell(cx, "beside", text).await;
        }
    }

    /// What every event has, and what this one has.
    fn input(&self, at: &At, event: &str, here: Option<&str>, fields: Map<String, Value>) -> Map<String, Value> {
        let run = &at.run;
        let mut input = Map::new();
        let mut set = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
        set("session_id", (&*run.session_id).into());
        if !matches!(event, "SessionStart" | "SessionEnd") {
            set("prompt_id", (&*run.run_id).into());
        }
        set("transcript_path", self.transcripts.of_session(at).to_string_lossy().into());
        set("cwd", here.unwrap_or(&run.working_directory).into());
        if !matches!(event, "SessionStart" | "SessionEnd" | "Notification") {
            set("permission_mode", self.mode(&run.session_id).into());
        }
        set("hook_event_name", event.into());
        if run.depth > 0 {
            set("agent_id", (&*run.run_id).into());
            set("agent_type", (&*run.agent).into());
        }
        input.extend(fields);
        input
    }

    fn mode(&self, session: &str) -> &'static str {
        match self.permissions.as_ref().map(|rules| rules.mode(session)) {
            Some(Mode::AcceptEdits | Mode::Sandboxed) => "acceptEdits",
            Some(Mode::Plan) => "plan",
            Some(Mode::Bypass) => "bypassPermissions",
            Some(Mode::Ask) | None => "default",
        }
    }

    /// Takes what hooks want of the rules from now on, as far as it is for this session.
    fn learn(&self, at: &At, judgement: &Judgement) {
        let rules = judgement.effects.get("session_rules").and_then(Value::as_array).into_iter().flatten();
        for rule in rules.filter_map(Value::as_str) {
            let Some(permissions) = &self.permissions else { return };
            if let Err(error) = permissions.learn(rule, &For::Session(at.run.session_id.clone())) {
                tracing::warn!("{error}");
            }
        }
    }
}

/// The fields of an event about a call.
pub(super) fn about(call: &ToolCall, cwd: &str) -> Map<String, Value> {
    let name = names::tool_name(&call.tool, &call.aliases);
    let input = names::tool_input(&call.tool, &call.args, cwd);
    fields(json!({ "tool_name": name, "tool_input": input, "tool_use_id": call.id }))
}

/// What set a compaction off, from its reason: ours, or Claude Code's own word.
pub(super) fn trigger(reason: &str) -> &'static str {
    if matches!(reason, "a person asked for it" | "manual") { "manual" } else { "auto" }
}

pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Notifies people. If the notification fails, the record still has the text.
async fn tell(cx: &mut dyn AnyPlace, event: &str, text: &str) {
    tracing::warn!(event, "{text}");
    let run = cx.run().clone();
    let _ = run.notify(cx.state_mut(), NEWS, format!("{event}: {text}")).await;
}

/// Ends the run, whatever else asks it to go on.
fn end(run: &Run, event: &str, judgement: &Judgement) -> String {
    let reason = ending(event, judgement);
    run.stop(Stop::hard(StopReason::Requested, format!("claude-code/{event}"), reason.clone()));
    reason
}

/// Why a hook ends something.
fn ending(event: &str, judgement: &Judgement) -> String {
    let reason = judgement.user_sees.clone().or_else(|| judgement.reason.clone());
    reason.unwrap_or_else(|| format!("a hook at {event} ended it"))
}

/// The model of a run: asked through its own points, and out of its budget.
struct OfRun {
    run: Run,
    state: AgentState,
}

impl AskModel for OfRun {
    fn ask<'a>(&'a self, _: Option<&'a str>, prompt: String) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let mut request = self.run.request();
            request.messages = Messages::from_iter([Message::user(prompt)]);
            request.tools = [].into();
            match self.run.infer(&mut self.state.clone(), "claude-code/prompt", request).await {
                InferenceReport::Answered(response) => Ok(response.text),
                InferenceReport::NotAsked(stop) => Err(format!("the model was not asked: {stop}")),
                InferenceReport::Failed(error) => Err(error.to_string()),
                InferenceReport::Cancelled => Err("the run was cancelled".to_owned()),
            }
        })
    }
}
