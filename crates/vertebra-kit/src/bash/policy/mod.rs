//! Judges a shell command before it runs: what it would delete, send, run or change, as far as the text shows.
//!
//! A bash grammar (`parse`) gives the structure, an evaluator of constants (`word`) gives the words, and tables (`table`) give
//! the meaning of programs. A command with parts that are only known at run time needs a person's approval. The sandbox is the
//! boundary; this policy gives early denials, and questions with a reason.

mod arith;
mod budget;
mod building;
mod chain;
mod code;
#[cfg(test)]
mod cost;
mod decode;
mod deletes;
mod expansion;
mod fields;
mod guard;
mod invoke;
mod judge;
mod lex;
mod options;
mod parse;
mod places;
mod produce;
mod reading;
mod redirect;
mod rules;
mod scope;
mod shown;
mod simple;
mod table;
mod value;
mod variables;
mod walk;
mod word;

use std::{collections::BTreeSet, fmt, ops::Range, sync::Arc};

use serde::Serialize;
use tokio::{runtime::Handle, task::spawn_blocking};
use vertebra::{Clock, SystemClock};

pub use guard::BashPolicy;
pub use reading::{does_more, only_reads};
pub(crate) use rules::is_dry_run;
pub(crate) use shown::{Sure, may_show, shown_by};

/// The place where a command would run: the folders that it may change and the hosts that it may reach.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The working folder, as an absolute path. A command may change its content.
    pub folder: String,
    /// The folder in which the command starts, as an absolute path. This is the working folder, unless an earlier command
    /// changed folders.
    pub here: String,
    /// The home folder, as an absolute path. Its content belongs to a person.
    pub home: String,
    /// Folders outside the working folder that a command may write to.
    pub writable: Vec<String>,
    /// Hosts to which a command may send data. A leading dot matches all hosts of a domain.
    pub hosts: Vec<String>,
}

impl Ground {
    /// Creates a ground from a working folder and a home folder. Temporary folders are writable, and this machine is the only
    /// host.
    pub fn new(folder: impl Into<String>, home: impl Into<String>) -> Self {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let folder = folder.into();
        Self {
            here: folder.clone(),
            folder,
            home: home.into(),
            writable: texts(&["/tmp", "/var/tmp", "/dev/shm"]),
            hosts: texts(&["localhost", "127.0.0.1", "::1", "0.0.0.0"]),
        }
    }
}

/// The decision on a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The command is understood and harmless.
    Allow,
    /// A person must approve the command.
    Ask,
    /// The command would do harm.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// A class of risk.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        impl Class {
            /// Returns the name that tables and JSON use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }

            /// Returns the class with this name.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$class),)*
                    _ => None,
                }
            }
        }
    };
}

classes! {
    /// Deletes folders with their content, or files outside the working folder.
    RecursiveDelete = "recursive_delete",
    /// Gains rights that the agent does not have.
    PrivilegeEscalation = "privilege_escalation",
    /// Sends data to another machine.
    NetworkExfiltration = "network_exfiltration",
    /// Runs code downloaded from the network.
    RemoteCode = "remote_code",
    /// Harms the machine: disks, system files, all processes.
    SystemDestruction = "system_destruction",
    /// Starts processes without end.
    ForkBomb = "fork_bomb",
    /// Changes files outside the working folder, or files that run something later.
    WriteOutside = "write_outside",
    /// Reads secrets.
    SecretRead = "secret_read",
    /// Answers for a person, or changes the policy of the agent itself.
    OwnPolicy = "own_policy",
    /// Cannot be analysed before it runs.
    Unknown = "unknown",
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line of the parse, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The depth of the line in the tree.
    pub depth: usize,
    /// The kind of line: `pipeline`, `command`, `redirection`, …
    pub what: &'static str,
    /// The words. Unknown parts are shown as `…`.
    pub text: String,
}

/// The judgement of the policy on a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The decision.
    pub decision: Decision,
    /// All classes that were found, not only the one that decided.
    pub classes: BTreeSet<Class>,
    /// The reason in plain words. Empty if the command is allowed.
    pub reason: String,
    /// The range of bytes that decided, on character boundaries.
    pub span: Option<Range<usize>>,
    /// The parse.
    pub outline: Vec<Line>,
}

/// Judges a command. Time and memory are bounded for any text: a command that is too complex to judge is denied.
///
/// ```
/// use vertebra_kit::bash::policy::{Decision, Ground, judge};
///
/// let ground = Ground::new("/home/me/project", "/home/me");
/// assert_eq!(judge("cargo test && git status", &ground).decision, Decision::Allow);
/// let harm = judge("cd .. && r''m -rf ~/photos", &ground);
/// assert_eq!(harm.decision, Decision::Deny);
/// assert_eq!(harm.span, Some(9..26));
/// ```
pub fn judge(command: &str, ground: &Ground) -> Judgement {
    judge_by(&SystemClock::default(), command, ground)
}

/// Judges a command by a clock that tells when a judgement takes too long.
pub fn judge_by(clock: &dyn Clock, command: &str, ground: &Ground) -> Judgement {
    judge::judge(command, ground, clock)
}

/// Returns the git commands of a command as far as they are known: the folder of each, and its words after `git`.
pub(crate) fn git_commands(command: &str, ground: &Ground) -> Vec<(String, Vec<String>)> {
    judge::follow(command, ground, &SystemClock::default()).git_commands
}

/// Returns the protected paths of the working folder that a command changes, as far as they are known. None of a command that
/// takes long to follow.
pub(crate) fn protected_changes(command: &str, ground: &Ground) -> Vec<String> {
    judge::protected(command, ground, &SystemClock::default())
}

/// Returns whether a word names a command of the shell itself, such as `cd` or `set`, and no program.
pub fn is_builtin(word: &str) -> bool {
    const OTHERS: &[&str] = &[
        ":", "break", "continue", "exec", "exit", "false", "fg", "bg", "jobs", "kill", "pwd", "return", "shopt",
        "times", "true", "type", "ulimit", "umask",
    ];
    rules::SHELL.contains(&word) || OTHERS.contains(&word)
}

/// Returns whether the text of a script, in any language, answers for a person (a denial) or changes the policy of the agent
/// that runs it (a question), by the words in it.
pub fn judge_script(text: &str) -> Option<(Decision, &'static str)> {
    rules::own::in_text(text)
}

/// Judges a command without holding up other tasks of the runtime: one that takes more than a moment is judged on a thread
/// for blocking work.
pub async fn judge_aside(clock: &Arc<dyn Clock>, command: &str, ground: &Ground) -> Judgement {
    if let Some(judgement) = judge::quick(command, ground, &**clock) {
        return judgement;
    }
    if Handle::try_current().is_err() {
        return judge_by(&**clock, command, ground);
    }
    let (clock, command, ground) = (clock.clone(), command.to_owned(), ground.clone());
    match spawn_blocking(move || judge_by(&*clock, &command, &ground)).await {
        Ok(judgement) => judgement,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime shuts down.
        Err(_) => Judgement {
            decision: Decision::Deny,
            classes: BTreeSet::from([Class::Unknown]),
            reason: "the command could not be judged: the program is shutting down".to_owned(),
            span: None,
            outline: Vec::new(),
        },
    }
}
