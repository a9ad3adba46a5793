//! One event, from its matching handlers to what comes of it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Map, Value};

use super::{
    at_work::AtWork,
    effect::Effect,
    event::Event,
    handler::{Background, Level},
    rule::{ClaudeCall, Ground, PermissionRules, condition_holds},
    run::{Ended, Given, Said, Session},
    settings::{Declared, Settings},
    verdict::Heard,
};
use vertebra::BoxFuture;

use crate::{
    handler::process::{Program, Start},
    told::capped,
    trust::Seal,
    wire::{Decision, Judgement, RanHandler},
};

/// How long the handlers at a session's end have together, unless a settings file gives one of them more.
const END_BUDGET: Duration = Duration::from_millis(1500);

/// The most that a settings file can give them.
const MAX_END_BUDGET: Duration = Duration::from_mins(1);

/// How long a shell may take to read the variables that commands left.
const READ_VARIABLES: Duration = Duration::from_secs(5);

/// A session's settings, ready to fire.
pub struct Hooks {
    settings: Settings,
    /// The session with the variables that settings give.
    session: Session,
    /// The session as it was given.
    bare: Session,
    rules: PermissionRules,
}

/// What fired: the judgement, and what is still under way.
pub(super) struct Fired {
    pub(super) judgement: Judgement,
    /// Handlers beside the agent, to be run by whoever fired.
    pub(super) background: Vec<Arc<Declared>>,
    /// The input as handlers got it.
    pub(super) input: Map<String, Value>,
    /// Where handlers are written that were to run once, and did.
    pub(super) spent: Vec<String>,
    /// Where commands ran.
    pub(super) folder: PathBuf,
}

/// What a handler beside the agent came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Later {
    pub(super) ran: RanHandler,
    /// What the model is told at its next turn.
    pub(super) contexts: Vec<String>,
    /// What the model is woken with.
    pub(super) wakes: Option<String>,
    pub(super) warning: Option<String>,
}

/// Fires one event of Claude Code at these settings, and waits for every handler that it starts.
///
/// The event is what hooks read on stdin; what it leaves out is filled in. Handlers run for real.
pub fn fire<'a>(settings: &'a Settings, event: &'a Value, session: &'a Session) -> BoxFuture<'a, Judgement> {
    Box::pin(fired(settings, event, session))
}

async fn fired(settings: &Settings, event: &Value, session: &Session) -> Judgement {
    let hooks = Hooks::new(settings.clone(), session.clone());
    let Fired { mut judgement, background, input, folder, .. } =
        hooks.fire_in(hooks.session(), event, &AtWork::All, None).await;
    let later: FuturesUnordered<_> =
        background.iter().map(|declared| hooks.run_beside(declared, &input, &folder)).collect();
    let mut later: Vec<Later> = later.collect().await;
    later.sort_by(|one, other| one.ran.exchange.handler.cmp(&other.ran.exchange.handler));
    let contexts: Vec<String> = later.iter().flat_map(|later| later.contexts.clone()).collect();
    let wakes: Vec<String> = later.iter().filter_map(|later| later.wakes.clone()).collect();
    if !contexts.is_empty() {
        judgement.effects.insert("next_turn_context".to_owned(), contexts.into());
    }
    if !wakes.is_empty() {
        judgement.effects.insert("wakes_model_with".to_owned(), wakes.join("\n").into());
    }
    if !background.is_empty() {
        let blocks = matches!(judgement.decision, Some(Decision::Deny | Decision::Block));
        judgement.effects.insert("blocks".to_owned(), blocks.into());
    }
    let name = event.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
    if Event::named(name).is_some_and(Event::has_env_file) {
        let left: Map<String, Value> =
            hooks.left_variables().await.into_iter().map(|(name, value)| (name, value.into())).collect();
        if !left.is_empty() {
            judgement.effects.insert("environment".to_owned(), left.into());
        }
    }
    judgement.warnings.extend(hooks.rules.warnings.iter().cloned());
    for later in later {
        judgement.warnings.extend(later.warning);
        judgement.ran.push(later.ran);
    }
    judgement
}

impl Hooks {
    /// These settings, for this session.
    pub fn new(settings: Settings, session: Session) -> Self {
        let ground =
            Ground { cwd: session.project.clone(), project: session.project.clone(), home: session.home.clone() };
        let rules = PermissionRules::new(&settings, &ground);
        let (bare, mut session) = (session.clone(), session);
        let given = settings.variables();
        session.variables.retain(|(name, _)| name.to_str().is_none_or(|name| !given.contains_key(name)));
        session.variables.extend(given.into_iter().map(|(name, value)| (name.into(), value.into())));
        Self { settings, session, bare, rules }
    }

    /// What was not understood of the settings.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.settings.warnings.iter().chain(&self.rules.warnings)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The session without what settings say.
    pub(super) fn bare_session(&self) -> &Session {
        &self.bare
    }

    pub(super) fn rules(&self) -> &PermissionRules {
        &self.rules
    }

    pub(super) fn ground(&self, cwd: &Path) -> Ground {
        Ground { cwd: cwd.to_owned(), project: self.session.project.clone(), home: self.session.home.clone() }
    }

    /// Fires one event in this session, which may differ from its own in what it reaches. Handlers that run beside the
    /// agent are handed back.
    pub(super) async fn fire_in(
        &self,
        session: &Session,
        event: &Value,
        at_work: &AtWork,
        runs_in: Option<&Path>,
    ) -> Fired {
        let nothing = |warning: String| Fired {
            judgement: Judgement { goes_on: true, warnings: vec![warning], ..Judgement::default() },
            background: Vec::new(),
            input: Map::new(),
            spent: Vec::new(),
            folder: PathBuf::new(),
        };
        let Some(given) = event.as_object() else { return nothing("an event must be a JSON object".to_owned()) };
        let name = given.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
        let Some(event) = Event::named(name) else {
            let what = if name.is_empty() { "missing".to_owned() } else { format!("unknown: `{name}`") };
            return nothing(format!(
                "`hook_event_name` is {what}; write an event of Claude Code, such as `PreToolUse`"
            ));
        };
        let input = self.completed(event, given);
        let folder = runs_in.filter(|folder| folder.is_dir()).map_or_else(|| self.folder(&input), Path::to_owned);
        let ground = self.ground(&folder);
        let body = format!("{}\n", Value::Object(input.clone()));
        // A turn that an error ended has not stopped by itself: that is another event.
        let failed = event.is("Stop") && input.get("api_error").is_some_and(|error| !error.is_null());
        let (matching, mut effects) =
            if failed { (Vec::new(), Vec::new()) } else { self.matching(event, &input, &ground, at_work) };
        let (beside, matching): (Vec<_>, Vec<_>) =
            matching.into_iter().partition(|declared| declared.handler.background().is_some());

        let given = Given { event, input: &input, body: &body, cwd: &folder, settings: &self.settings, session };
        let budget = self.end_budget(event);
        let mut running: FuturesUnordered<_> = matching
            .iter()
            .enumerate()
            .map(|(place, declared)| {
                let limit = declared.handler.limit_at(event);
                let limit = budget.map_or(limit, |budget| declared.handler.limit.unwrap_or(budget).min(budget));
                let given = &given;
                async move { (place, given.run(declared, limit).await) }
            })
            .collect();
        let mut ended = Vec::new();
        while let Some((place, (exchange, said))) = running.next().await {
            ended.push(Ended { place, order: ended.len(), exchange, said });
        }
        drop(running);
        effects.extend(ended.iter().map(|ended| Effect::of(event, matching[ended.place], ended)));

        let is_only_call = input.get("tool_calls_in_turn").and_then(Value::as_u64).is_none_or(|calls| calls == 1);
        let may_defer = !self.session.is_attended && is_only_call;
        let heard = Heard { event, input: &input, effects, rules: &self.rules, ground: &ground, may_defer };
        let mut judgement = heard.judge();
        if failed {
            judgement.effects.insert("StopFailure".to_owned(), "fires".into());
        }
        ended.sort_by_key(|ended| ended.place);
        let did = ended.iter().filter(|ended| ended.said.is_success()).map(|ended| matching[ended.place]);
        // Of what runs beside the agent nobody waits to know how it ends.
        let did = did.chain(beside.iter().copied()).filter(|declared| declared.is_for_once());
        let spent = did.map(|declared| declared.spot.clone()).collect();
        judgement.ran = ended.into_iter().map(|ended| ran(event, matching[ended.place], ended.exchange)).collect();
        cap(&mut judgement);
        let background = beside.into_iter().map(|declared| Arc::new(declared.clone())).collect();
        Fired { judgement, background, input, spent, folder }
    }

    /// Runs a handler beside the agent.
    pub(super) async fn run_beside(&self, declared: &Declared, input: &Map<String, Value>, folder: &Path) -> Later {
        let event = declared.event;
        let body = format!("{}\n", Value::Object(input.clone()));
        let given = Given { event, input, body: &body, cwd: folder, settings: &self.settings, session: &self.session };
        let (exchange, said) = given.run(declared, declared.handler.limit_at(event)).await;
        let wakes = match (&said, declared.handler.background()) {
            (Said::Exited { code: 2, .. }, Some(Background::Wakes)) => {
                let told = [&exchange.stderr, &exchange.stdout].into_iter().find(|text| !text.trim().is_empty());
                Some(capped(told.map_or("No stderr output", |text| text.trim()).to_owned()))
            }
            _ => None,
        };
        let ended = Ended { place: 0, order: 0, exchange, said };
        let effect = Effect::of(event, declared, &ended);
        let contexts = effect.contexts.into_iter().chain(effect.output.system_message).map(capped).collect();
        Later { ran: ran(event, declared, ended.exchange), contexts, wakes, warning: effect.notice }
    }

    /// The handlers that match, each once; and what blocks because nobody can tell.
    fn matching<'s>(
        &'s self,
        event: &'static Event,
        input: &Map<String, Value>,
        ground: &Ground,
        at_work: &AtWork,
    ) -> (Vec<&'s Declared>, Vec<Effect>) {
        let whole = Value::Object(input.clone());
        let query = event.query(&whole);
        let tool = input.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let empty = Map::new();
        let call = ClaudeCall { tool, input: input.get("tool_input").and_then(Value::as_object).unwrap_or(&empty) };
        let mut matching: Vec<&Declared> = Vec::new();
        let mut blocking = Vec::new();
        for declared in self.settings.in_force(event).filter(|declared| at_work.has(declared)) {
            let holds = match query {
                // `Task` is what it was called, and what many settings say.
                Some("Agent") if !tool.is_empty() => match declared.matcher.holds("Agent") {
                    Ok(false) => declared.matcher.holds("Task"),
                    told => told,
                },
                Some(query) => declared.matcher.holds(query),
                None => Ok(true),
            };
            match holds {
                Ok(true) => {}
                Err(error) if event.is_gate() => {
                    let by = format!("matcher `{}` of {}", declared.written, declared.origin.file.display());
                    let objection = format!("the {by} cannot be told ({}): blocking", error.0);
                    let objection = Some(objection);
                    blocking.push(Effect { by, objection, place: usize::MAX, ..Effect::default() });
                    continue;
                }
                Ok(false) | Err(_) => continue,
            }
            let condition = declared.handler.condition.as_deref();
            if condition.is_some_and(|rule| !condition_holds(rule, &declared.origin, call, ground)) {
                continue;
            }
            if event.passes_over(declared.handler.kind()) {
                continue;
            }
            let is_same =
                |other: &&Declared| other.handler.is_same(&declared.handler) && other.owner() == declared.owner();
            match matching.iter_mut().find(|other| is_same(other)) {
                // Of two declarations of one handler the stricter counts; how a managed one runs is nobody else's to say.
                Some(other) if declared.handler.blocks_on_failure && other.origin.level != Level::Managed => {
                    *other = declared;
                }
                Some(_) => {}
                None => matching.push(declared),
            }
        }
        (matching, blocking)
    }

    /// The event with what every event has.
    fn completed(&self, event: &Event, given: &Map<String, Value>) -> Map<String, Value> {
        let session_id =
            given.get("session_id").and_then(Value::as_str).unwrap_or("00000000-0000-4000-8000-000000000000");
        let cwd = given.get("cwd").and_then(Value::as_str).map_or_else(|| self.session.project.clone(), PathBuf::from);
        let transcript = std::env::temp_dir().join(format!("{session_id}.jsonl"));
        let in_a_turn = !matches!(
            event.name,
            "SessionStart"
                | "Setup"
                | "SessionEnd"
                | "ConfigChange"
                | "InstructionsLoaded"
                | "CwdChanged"
                | "FileChanged"
                | "DirectoryAdded"
                | "WorktreeCreate"
                | "WorktreeRemove"
                | "Notification"
                | "PreModelSwitch"
        );
        let mut input = Map::new();
        let mut set = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
        set("session_id", session_id.into());
        if in_a_turn {
            set("prompt_id", "00000000-0000-4000-8000-000000000001".into());
        }
        set("transcript_path", transcript.to_string_lossy().into());
        set("cwd", cwd.to_string_lossy().into());
        if in_a_turn {
            set("permission_mode", self.settings.default_mode().unwrap_or("default").into());
        }
        set("hook_event_name", event.name.into());
        if event.objection == super::event::Objection::GoOn {
            set("stop_hook_active", false.into());
        }
        input.extend(given.clone());
        if event.is_about_a_tool() && !event.is("PermissionRequest") && !input.contains_key("tool_use_id") {
            input.insert("tool_use_id".to_owned(), "toolu_01".into());
        }
        if let Some(Value::Object(of_tool)) = input.get_mut("tool_input")
            && let Some(Value::String(path)) = of_tool.get_mut("file_path")
            && !path.is_empty()
        {
            *path = vertebra::paths::absolute(&cwd.to_string_lossy(), path);
        }
        input
    }

    /// Where commands run: where the session is, or the next best place that is there.
    fn folder(&self, input: &Map<String, Value>) -> PathBuf {
        let cwd = input.get("cwd").and_then(Value::as_str).map(PathBuf::from);
        let places = cwd.into_iter().chain([self.session.project.clone()]).chain(self.session.home.clone());
        places.into_iter().find(|place| place.is_dir()).unwrap_or_else(std::env::temp_dir)
    }

    /// How long the handlers at a session's end have.
    fn end_budget(&self, event: &Event) -> Option<Duration> {
        if !event.is("SessionEnd") {
            return None;
        }
        let variable = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS";
        let said = self.session.variables.iter().find(|(name, _)| name == variable);
        let said = said.and_then(|(_, value)| value.to_str()?.parse().ok()).map(Duration::from_millis);
        let of_files = self.settings.in_force(event).filter(|declared| declared.origin.level.plugin().is_none());
        let longest = of_files.filter_map(|declared| declared.handler.limit).max().unwrap_or_default();
        Some(said.unwrap_or_else(|| longest.min(MAX_END_BUDGET).max(END_BUDGET)))
    }

    /// The variables that commands left for later commands, as a shell reads them.
    pub(super) async fn left_variables(&self) -> Vec<(String, String)> {
        let Some(file) = self.session.env_file.as_ref().filter(|file| file.is_file()) else { return Vec::new() };
        let script = ". \"$1\" > /dev/null 2>&1; env -0".to_owned();
        let words = ["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned(), file.to_string_lossy().into_owned()];
        let (folder, variables) = (self.session.project.clone(), self.session.variables.clone());
        let program = Program { start: Start::Exec(words.into()), folder, variables, seal: Seal::default() };
        let told = program.exchange(b"", READ_VARIABLES).await.stdout;
        let is_new = |name: &str, value: &str| {
            let before = self.session.variables.iter().find(|(of, _)| of == name);
            !matches!(name, "_" | "PWD" | "OLDPWD" | "SHLVL") && before.is_none_or(|(_, before)| before != value)
        };
        let all = told.split('\0').filter_map(|line| line.split_once('='));
        let new = all.filter(|(name, value)| is_new(name, value));
        new.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

impl Declared {
    /// Whose copy of a handler it is: all settings files are one, each plugin, skill and agent is another.
    fn owner(&self) -> Option<&Path> {
        match &self.origin.level {
            Level::Plugin(plugin) => Some(&plugin.root),
            Level::User | Level::Project | Level::Local | Level::CommandLine | Level::Managed => {
                self.bringer.as_ref().map(|_| &*self.origin.file)
            }
        }
    }
}

fn ran(event: &Event, declared: &Declared, exchange: crate::wire::Exchange) -> RanHandler {
    RanHandler {
        hook: format!("claude-code/{}", event.name),
        origin: Some(declared.origin.file.display().to_string()),
        exit_code: exchange.end.exit_code(),
        exchange,
    }
}

/// No text is longer than anybody is told.
fn cap(judgement: &mut Judgement) {
    for text in judgement.model_context.iter_mut().chain(&mut judgement.warnings) {
        *text = capped(std::mem::take(text));
    }
    for text in [&mut judgement.reason, &mut judgement.model_sees, &mut judgement.user_sees] {
        *text = text.take().map(capped);
    }
    for value in judgement.effects.values_mut() {
        let texts = match value {
            Value::Array(list) => list.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        for text in texts {
            if let Value::String(text) = text {
                *text = capped(std::mem::take(text));
            }
        }
    }
}
