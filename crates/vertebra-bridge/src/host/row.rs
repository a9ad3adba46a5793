//! What there is to know of an agent's hooks, as data.

use super::Config;

/// An agent of somebody else, as far as its hooks go.
#[derive(Debug)]
pub struct Host {
    /// As `--host` has it.
    pub name: &'static str,
    /// As people call it.
    pub title: &'static str,
    /// What else it is called.
    pub other_names: &'static [&'static str],
    /// What gives it away: one of these, each of which is signs that all hold.
    pub signs: &'static [&'static [Sign]],
    /// Who reads its configuration as well, and is therefore looked for first.
    pub readers: &'static [&'static str],
    /// Where it tells which folder the session began in, the best first.
    pub project: &'static [Source],
    /// Where the name of the event is, as JSON pointers.
    pub event_at: &'static [&'static str],
    /// When it calls hooks.
    pub moments: &'static [Moment],
    /// Its names of tools, and ours.
    pub tools: &'static [(&'static str, &'static str)],
    /// What its tools of MCP servers begin with, where that is not `mcp__`.
    pub mcp_prefix: Option<&'static str>,
    /// What stands between a server and its tool, where nothing else tells a tool of a server from others. It may also stand
    /// in either name.
    pub mcp_between: Option<&'static str>,
    /// If all arguments come as texts, lists as JSON in them: those that are meant as they are.
    pub texts: Option<&'static [&'static str]>,
    /// What it wants to read when there is nothing to say.
    pub quiet: &'static str,
    /// What it does when a hook fails.
    pub failing: &'static str,
    /// Whether it ends a run that hooks keep from ending.
    pub caps_stops: bool,
    /// Where it is told of hooks.
    pub config: Config,
    /// Its programs.
    pub programs: &'static [&'static str],
    /// What a person has to know or do after the installation.
    pub remark: &'static str,
}

/// Something that gives a host away.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// The event has something there.
    Has(&'static str),
    /// The event has a text there.
    HasText(&'static str),
    /// The event has nothing there.
    Lacks(&'static str),
    /// The event is called one of these.
    Event(&'static [&'static str]),
    /// The tool is called one of these.
    Tool(&'static [&'static str]),
    /// There is this variable. Variables are inherited by whatever is started inside, so they count after all else.
    Variable(&'static str),
}

/// Where something is told.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// In the event.
    At(&'static str),
    /// In the environment.
    Variable(&'static str),
}

/// A moment at which a host calls hooks.
#[derive(Debug)]
pub struct Moment {
    /// The host's name of it.
    pub name: &'static str,
    /// Our point.
    pub point: &'static str,
    /// Our fields and where they are: a JSON pointer, or `=` and the value itself.
    pub fields: Fields,
    /// What the host does with an answer.
    pub takes: Takes,
    /// Whether we ask to be called.
    pub installed: bool,
}

/// Our fields, and where they are.
pub type Fields = &'static [(&'static str, &'static str)];

/// What a host does with an answer. Forms are JSON in which `"$reason"`, `"$args"`, `"$context"`, `"$message"`, `"$result"`
/// and `"$event"` stand for what is to be said.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// No.
    pub refusal: Refusal,
    /// A person decides.
    pub ask: Ask,
    /// Nobody needs to be asked.
    pub allow: Option<&'static str>,
    /// Other arguments.
    pub rewrite: Option<Rewrite>,
    /// Something for the model to know.
    pub context: Option<&'static str>,
    /// The end of the run.
    pub stop: Option<&'static str>,
    /// Another result.
    pub result: Option<&'static str>,
    /// Something for the person to know.
    pub message: Option<&'static str>,
}

/// A host that takes no answer.
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

/// How a host takes a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not at all.
    No,
    /// By exit code 2, the reason on stderr, and nothing on stdout.
    Exit2,
    /// In this form.
    Say(&'static str),
}

/// How a host asks a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Not at all.
    No,
    /// It does unless told otherwise.
    Anyway,
    /// In this form.
    Say(&'static str),
    /// For these tools at a later moment, at which we are called again; a `*` ends a beginning.
    Later(&'static [&'static str]),
}

/// How a host takes other arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewrite {
    /// In this form.
    pub form: &'static str,
}

impl Moment {
    /// Whether something is about to end, so that a no keeps it going.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.point, "ShouldContinue" | "SubagentStop")
    }

    /// Whether something is about to happen that a no keeps from happening: then no answer is a no.
    pub fn is_gate(&self) -> bool {
        self.point == "BeforeToolUse" && self.takes.refusal != Refusal::No
    }
}

impl Host {
    /// The moment of this name.
    pub fn moment(&self, name: &str) -> Option<&'static Moment> {
        self.moments.iter().find(|moment| moment.name == name)
    }

    /// Our name of a tool of this host; its own if we have none.
    pub fn our_name<'n>(&self, theirs: &'n str) -> &'n str {
        self.known_name(theirs).unwrap_or(theirs)
    }

    /// Our name of a tool of this host that is known to be one of its own.
    pub(super) fn known_name(&self, theirs: &str) -> Option<&'static str> {
        let known = |table: &[(&'static str, &'static str)]| {
            table.iter().find(|(name, _)| *name == theirs).map(|(_, ours)| *ours)
        };
        let ours = || CLAUDE_TOOLS.iter().map(|(_, ours)| *ours).find(|ours| *ours == theirs);
        known(self.tools).or_else(|| known(CLAUDE_TOOLS)).or_else(ours)
    }
}

/// Our name of a tool that only passes a call on: which tool of which server is meant stands among its arguments.
pub(super) const THROUGH: &str = "mcp__";

/// Claude Code's names of tools, which others use as well, and ours. Of several that are one to us, the usual one is first.
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

/// Shells that run something only if they are not given this instead.
pub(super) const INSTEAD: &[(&str, &str)] = &[("Monitor", "ws")];

/// Claude Code's usual name of a tool of ours.
pub(crate) fn claude_name(ours: &str) -> Option<&'static str> {
    CLAUDE_TOOLS.iter().find(|(_, name)| *name == ours).map(|(theirs, _)| *theirs)
}
