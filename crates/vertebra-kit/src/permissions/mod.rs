//! Rules, modes and people: who may do what.
//!
//! Rules are written in the syntax people know from other agents (`Bash(git *)`, `Read(src/**)`, `mcp__server`), and say
//! allow, ask or deny. A deny is stronger than an ask, an ask than an allow, whoever said it; a [`Mode`] decides about
//! what no rule is about. `docs/permissions.md` has all of it.
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
//! Rules compare text, after it was brought into one form. They are the first fence: what a tool can open at all is up
//! to the tool, and what a command can do is up to its sandbox.

mod command;
mod file;
mod host;
mod judge;
mod names;
mod path;
mod question;
mod reads;
mod results;
mod rule;
mod rules;
mod subject;
mod suggest;
mod terminal;

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use vertebra::{Ran, Record, prelude::*};

pub(crate) use self::{
    command::CommandPattern,
    rule::{NamePattern, named},
};
pub use self::{
    file::FileError,
    judge::{Explanation, Listed},
    question::{NotTaken, Question, Reply},
    rule::{Effect, Rule, RuleError},
    rules::{For, LearnError, Mode, NoBypass, Rules},
    terminal::TerminalApprover,
};
use self::{file::RuleFile, reads::Reads, subject::Subject};
use crate::denied;

/// Who gave rules that the program itself has.
const PROGRAM: &str = "the program";

/// The hook that says yes where a rule or a mode does.
const ALLOW: &str = "permissions/allow";

/// Rules as a configuration has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleTexts {
    /// What is done without a question.
    pub allow: Vec<String>,
    /// What a person is asked about, each time.
    pub ask: Vec<String>,
    /// What is never done.
    pub deny: Vec<String>,
}

/// Why permissions cannot be made of what was given.
#[derive(Debug, thiserror::Error)]
pub enum PermissionsError {
    /// A rule cannot be used.
    #[error("{error} (from {source_name})")]
    Rule {
        /// Where it stands.
        source_name: Arc<str>,
        /// What is wrong.
        error: LearnError,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Questions cannot be bypassed.
    #[error(transparent)]
    Bypass(#[from] NoBypass),
}

/// Who may do what: rules, and a mode for what no rule is about.
///
/// Every call passes the hook `permissions/allow`, which gives an explicit yes where a rule, [`Mode::AcceptEdits`] or
/// [`Mode::Bypass`] does, so that guards of other capabilities need not ask; and the guard `permissions/rules`, which
/// judges the final form of the call and refuses or asks. What another guard denies stays denied.
///
/// What may not be read is noted by `permissions/reads`, and the sandbox of [`Bash`](crate::bash::Bash) hides it. What a
/// search of a whole folder finds there is left out of its result by `permissions/results`.
#[derive(Debug, Default)]
pub struct Permissions {
    rules: Rules,
}

impl Permissions {
    /// Permissions that ask nobody: whatever no rule denies or asks about is done.
    ///
    /// For machines that can be thrown away. This is the only way to [`Mode::Bypass`].
    pub fn bypassing_questions() -> Self {
        Self { rules: Rules::bypassing() }
    }

    /// Begins in this mode. It can be [`Mode::Bypass`] only if [`bypassing_questions`](Self::bypassing_questions) said so.
    pub fn mode(self, mode: Mode) -> Result<Self, NoBypass> {
        self.rules.begin_in(mode)?;
        Ok(self)
    }

    /// Allows what the rule is about.
    pub fn allow(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Allow, rule)
    }

    /// Asks a person about what the rule is about, whatever else is allowed.
    pub fn ask(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Ask, rule)
    }

    /// Denies what the rule is about, whatever else is allowed.
    pub fn deny(self, rule: &str) -> Result<Self, PermissionsError> {
        self.add(&PROGRAM.into(), Effect::Deny, rule)
    }

    /// Adds rules of this source, which is named wherever one of them decides: `user settings`.
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

    /// Adds the rules and the mode of a TOML file, and lets people add to it. No tool may: a rule against that comes
    /// with it. A file that is not there has no rules yet.
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, PermissionsError> {
        let file = RuleFile::new(path.as_ref())?;
        let contents = file.read()?;
        if let Some(mode) = contents.mode {
            self.rules.begin_in(mode)?;
        }
        for (effect, rule) in contents.rules {
            self = self.add(&file.source(), effect, rule.text())?;
        }
        let itself = format!("Edit({})", globset::escape(&file.source()));
        self = self.add(&"the permissions themselves".into(), Effect::Deny, &itself)?;
        self.rules.learn_to(file);
        Ok(self)
    }

    /// The home that `~` stands for; unless told, that of whoever runs the program.
    #[must_use]
    pub fn home(self, path: impl Into<String>) -> Self {
        self.rules.set_home(path.into());
        self
    }

    /// A handle to the rules: to list them, to explain, to learn, to change the mode.
    pub fn rules(&self) -> Rules {
        self.rules.clone()
    }

    fn add(self, source: &Arc<str>, effect: Effect, rule: &str) -> Result<Self, PermissionsError> {
        let added = self.rules.add(effect, rule, source.clone(), None);
        added.map_err(|error| PermissionsError::Rule { source_name: source.clone(), error })?;
        Ok(self)
    }
}

impl Capability for Permissions {
    fn install(self, kit: &mut Kit) {
        let rules = self.rules;
        kit.add_hook(BeforeToolUse, Reads(rules.clone())).named(denied::HOOK).priority(-1000);
        let judge = Arc::new(Judge(rules.clone()));
        // Last of the hooks, so that what it allows is what goes on; if not, the guard asks all the same.
        kit.add_hook(BeforeToolUse, judge.clone()).named(ALLOW).priority(1000).fail_open();
        kit.add_guard(BeforeToolUse, judge).named("permissions/rules").priority(5);
        let known = rules.clone();
        kit.watch(SessionStart, async move |cx| {
            let tools: Vec<_> = cx.scope().tools().map(|tool| tool.spec()).collect();
            for rule in known.unmatched(&tools) {
                tracing::warn!("{rule}");
            }
            Ok(())
        })
        .named("permissions/unmatched");
        let searching = rules.clone();
        kit.on(AfterToolUse, async move |cx| {
            if let Some(rest) = searching.without_refused(&cx.at.run, &cx.call, &cx.result.output) {
                cx.result.output = rest;
            }
            proceed()
        })
        .named("permissions/results");
        let asked = rules.clone();
        kit.watch(AfterToolUse, async move |cx| {
            asked.done(&cx.at.run, &cx.call);
            Ok(())
        })
        .named("permissions/done");
        kit.watch(SessionEnd, async move |cx| {
            rules.forget(&cx.at.run.session_id);
            Ok(())
        })
        .named("permissions/forget");
    }
}

/// Applies the rules to calls.
struct Judge(Rules);

impl Judge {
    async fn judge(&self, cx: &ToolCx<'_>, look: Look) -> Result<Explanation, HookError> {
        let mut standing = self.0.standing(&cx.at.run);
        standing.shell = crate::bash::here(cx);
        let kept = if look == Look::Again { self.0.kept(&cx.at.run, &cx.call, &standing) } else { None };
        let subject = if let Some(subject) = kept {
            Ok(subject)
        } else {
            let (call, spec, standing) = (cx.call.clone(), cx.scope().tool_spec(&cx.tool).cloned(), standing.clone());
            // Links are followed on a thread where waiting for a disk hurts nobody.
            let subject = tokio::task::spawn_blocking(move || Subject::new(&call, spec.as_ref(), standing)).await?;
            subject.map(Arc::new)
        };
        Ok(self.0.judge(&cx.at.run, &cx.call, standing, subject))
    }
}

/// Whether a call is looked at for the first time, or once more, when most are still what they were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    First,
    Again,
}

impl Hook<BeforeToolUse> for Judge {
    async fn run(&self, cx: &mut ToolCx<'_>) -> Answer<BeforeToolUse> {
        match self.judge(cx, Look::First).await?.effect {
            Some(Effect::Allow) => allow(),
            Some(Effect::Ask | Effect::Deny) | None => proceed(),
        }
    }
}

impl Guard<BeforeToolUse> for Judge {
    async fn check(&self, cx: &ToolCx<'_>) -> Answer<BeforeToolUse> {
        let told = self.judge(cx, Look::Again).await?;
        match told.effect {
            Some(Effect::Deny) => deny(told.reason),
            Some(Effect::Ask) if told.is_open_question() && allowed_by_another(cx.record()) => proceed(),
            Some(Effect::Ask) => ask(told.reason),
            Some(Effect::Allow) | None => proceed(),
        }
    }
}

/// Whether another hook said yes to the call as it is now. A yes to what a later hook changed counts for nothing, and
/// neither does our own: the guard knows better by now.
fn allowed_by_another(record: &Record) -> bool {
    let mut allowed = false;
    for trace in &record.hooks {
        // What may not be read is noted, and changes nothing of the call.
        allowed &= trace.changes.is_empty() || &*trace.hook == denied::HOOK;
        allowed |= matches!(trace.ran, Ran::Answered { verdict: Kind::Allow, .. }) && &*trace.hook != ALLOW;
    }
    allowed
}
