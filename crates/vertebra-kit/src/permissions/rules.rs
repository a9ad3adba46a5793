//! The rules in force, shared by hooks, guards and approvers.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    fmt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use serde::Deserialize as _;
use vertebra::{Approval, Args, BeforeToolUse, Entry, Point as _, RunInfo, ToolCall, ToolSpec, What, nearest};

use super::{
    Look,
    file::RuleFile,
    judge::{Explanation, Held, Listed, Otherwise, Reach, judge},
    learn::{For, LearnError},
    mode::{self, Mode, NoBypass},
    path::{Base, PathPattern},
    results::without_refused,
    rule::{Access, Effect, Part, Rule},
    subject::{Standing, Subject, has_argument},
    suggest::suggest,
};
use crate::bash::{Granted, Lift};

/// The maximum number of rules that allow something.
const MAX_RULES: usize = 10_000;

/// The maximum number of rules that refuse something. It is more than fits in the files they come from: such a rule is not to
/// be lost because there are many.
const MAX_REFUSING: usize = 500_000;

/// How many calls are remembered at once, for questions about them.
const MAX_PENDING: usize = 1024;

/// The source of a rule that a person added at a question.
const LEARNED: &str = "this session";

/// A handle to the rules in force. Clones share the same rules.
#[derive(Clone)]
pub struct Rules(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    mode: Mode,
    modes: HashMap<Arc<str>, Mode>,
    may_bypass: bool,
    /// Whether a front end may not offer another mode.
    holds_mode: bool,
    /// The sandbox in which commands run, if they do.
    sandbox: Option<Lift>,
    rules: Vec<Held>,
    /// How many of them allow something.
    allowing: usize,
    file: Option<Arc<RuleFile>>,
    home: Option<String>,
    /// The folder of the first agent of each session. Relative rules refer to it, even if a subagent works elsewhere.
    anchors: HashMap<Arc<str>, Arc<str>>,
    /// Calls that may need approval, by run and call.
    pending: HashMap<CallKey, Pending>,
    /// The modes that a record has for calls, each time that one was judged, if it changed there.
    recorded: HashMap<CallKey, VecDeque<Option<Mode>>>,
}

/// A run and a call of it.
type CallKey = (Arc<str>, Arc<str>);

/// A call that may need approval.
struct Pending {
    digest: String,
    /// The mode in which it was judged first.
    mode: Mode,
    standing: Standing,
    subject: Arc<Subject>,
}

impl Default for Rules {
    fn default() -> Self {
        let home = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        Self(Arc::new(RwLock::new(State { home, ..State::default() })))
    }
}

impl Rules {
    pub(super) fn bypassing() -> Self {
        let rules = Self::default();
        let mut state = rules.write();
        (state.mode, state.may_bypass) = (Mode::Bypass, true);
        drop(state);
        rules
    }

    pub(super) fn begin_in(&self, mode: Mode) -> Result<(), NoBypass> {
        let mut state = self.write();
        state.check(mode)?;
        state.mode = mode;
        Ok(())
    }

    pub(super) fn hold_mode(&self) {
        self.write().holds_mode = true;
    }

    pub(super) fn set_home(&self, home: String) {
        self.write().home = Some(home);
    }

    pub(super) fn learn_to(&self, file: RuleFile) {
        self.write().file = Some(Arc::new(file));
    }

    pub(super) fn add(&self, effect: Effect, rule: &str, source: Arc<str>, reach: Reach) -> Result<(), LearnError> {
        let rule: Rule = rule.parse()?;
        let mut state = self.write();
        let (many, most) = match effect {
            Effect::Allow => (state.allowing, MAX_RULES),
            Effect::Ask | Effect::Deny => (state.rules.len() - state.allowing, MAX_REFUSING),
        };
        if many >= most {
            return Err(LearnError::TooMany { most });
        }
        if rule.needs_home() && state.home.is_none() {
            return Err(LearnError::NoHome { rule: rule.text().clone() });
        }
        state.allowing += usize::from(effect == Effect::Allow);
        state.rules.push(Held { effect, rule: Arc::new(rule), source, reach });
        Ok(())
    }

    /// Returns all rules in force, in the order in which they were added.
    pub fn list(&self) -> Vec<Listed> {
        self.read().rules.iter().map(Held::listed).collect()
    }

    /// Returns the mode of a session.
    pub fn mode(&self, session: &str) -> Mode {
        self.read().mode_of(session)
    }

    /// Returns whether the mode is [held](super::Permissions::hold_mode), so that a front end offers no other one.
    pub fn holds_mode(&self) -> bool {
        self.read().holds_mode
    }

    /// Says in which sandbox commands run, so that people can choose [`Mode::Sandboxed`]. A sandbox that is off is none.
    ///
    /// A command that this mode allows runs only in a whole sandbox, even if the sandbox is not
    /// [required](crate::bash::sandbox::Need::Required).
    pub fn sandboxed(&self, lift: &Lift) {
        self.write().sandbox = lift.is_on().then(|| lift.clone());
    }

    /// Returns whether commands run in a [sandbox](Self::sandboxed), so that there is [`Mode::Sandboxed`].
    pub fn has_sandbox(&self) -> bool {
        self.read().sandbox.is_some()
    }

    /// Sets the mode of a session from its next call on. Tools and models cannot reach this.
    pub fn set_mode(&self, session: &str, mode: Mode) -> Result<(), NoBypass> {
        let mut state = self.write();
        state.check(mode)?;
        state.modes.insert(session.into(), mode);
        Ok(())
    }

    /// Adds an allow rule of a person. May block, because a permanent rule is written to a file.
    pub fn learn(&self, rule: &str, hold: &For) -> Result<(), LearnError> {
        let saved = |folder: Option<&str>| {
            let file = self.read().file.clone().ok_or(LearnError::NoFile)?;
            file.append(folder, Effect::Allow, rule.parse::<Rule>()?.text())?;
            Ok::<_, LearnError>(file.source())
        };
        let (source, reach): (Arc<str>, _) = match hold {
            For::Session(session) => (LEARNED.into(), Reach::Session(session.clone())),
            For::Folder(session) => {
                let folder = self.folder(session).ok_or(LearnError::NoFolder)?;
                (saved(Some(&folder))?, Reach::Folder(folder))
            }
            For::Good => (saved(None)?, Reach::Everywhere),
        };
        tracing::info!(rule, %source, "a person allowed this from now on");
        self.add(Effect::Allow, rule, source, reach)
    }

    /// Takes what a person granted from a record, for the session. Nothing is written.
    pub fn recall(&self, session: &Arc<str>, grants: &[String]) {
        for grant in grants {
            if let Some(granted) = Granted::from_record(grant) {
                self.read().sandbox.iter().for_each(|lift| lift.grant(session, granted.clone()));
                continue;
            }
            let done = match Mode::granted(grant) {
                Some(mode) => self.set_mode(session, mode).map_err(|error| error.to_string()),
                None => self.learn(grant, &For::Session(session.clone())).map_err(|error| error.to_string()),
            };
            if let Err(error) = done {
                tracing::warn!(grant, error, "a recorded grant cannot be used");
            }
        }
    }

    /// Returns the folder that the first agent of a session works in, if it is known.
    pub fn folder(&self, session: &str) -> Option<Arc<str>> {
        self.read().anchors.get(session).cloned()
    }

    /// Returns the file for permanent rules, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        Some(self.read().file.as_ref()?.path().to_owned())
    }

    /// Reports rules that match none of these tools, most likely because of a typo.
    pub fn unmatched<'t>(&self, tools: impl IntoIterator<Item = &'t ToolSpec>) -> Vec<String> {
        let tools: Vec<&ToolSpec> = tools.into_iter().collect();
        let state = self.read();
        let names: Vec<&str> = tools
            .iter()
            .flat_map(|spec| std::iter::once(&spec.name).chain(spec.aliases.iter()))
            // A rule may be about a whole server.
            .flat_map(|name| [Some(&**name), name.rsplit_once("__").map(|(server, _)| server)])
            .flatten()
            .collect();
        let dead = state.rules.iter().filter(|held| !tools.iter().any(|spec| can_hold(&held.rule, spec)));
        let describe = |held: &Held| {
            let written = held.rule.text().split('(').next().unwrap_or_default();
            let meant = nearest(written, names.iter().copied());
            let hint = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            format!("{} matches no tool{hint}", held.listed())
        };
        dead.map(describe).collect()
    }

    /// Judges a call as if an agent in this folder made it in this session.
    ///
    /// May block, because it resolves links.
    pub fn explain(&self, session: &str, spec: &ToolSpec, args: &Args, working_directory: &str) -> Explanation {
        self.explained_to(session, spec, args, working_directory, false)
    }

    /// Judges a call of another agent: its commands run outside of our sandbox, and its results are not searched.
    ///
    /// May block, because it resolves links and looks for files.
    pub fn explain_unheld(&self, session: &str, spec: &ToolSpec, args: &Args, working_directory: &str) -> Explanation {
        self.explained_to(session, spec, args, working_directory, true)
    }

    fn explained_to(&self, session: &str, spec: &ToolSpec, args: &Args, folder: &str, is_unheld: bool) -> Explanation {
        let call = call_of(spec, args);
        let folder = folder.to_owned();
        let state = self.read();
        let (home, refuses_paths, reads) = (state.home.clone(), state.refuses_paths(), state.about_reading(session));
        drop(state);
        let standing =
            Standing { anchor: folder.clone(), folder, shell: None, home, refuses_paths, reads, ..Standing::default() };
        let anchor = standing.anchor.clone();
        let mode = self.mode(session);
        self.explained(session, &anchor, Subject::new(&call, Some(spec), standing).as_ref(), mode, is_unheld)
    }

    /// Returns the narrowest useful rules that would allow this call, for front ends that offer "always".
    pub fn suggestions(&self, approval: &Approval) -> Option<Vec<String>> {
        let rules = suggest(&*self.asked_about(approval)?);
        self.would_allow(approval, &rules).then_some(rules)
    }

    /// Returns whether these rules, together with those in force, would allow the call.
    pub fn would_allow(&self, approval: &Approval, more: &[String]) -> bool {
        let held = |rule: &String| {
            let rule = Arc::new(rule.parse().ok()?);
            Some(Held { effect: Effect::Allow, rule, source: LEARNED.into(), reach: Reach::Everywhere })
        };
        let Some(subject) = self.asked_about(approval) else { return false };
        let more: Vec<Held> = more.iter().filter_map(held).collect();
        let session = &approval.at.run.session_id;
        let state = self.read();
        let rules: Vec<&Held> = state.of(session).chain(&more).collect();
        judge(&subject, &rules, state.by(state.mode_of(session), session)).effect == Some(Effect::Allow)
    }

    /// Returns the modes that would allow the call and that a person can choose for the session, from the strictest one.
    pub(super) fn allowing_modes(&self, approval: &Approval) -> Vec<Mode> {
        let Some(subject) = self.asked_about(approval) else { return Vec::new() };
        let session = &approval.at.run.session_id;
        let state = self.read();
        let rules: Vec<&Held> = state.of(session).collect();
        let looser: &[Mode] = match state.mode_of(session) {
            _ if state.holds_mode => &[],
            Mode::Ask => &[Mode::AcceptEdits, Mode::Sandboxed],
            Mode::AcceptEdits => &[Mode::Sandboxed],
            Mode::Sandboxed | Mode::Plan | Mode::Bypass => &[],
        };
        let looser = looser.iter().copied().filter(|mode| *mode != Mode::Sandboxed || state.sandbox.is_some());
        looser.filter(|mode| judge(&subject, &rules, state.by(*mode, session)).effect == Some(Effect::Allow)).collect()
    }

    /// Returns whether the sandboxed mode would allow the call if it were granted what it needs, and a person can choose that mode
    /// for the session.
    pub(super) fn allows_if_granted(&self, approval: &Approval) -> bool {
        let Some(subject) = self.asked_about(approval) else { return false };
        let session = &approval.at.run.session_id;
        let state = self.read();
        let rules: Vec<&Held> = state.of(session).collect();
        let may_choose = !state.holds_mode && matches!(state.mode_of(session), Mode::Ask | Mode::AcceptEdits);
        let granted = Otherwise { with_network: true, ..state.by(Mode::Sandboxed, session) };
        may_choose && state.sandbox.is_some() && judge(&subject, &rules, granted).effect == Some(Effect::Allow)
    }

    /// Returns the call exactly as it was judged.
    fn asked_about(&self, approval: &Approval) -> Option<Arc<Subject>> {
        let key = (approval.at.run.run_id.clone(), approval.call.id.clone());
        let state = self.read();
        let pending = state.pending.get(&key).filter(|pending| pending.digest == approval.digest)?;
        Some(pending.subject.clone())
    }

    /// Returns the remembered call if neither it nor its folder has changed.
    pub(super) fn kept(&self, run: &RunInfo, call: &ToolCall, standing: &Standing) -> Option<Arc<Subject>> {
        let state = self.read();
        let Pending { digest, standing: was, subject, .. } =
            state.pending.get(&(run.run_id.clone(), call.id.clone()))?;
        let same = *digest == call.args.digest()
            && was == standing
            && subject.names.first().is_some_and(|name| call.tool == *name);
        same.then(|| subject.clone())
    }

    /// Judges a call and remembers it.
    pub(super) fn judge(
        &self,
        run: &RunInfo,
        call: &ToolCall,
        standing: Standing,
        subject: Result<Arc<Subject>, String>,
        look: Look,
    ) -> (Explanation, Mode) {
        let mode = self.mode_for(run, call, look);
        let told = self.explained(&run.session_id, &standing.anchor, subject.as_deref(), mode, false);
        if let (Ok(subject), true) = (subject, told.effect != Some(Effect::Deny)) {
            let mut state = self.write();
            let key = (run.run_id.clone(), call.id.clone());
            // What is not kept in mind could not be hidden in what it finds, nor asked about.
            if state.pending.len() >= MAX_PENDING && !state.pending.contains_key(&key) {
                let reason = format!("{MAX_PENDING} calls are running at once; wait for some of them to end");
                return (refused(reason), mode);
            }
            let pending = Pending { digest: call.args.digest(), mode, standing, subject };
            state.pending.insert(key, pending);
        }
        (told, mode)
    }

    /// Returns the mode in which a call is judged: the same at both looks, and in a replay the recorded one.
    fn mode_for(&self, run: &RunInfo, call: &ToolCall, look: Look) -> Mode {
        let key = (run.run_id.clone(), call.id.clone());
        let mut state = self.write();
        let judged = state.pending.get(&key).filter(|pending| pending.digest == call.args.digest());
        if let (Look::Again, Some(judged)) = (look, judged) {
            return judged.mode;
        }
        if let Some(Some(mode)) = state.recorded.get_mut(&key).and_then(VecDeque::pop_front)
            && state.check(mode).is_ok()
        {
            state.modes.insert(run.session_id.clone(), mode);
        }
        state.mode_of(&run.session_id)
    }

    /// Takes the changes of the mode from the facts of a session, for a replay of it.
    pub fn recall_modes(&self, facts: &[Entry]) {
        let mut state = self.write();
        for fact in facts {
            let What::Dispatched { call_id: Some(call), record, left, .. } = &fact.what else { continue };
            if record.point == BeforeToolUse::NAME && record.hooks.iter().any(|trace| &*trace.hook == super::ALLOW) {
                let change = left.as_ref().and_then(|left| left.state.as_ref());
                let mode = change.and_then(|change| Mode::deserialize(change.metadata.get(mode::NOTED)?).ok());
                state.recorded.entry((fact.run_id.clone(), call.clone())).or_default().push_back(mode);
            }
        }
        state.recorded.retain(|_, modes| modes.iter().any(Option::is_some));
    }

    /// Returns the output of a search without the paths that a rule denies reading. Returns `None` if no line is hidden.
    pub(super) fn without_refused(&self, run: &RunInfo, call: &ToolCall, output: &str) -> Option<String> {
        let state = self.read();
        let subject = &state.pending.get(&(run.run_id.clone(), call.id.clone()))?.subject;
        let rules = state.refusals_to_read(&run.session_id);
        if rules.is_empty() || subject.searched.is_empty() {
            return None;
        }
        without_refused(output, !subject.git.roots.is_empty(), |path| {
            rules.iter().find(|rule| rule.refuses_found(subject, path)).map(|rule| &**rule.text())
        })
    }

    /// Returns all rules that deny the use of paths in a session. The rule about the file of the rules counts only if the
    /// file is in the working folder: elsewhere no file tool reaches it, and a replay may keep its rules elsewhere.
    pub(super) fn refusals_of_paths(&self, session: &str, base: &Base) -> Vec<Arc<Rule>> {
        let state = self.read();
        let is_inside = |pattern: &PathPattern| {
            pattern.begins(base).0.iter().any(|path| base.folders.iter().any(|folder| path.starts_with(folder)))
        };
        let about_paths = |held: &&Held| match &held.rule.part {
            Part::Path(_, pattern) => {
                held.effect == Effect::Deny && (&*held.source != super::ITSELF || is_inside(pattern))
            }
            Part::All | Part::Command(_) | Part::Host(_) => false,
        };
        state.of(session).filter(about_paths).map(|held| held.rule.clone()).collect()
    }

    /// Returns the ask rules about paths.
    pub(super) fn questions_of_paths(&self, session: &str) -> Vec<Arc<Rule>> {
        let about_paths = |held: &&Held| held.effect == Effect::Ask && matches!(held.rule.part, Part::Path(..));
        self.read().of(session).filter(about_paths).map(|held| held.rule.clone()).collect()
    }

    /// Forgets a call that has ended.
    pub(super) fn done(&self, run: &RunInfo, call: &ToolCall) {
        self.write().pending.remove(&(run.run_id.clone(), call.id.clone()));
    }

    fn explained(
        &self,
        session: &str,
        folder: &str,
        subject: Result<&Subject, &String>,
        mode: Mode,
        is_unheld: bool,
    ) -> Explanation {
        let state = self.read();
        match subject {
            Ok(subject) => {
                let rules = state.within(session, Some(folder)).collect::<Vec<_>>();
                judge(subject, &rules, Otherwise { is_unheld, ..state.by(mode, session) })
            }
            Err(reason) => refused(reason.clone()),
        }
    }

    /// Returns the folders that rules refer to. The first agent of a session is the one that a person started, because a
    /// subagent is started by a call of its parent.
    pub(super) fn standing(&self, run: &RunInfo) -> Standing {
        let known = self.read().anchors.get(&run.session_id).cloned();
        let anchor = known.unwrap_or_else(|| {
            let mut state = self.write();
            state.anchors.entry(run.session_id.clone()).or_insert_with(|| run.working_directory.clone()).clone()
        });
        let state = self.read();
        Standing {
            folder: run.working_directory.to_string(),
            anchor: anchor.to_string(),
            shell: None,
            home: state.home.clone(),
            refuses_paths: state.refuses_paths(),
            reads: state.about_reading(&run.session_id),
            writable: state.sandbox.as_ref().map(|lift| lift.writable(&run.session_id)).unwrap_or_default(),
        }
    }

    /// Forgets the rules and calls of a session.
    pub(super) fn forget(&self, session: &str) {
        let mut state = self.write();
        state.modes.remove(session);
        state.anchors.remove(session);
        state.rules.retain(|held| !matches!(&held.reach, Reach::Session(of) if **of == *session));
        state.allowing = state.rules.iter().filter(|held| held.effect == Effect::Allow).count();
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a call that was not made.
fn call_of(spec: &ToolSpec, args: &Args) -> ToolCall {
    ToolCall { aliases: spec.aliases.clone(), ..ToolCall::new("", spec.name.clone(), args.clone()) }
}

impl Rule {
    /// Returns whether the rule matches a call made in this folder. It matches as broadly as a deny rule: a call that cannot
    /// be analysed matches.
    ///
    /// May block, because it resolves links.
    pub fn is_about(&self, spec: &ToolSpec, args: &Args, working_directory: &str, home: Option<&str>) -> bool {
        let standing = Standing {
            folder: working_directory.to_owned(),
            anchor: working_directory.to_owned(),
            shell: None,
            home: home.map(str::to_owned),
            refuses_paths: true,
            reads: if matches!(self.part, Part::Path(Access::Read, _)) {
                vec![Arc::new(self.clone())]
            } else {
                Vec::new()
            },
            writable: Vec::new(),
        };
        let subject = Subject::new(&call_of(spec, args), Some(spec), standing);
        subject.map_or(true, |subject| self.hits(&subject))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

impl State {
    fn check(&self, mode: Mode) -> Result<(), NoBypass> {
        if mode == Mode::Bypass && !self.may_bypass { Err(NoBypass) } else { Ok(()) }
    }

    fn of<'s>(&'s self, session: &'s str) -> impl Iterator<Item = &'s Held> {
        self.within(session, self.anchors.get(session).map(|folder| &**folder))
    }

    /// Returns the rules of a session that works in this folder.
    fn within<'s>(&'s self, session: &'s str, folder: Option<&'s str>) -> impl Iterator<Item = &'s Held> {
        let same = move |of: &str| folder == Some(&*self.plain_folder(of));
        self.rules.iter().filter(move |held| match &held.reach {
            Reach::Everywhere => true,
            Reach::Session(of) => **of == *session,
            Reach::Folder(of) => same(of),
        })
    }

    /// Returns the folder of a rule without `~` and without a slash at its end.
    fn plain_folder<'f>(&self, folder: &'f str) -> Cow<'f, str> {
        let whole = match (folder.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => Cow::Owned(format!("{}/{rest}", home.trim_end_matches('/'))),
            _ => Cow::Borrowed(folder),
        };
        match whole.trim_end_matches('/') {
            "" => whole,
            plain => Cow::Owned(plain.to_owned()),
        }
    }

    fn refusals_to_read(&self, session: &str) -> Vec<Arc<Rule>> {
        self.reading(session, |effect| effect == Effect::Deny)
    }

    /// Returns the ask and deny rules about reading.
    fn about_reading(&self, session: &str) -> Vec<Arc<Rule>> {
        self.reading(session, |effect| effect != Effect::Allow)
    }

    fn reading(&self, session: &str, is_wanted: impl Fn(Effect) -> bool) -> Vec<Arc<Rule>> {
        let reads = |held: &&Held| matches!(held.rule.part, Part::Path(Access::Read, _));
        let wanted = self.of(session).filter(|held| is_wanted(held.effect)).filter(reads);
        wanted.map(|held| held.rule.clone()).collect()
    }

    /// Returns whether an ask or deny rule is about paths.
    fn refuses_paths(&self) -> bool {
        self.rules.iter().any(|held| held.effect != Effect::Allow && matches!(held.rule.part, Part::Path(..)))
    }

    /// Returns what decides about calls that no rule matches, if the session is in this mode.
    fn by<'s>(&'s self, mode: Mode, session: &'s str) -> Otherwise<'s> {
        Otherwise { mode, session, lift: self.sandbox.as_ref(), with_network: false, is_unheld: false }
    }

    fn mode_of(&self, session: &str) -> Mode {
        match self.modes.get(session).copied().unwrap_or(self.mode) {
            Mode::Sandboxed if self.sandbox.is_none() => Mode::AcceptEdits,
            mode => mode,
        }
    }
}

/// Returns whether the rule can match a call of this tool.
fn can_hold(rule: &Rule, spec: &ToolSpec) -> bool {
    let called = std::iter::once(&spec.name).chain(spec.aliases.iter()).any(|name| rule.tool.holds(name));
    called
        || match &rule.part {
            Part::All | Part::Path(Access::Named, _) => false,
            Part::Command(_) => has_argument(spec, &["command", "cmd"]),
            Part::Path(Access::Read, _) => spec.read_only,
            Part::Path(Access::Edit, _) => !spec.read_only,
            Part::Host(_) => has_argument(spec, &["url", "urls", "uri"]),
        }
}

/// A denial that no single rule caused.
fn refused(reason: String) -> Explanation {
    Explanation::by(Effect::Deny, reason)
}
