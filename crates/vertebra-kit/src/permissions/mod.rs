//! Permission rules: which tool calls are allowed, denied, or need a person's approval.
//!
//! Rules use the syntax of other coding agents (`Bash(git *)`, `Read(src/**)`, `mcp__server`) and say allow, ask or deny.
//! Deny is stronger than ask, and ask is stronger than allow, whatever their source. A [`Mode`] decides about calls that no
//! rule matches. See `docs/permissions.md`.
//!
//! ```
//! use vertebra::{prelude::*, testing::Script};
//! use vertebra_kit::permissions::Permissions;
//!
//! let permissions = Permissions::default().allow("Bash(git *)")?.deny("Read(**/.env)")?;
//! let rules = permissions.rules();
//! let agent = Agent::builder(Script::new()).with(permissions).build()?;
//! assert_eq!(rules.list().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules match on normalised text. They are the first line of defence; the sandbox is the boundary.

mod analysed;
mod by_git;
mod combed;
mod command;
mod fetches;
mod file;
mod git;
mod host;
mod interpreters;
mod judge;
mod learn;
mod mentions;
mod mode;
mod names;
pub(crate) mod opened;
mod patch;
mod path;
mod programs;
mod question;
mod reads;
mod results;
mod rule;
mod rules;
mod subject;
mod suggest;
mod terminal;
mod unpacked;

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use vertebra::{Kind, Ran, Record, prelude::*};

use self::{analysed::Analysed, file::RuleFile, judge::Reach, reads::Reads, subject::Subject};
pub(crate) use self::{
    command::CommandPattern,
    fetches::fetched_by,
    git::{copies as git_copies, may_write as git_may_write, new_worktree, written as written_by_git},
    names::{found as expanded, is_pattern},
    rule::{NamePattern, named},
};
pub use self::{
    file::FileError,
    judge::{Explanation, Listed},
    learn::{For, LearnError},
    mode::{Mode, NoBypass},
    question::{Choice, NotTaken, Question, Reply},
    rule::{Effect, Rule, RuleError},
    rules::Rules,
    terminal::TerminalApprover,
};
use crate::{bash, denied};

/// The source of the rule that denies tools to edit the file of the rules.
const ITSELF: &str = "the permissions themselves";

/// The source of rules that the program adds.
const PROGRAM: &str = "the program";

/// The hook that allows calls where a rule or a mode does.
const ALLOW: &str = "permissions/allow";

/// Rules as written in a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleTexts {
    /// Calls that are allowed without a question.
    pub allow: Vec<String>,
    /// Calls that need approval each time.
    pub ask: Vec<String>,
    /// Calls that are never allowed.
    pub deny: Vec<String>,
}

/// Why permissions cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionsError {
    /// A rule is invalid.
    #[error("{error} (from {source_name})")]
    Rule {
        /// Where the rule comes from.
        source_name: Arc<str>,
        /// What is wrong with it.
        error: LearnError,
    },
    /// A rule names a tool that does not exist.
    #[error("{message} (from {source_name})")]
    Tool {
        /// Where the rule comes from.
        source_name: Arc<str>,
        /// What is wrong with it, and what to write instead.
        message: String,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Bypass mode is not available.
    #[error(transparent)]
    Bypass(#[from] NoBypass),
}

/// A capability that applies permission rules, and a mode for calls that no rule matches.
///
/// The hook `permissions/allow` explicitly allows a call if a rule or the mode does, so that guards of other capabilities need not ask. The guard `permissions/rules` judges the final form of the call and denies it
/// or asks. It never overrides a denial of another guard.
///
/// The hook `permissions/reads` finds the paths that must not be read, and the sandbox of [`Bash`](crate::bash::Bash) hides
/// them. The hook `permissions/results` removes them from the results of a search.
#[derive(Debug, Default)]
pub struct Permissions {
    rules: Rules,
}

impl Permissions {
    /// Creates permissions that never ask: every call that no rule denies or asks about is allowed.
    ///
    /// Use it only on disposable machines. It is the only way to [`Mode::Bypass`].
    pub fn bypassing_questions() -> Self {
        Self { rules: Rules::bypassing() }
    }

    /// Sets the initial mode. [`Mode::Bypass`] needs [`bypassing_questions`](Self::bypassing_questions).
    pub fn mode(self, mode: Mode) -> Result<Self, NoBypass> {
        self.rules.begin_in(mode)?;
        Ok(self)
    }

    /// Holds the mode: no question offers to accept all edits, and front ends offer no other mode. For settings that an
    /// administrator made.
    #[must_use]
    pub fn hold_mode(self) -> Self {
        self.rules.hold_mode();
        self
    }

    /// Allows the calls that the rule matches.
    pub fn allow(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Allow, rule)
    }

    /// Asks a person about the calls that the rule matches, even if another rule allows them.
    pub fn ask(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Ask, rule)
    }

    /// Denies the calls that the rule matches, even if another rule allows them.
    pub fn deny(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Deny, rule)
    }

    /// Adds rules of this source, such as `user settings`. Decisions name the source.
    pub fn texts(mut self, source: &str, texts: &RuleTexts) -> Result<Self, PermissionsError> {
        let source: Arc<str> = source.into();
        let RuleTexts { allow, ask, deny } = texts;
        for (effect, rules) in [(Effect::Allow, allow), (Effect::Ask, ask), (Effect::Deny, deny)] {
            for rule in rules {
                self = self.add(&source, effect, rule)?;
            }
        }
        Ok(self)
    }

    /// Allows what a rule matches in sessions that work in this folder: an absolute path, or one that starts with `~/`.
    pub fn allow_in(self, folder: &str, source: &str, rule: &str) -> Result<Self, PermissionsError> {
        self.add_for(&source.into(), Effect::Allow, rule, Reach::Folder(folder.into()))
    }

    /// Adds the rules and the mode of a TOML file, and saves rules to it as [`saved_to`](Self::saved_to) does. A missing file
    /// has no rules.
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, PermissionsError> {
        let file = RuleFile::new(path.as_ref())?;
        let contents = file.read()?;
        if let Some(mode) = contents.mode {
            self.rules.begin_in(mode)?;
        }
        for (effect, rule) in contents.rules {
            self = self.add(&file.source(), effect, rule.text())?;
        }
        for (folder, rule) in contents.in_folders {
            self = self.allow_in(&folder, &file.source(), rule.text())?;
        }
        self.saved_to(path)
    }

    /// Lets people add rules to a TOML file while they are asked. The rules of the file are not read: use
    /// [`file`](Self::file) for that. A built-in rule denies tools to edit it.
    pub fn saved_to(mut self, path: impl AsRef<Path>) -> Result<Self, PermissionsError> {
        let file = RuleFile::new(path.as_ref())?;
        let itself = format!("Edit({})", globset::escape(&file.source()));
        self = self.add(&ITSELF.into(), Effect::Deny, &itself)?;
        self.rules.learn_to(file);
        Ok(self)
    }

    /// Sets the home folder for `~`. The default is that of the user who runs the program.
    #[must_use]
    pub fn home(self, path: impl Into<String>) -> Self {
        self.rules.set_home(path.into());
        self
    }

    /// Returns a handle to list, explain and add rules and to change the mode.
    pub fn rules(&self) -> Rules {
        self.rules.clone()
    }

    fn add(self, source: &Arc<str>, effect: Effect, rule: &str) -> Result<Self, PermissionsError> {
        self.add_for(source, effect, rule, Reach::Everywhere)
    }

    fn add_for(self, source: &Arc<str>, effect: Effect, rule: &str, reach: Reach) -> Result<Self, PermissionsError> {
        let added = self.rules.add(effect, rule, source.clone(), reach);
        added.map_err(|error| PermissionsError::Rule { source_name: source.clone(), error })?;
        Ok(self)
    }
}

impl Capability for Permissions {
    fn install(self, kit: &mut Kit) {
        let rules = self.rules;
        let analysed = Arc::<Analysed>::default();
        let reads = Reads::new(rules.clone(), analysed.clone());
        kit.add_hook(BeforeToolUse.named(denied::HOOK).priority(-1000), reads);
        let judge = Arc::new(Judge(rules.clone(), analysed));
        // The last hook, so that it allows the final form of the call. If a later one changes the call, the guard asks.
        kit.add_hook(BeforeToolUse.named(ALLOW).priority(1000).fail_open(), judge.clone());
        kit.add_guard(BeforeToolUse.named("permissions/rules").priority(5), judge);
        let known = rules.clone();
        kit.watch(SessionStart.named("permissions/unmatched"), async move |cx| {
            let tools: Vec<_> = cx.scope().tools().map(|tool| tool.spec()).collect();
            for rule in known.unmatched(&tools) {
                tracing::warn!("{rule}");
            }
            Ok(())
        });
        let searching = rules.clone();
        kit.on(AfterToolUse.named("permissions/results"), async move |cx| {
            if let Some(rest) = searching.without_refused(&cx.at.run, &cx.call, &cx.result.output) {
                cx.result.output = rest;
            }
            proceed()
        });
        let asked = rules.clone();
        kit.watch(AfterToolUse.named("permissions/done"), async move |cx| {
            asked.done(&cx.at.run, &cx.call);
            Ok(())
        });
        kit.watch(SessionEnd.named("permissions/forget"), async move |cx| {
            rules.forget(&cx.at.run.session_id);
            Ok(())
        });
    }
}

/// Judges calls by the rules.
struct Judge(Rules, Arc<Analysed>);

impl Judge {
    async fn judge(&self, cx: &ToolCx<'_>, look: Look) -> Result<(Explanation, Mode), HookError> {
        let mut standing = self.0.standing(&cx.at.run);
        standing.shell = crate::bash::here(cx);
        let kept = match look {
            Look::First => self.1.take(&cx.at.run, &cx.call, &standing),
            Look::Again => self.0.kept(&cx.at.run, &cx.call, &standing),
        };
        let subject = if let Some(subject) = kept {
            Ok(subject)
        } else {
            let (call, spec, standing) = (cx.call.clone(), cx.scope().tool_spec(&cx.tool).cloned(), standing.clone());
            // Resolving links may block on the disk.
            let subject = tokio::task::spawn_blocking(move || Subject::new(&call, spec.as_ref(), standing)).await?;
            subject.map(Arc::new)
        };
        Ok(self.0.judge(&cx.at.run, &cx.call, standing, subject, look))
    }

    /// Notes the mode in which a call is judged, if it is another one than before: a replay judges in the same.
    fn note(&self, cx: &mut ToolCx<'_>, mode: Mode) {
        let noted = cx.state().metadata().get(mode::NOTED).and_then(|noted| Mode::deserialize(noted).ok());
        if noted.unwrap_or_else(|| self.0.mode("")) != mode {
            cx.state_mut().metadata_mut().set(mode::NOTED, serde_json::to_value(mode).unwrap_or_default());
        }
    }
}

/// Whether a call is judged for the first time or again. Most calls are unchanged the second time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    First,
    Again,
}

impl Hook<BeforeToolUse> for Judge {
    async fn run(&self, cx: &mut ToolCx<'_>) -> Answer<BeforeToolUse> {
        let (told, mode) = self.judge(cx, Look::First).await?;
        self.note(cx, mode);
        if told.needs_sandbox {
            let call = cx.call.id.clone();
            bash::require_sandbox(cx.state_mut(), &call);
        }
        match told.effect {
            Some(Effect::Allow) => allow(),
            Some(Effect::Ask | Effect::Deny) | None => proceed(),
        }
    }
}

impl Guard<BeforeToolUse> for Judge {
    async fn check(&self, cx: &ToolCx<'_>) -> Answer<BeforeToolUse> {
        let (told, _) = self.judge(cx, Look::Again).await?;
        match told.effect {
            Some(Effect::Deny) => deny(told.reason),
            Some(Effect::Ask) if told.is_open_question() && allowed_by_another(&cx.record().to_record()) => proceed(),
            Some(Effect::Ask) => ask(told.reason),
            Some(Effect::Allow) if told.needs_sandbox && !bash::is_sandbox_required(cx.state(), &cx.call.id) => {
                ask("the sandbox could not be made a condition of this command")
            }
            Some(Effect::Allow) | None => proceed(),
        }
    }
}

/// Returns whether another hook allowed the call in its current form. An allow before a later change does not count, nor
/// does that of `permissions/allow`.
fn allowed_by_another(record: &Record) -> bool {
    let mut allowed = false;
    for trace in &record.hooks {
        // The notes about denied paths and the mode do not change the call.
        allowed &= trace.changes.is_empty() || matches!(&*trace.hook, denied::HOOK | ALLOW);
        allowed |= matches!(trace.ran, Ran::Answered { verdict: Kind::Allow, .. }) && &*trace.hook != ALLOW;
    }
    allowed
}
