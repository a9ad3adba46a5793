//! Judges a shell command before it runs: what it would delete, send, run or change, as far as the text tells.
//!
//! The structure comes from a grammar of bash (`parse`), the words from an evaluator that follows constants
//! (`word`), the meaning of programs from tables (`table`). What is not known before running is asked about. The
//! sandbox is the boundary; this is for early refusals and for questions that name the reason.

mod arith;
mod building;
mod code;
mod decode;
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
mod redirect;
mod rules;
mod scope;
mod simple;
mod table;
mod value;
mod variables;
mod walk;
mod word;

use std::{collections::BTreeSet, fmt, ops::Range};

use serde::Serialize;

pub use guard::BashPolicy;

/// Where a command would run: what is its own, and what is not.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The working folder, absolute. What is in it may be changed.
    pub folder: String,
    /// The folder in which the command begins, absolute. The working folder, unless an earlier command went elsewhere.
    pub here: String,
    /// The home folder, absolute. What is in it belongs to a person.
    pub home: String,
    /// Folders outside of the working folder that may be written.
    pub writable: Vec<String>,
    /// Hosts that data may be sent to. A leading dot stands for all hosts below a domain.
    pub hosts: Vec<String>,
}

impl Ground {
    /// A working folder and a home, with the folders for temporary files writable and this machine as the only host.
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

/// What becomes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is understood, and it is everyday work.
    Allow,
    /// A person should look at it.
    Ask,
    /// It would do harm.
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
        /// A kind of harm, or of doubt.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        impl Class {
            /// The name, as tables and JSON write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }

            /// The class of a name in a table.
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
    /// Deletes folders with what is in them, or files that are not the command's own.
    RecursiveDelete = "recursive_delete",
    /// Takes rights that the agent does not have.
    PrivilegeEscalation = "privilege_escalation",
    /// Sends data to another machine.
    NetworkExfiltration = "network_exfiltration",
    /// Runs what another machine sent.
    RemoteCode = "remote_code",
    /// Harms the machine itself: disks, system files, all processes.
    SystemDestruction = "system_destruction",
    /// Multiplies processes without end.
    ForkBomb = "fork_bomb",
    /// Changes files outside of the working folder, or such that run something later.
    WriteOutside = "write_outside",
    /// Reads what is secret.
    SecretRead = "secret_read",
    /// Is not understood before it runs.
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
    /// How deep it stands.
    pub depth: usize,
    /// What it is: `pipeline`, `command`, `redirection`, …
    pub what: &'static str,
    /// The words, as far as they are known; what is not known is `…`.
    pub text: String,
}

/// What the policy makes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of it.
    pub decision: Decision,
    /// Everything found, not only what decided.
    pub classes: BTreeSet<Class>,
    /// Why, in plain words. Empty when it is allowed.
    pub reason: String,
    /// The bytes of the command that decided, on character boundaries.
    pub span: Option<Range<usize>>,
    /// The parse.
    pub outline: Vec<Line>,
}

/// Judges a command. Pure, and bounded in time and memory for any text: over a limit, the answer is ask.
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
    judge::judge(command, ground)
}
