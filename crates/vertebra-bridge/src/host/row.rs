//! Everything about an agent's hooks, as data.

use std::time::Duration;

use super::Config;

/// Another coding agent that can call `vertebra hook`.
#[derive(Debug)]
pub struct Host {
    /// The name for `--host`.
    pub name: &'static str,
    /// The name shown to people.
    pub title: &'static str,
    /// Other names that `--host` accepts.
    pub other_names: &'static [&'static str],
    /// How to detect it: all signs of at least one of these lists must match.
    pub signs: &'static [&'static [Sign]],
    /// Hosts that read its configuration too and are therefore tried first.
    pub readers: &'static [&'static str],
    /// Where to find the folder in which the session started, in order of preference.
    pub project: &'static [Source],
    /// The fields that may contain the name of the event, as JSON pointers.
    pub event_at: &'static [&'static str],
    /// The moments at which it calls hooks.
    pub moments: &'static [Moment],
    /// Its tool names and ours.
    pub tools: &'static [(&'static str, &'static str)],
    /// The prefix of its MCP tools, if it is not `mcp__`.
    pub mcp_prefix: Option<&'static str>,
    /// The separator between an MCP server and its tool, if nothing else marks an MCP tool. Both names may contain it too.
    pub mcp_between: Option<&'static str>,
    /// If the host sends all arguments as strings and lists as JSON strings: the arguments that are plain strings.
    pub texts: Option<&'static [&'static str]>,
    /// The output it expects for an empty answer.
    pub quiet: &'static str,
    /// What it does when a hook fails.
    pub failing: &'static str,
    /// Whether it limits how often hooks can keep a run going.
    pub caps_stops: bool,
    /// How long it waits for a hook that `vertebra install` added. Most hosts let the call pass after that.
    pub waits: Duration,
    /// Where it reads hooks from.
    pub config: Config,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// What a person must know or do after the installation.
    pub remark: &'static str,
}

/// How long most hosts wait, by the entry that is installed.
pub(super) const MINUTE: Duration = Duration::from_mins(1);

/// How long hosts wait that cannot be told how long.
pub(super) const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// The longest time that `vertebra hook` takes for an answer.
const LIMIT: Duration = Duration::from_secs(50);

/// How much earlier than the host gives up the answer is there: starting and ending take time too.
const MARGIN: Duration = Duration::from_secs(5);

impl Host {
    /// How long reading an event and running all hooks may take together, so that the host still waits for the answer.
    pub fn deadline(&self) -> Duration {
        self.waits.saturating_sub(MARGIN).min(LIMIT)
    }
}

/// A sign by which a host is detected.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// The event has a value there.
    Has(&'static str),
    /// The event has a string there.
    HasText(&'static str),
    /// The event has no value there.
    Lacks(&'static str),
    /// The event has one of these names.
    Event(&'static [&'static str]),
    /// The tool has one of these names.
    Tool(&'static [&'static str]),
    /// This environment variable is set. Child processes inherit variables, so this is the weakest sign.
    Variable(&'static str),
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// The event, as a JSON pointer.
    At(&'static str),
    /// An environment variable.
    Variable(&'static str),
}

/// A moment at which a host calls hooks.
#[derive(Debug)]
pub struct Moment {
    /// The host's name for it.
    pub name: &'static str,
    /// Our point.
    pub point: &'static str,
    /// Our fields and their sources: a JSON pointer, or `=` and a fixed value.
    pub fields: Fields,
    /// The answers that the host accepts.
    pub takes: Takes,
    /// Whether `vertebra install` adds an entry for it.
    pub installed: bool,
}

/// Our fields and their sources.
pub type Fields = &'static [(&'static str, &'static str)];

/// The answers that a host accepts. Forms are JSON in which `"$reason"`, `"$args"`, `"$context"`, `"$message"`, `"$result"`
/// and `"$event"` are placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// A denial.
    pub refusal: Refusal,
    /// A question to a person.
    pub ask: Ask,
    /// A permission without a question.
    pub allow: Option<&'static str>,
    /// Rewritten arguments.
    pub rewrite: Option<Rewrite>,
    /// Context for the model.
    pub context: Option<&'static str>,
    /// A stop of the run.
    pub stop: Option<&'static str>,
    /// A replaced result.
    pub result: Option<&'static str>,
    /// A message for the person.
    pub message: Option<&'static str>,
}

/// No answers are accepted.
pub const NOTHING: Takes = Takes {
    refusal: Refusal::No,
    ask: Ask::No,
    allow: None,
    rewrite: None,
    context: None,
    stop: None,
    result: None,
    message: None,
};

/// How a host accepts a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not at all.
    No,
    /// Exit code 2, the reason on stderr, and nothing on stdout.
    Exit2,
    /// In this form.
    Say(&'static str),
}

/// How a host asks a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Not at all.
    No,
    /// It asks unless an answer says otherwise.
    Anyway,
    /// In this form.
    Say(&'static str),
    /// For these tools, at a later moment at which our hook is called again. A trailing `*` matches any ending.
    Later(&'static [&'static str]),
}

/// How a host accepts rewritten arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewrite {
    /// In this form.
    pub form: &'static str,
}

impl Moment {
    /// Returns whether a run is about to end, so that a denial would keep it going.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.point, "ShouldContinue" | "SubagentStop")
    }

    /// Returns whether a denial prevents the action at this moment. If so, a missing answer counts as a denial.
    pub fn is_gate(&self) -> bool {
        self.point == "BeforeToolUse" && self.takes.refusal != Refusal::No
    }
}

impl Host {
    /// Returns the moment with this name.
    pub fn moment(&self, name: &str) -> Option<&'static Moment> {
        self.moments.iter().find(|moment| moment.name == name)
    }

    /// Returns our name for a tool of this host, or the host's own name if we have none.
    pub fn our_name<'n>(&self, theirs: &'n str) -> &'n str {
        self.known_name(theirs).unwrap_or(theirs)
    }

    /// Returns our name for a tool that is known to be one of the host's own.
    pub(super) fn known_name(&self, theirs: &str) -> Option<&'static str> {
        let found = |is_it: &dyn Fn(&str) -> bool| {
            let named = self.tools.iter().chain(CLAUDE_TOOLS);
            let ours = CLAUDE_TOOLS.iter().map(|(_, ours)| (*ours, *ours));
            named.copied().chain(ours).find(|(name, _)| is_it(name)).map(|(_, ours)| ours)
        };
        found(&|name| name == theirs).or_else(|| found(&|name| name.eq_ignore_ascii_case(theirs)))
    }
}

/// Our name for a tool that only forwards a call. Its arguments name the server and the tool.
pub(super) const THROUGH: &str = "mcp__";

/// Claude Code's tool names, which other hosts use as well, and ours. If several names map to one of ours, the usual one is
/// first.
const CLAUDE_TOOLS: &[(&str, &str)] = &[
    ("Bash", "bash"),
    ("PowerShell", "bash"),
    ("Monitor", "bash"),
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("NotebookEdit", "edit_file"),
    ("LS", "list_dir"),
    ("Glob", "search_files"),
    ("Grep", "grep"),
    ("Agent", "spawn_subagent"),
    ("Task", "spawn_subagent"),
    ("Skill", "load_skill"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
];

/// Shell tools that run no command if they get this argument instead.
pub(super) const INSTEAD: &[(&str, &str)] = &[("Monitor", "ws")];

/// Returns Claude Code's tool names and ours.
pub(crate) fn claude_tools() -> &'static [(&'static str, &'static str)] {
    CLAUDE_TOOLS
}

/// Returns Claude Code's usual name for one of our tools.
pub(crate) fn claude_name(ours: &str) -> Option<&'static str> {
    CLAUDE_TOOLS.iter().find(|(_, name)| *name == ours).map(|(theirs, _)| *theirs)
}
