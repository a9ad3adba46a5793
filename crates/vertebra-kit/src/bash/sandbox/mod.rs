//! The sandbox: what holds a command whatever it says.
//!
//! On Linux a command is started through a launcher that takes rights away from itself (Landlock for files, signals and
//! abstract sockets; seccomp for the network and the rest of the kernel; capabilities for a superuser) and becomes the
//! shell. The launcher is this very program, started again: a program that wants the sandbox calls [`launch_if_asked`]
//! first thing in `main`.
//!
//! A program that does not is never started again; its commands run without a sandbox and say so, or do not run if the
//! sandbox is [required](Sandbox::required). What the sandbox stops and what it does not: `docs/sandbox.md`.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod mounts;
mod placeholders;
mod rules;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub(super) use placeholders::Placeholders;
use placeholders::Put;
pub use rules::{DENY_READ, Network, PROTECT, UnixSockets};
use rules::{Protected, Rules, expanded, resolved};
use vertebra::ToolError;

use super::{environment::Variables, place::Places};

/// The name under which a program knows that it is to launch. No file is called that by accident.
const ASKED: &str = "vertebra sandbox: launch";

/// The line a launcher says once the rules hold. Any other says why they do not.
const HELD: &str = "held";

/// How long the rules may be: what one argument of a program may be, with some room.
const RULES_BYTES: usize = 120 * 1024;

/// How a launcher begins that could not mount. Some systems give namespaces and then no rights in them.
const NO_MOUNTS: &str = "no mounts: ";

static CAN_LAUNCH: AtomicBool = AtomicBool::new(false);

/// Makes this program the launcher of its own sandbox. Call it first thing in `main`, before any thread begins.
///
/// In the program that people started it returns at once. In a copy that was started as a launcher it never returns: the
/// process becomes the command.
pub fn launch_if_asked() {
    #[cfg(target_os = "linux")]
    {
        let mut args = std::env::args_os();
        if args.next().is_some_and(|name| name == ASKED) {
            launch::launch(args);
        }
    }
    CAN_LAUNCH.store(true, Ordering::Release);
}

/// Whether commands run in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No command runs without a whole sandbox.
    Required,
    /// Commands run in as much of a sandbox as there is, and say what is missing.
    IfAvailable,
    /// Commands run without.
    Off,
}

/// What holds commands, and what they may reach.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// Whether there has to be one.
    pub need: Need,
    /// The program that launches commands. The program itself, unless set: see [`launch_if_asked`].
    pub launcher: Option<PathBuf>,
    /// Folders that may be written, besides the one that commands belong to and the one for temporary files. `~/` is
    /// the home folder.
    pub write: Vec<PathBuf>,
    /// What may not be read, also if it is not there yet. `~/` is the home folder; relative paths belong to the
    /// commands' folder. [`DENY_READ`], unless set.
    pub deny_read: Vec<PathBuf>,
    /// What may not be written in the commands' folder, also if it is not there yet; relative to it. [`PROTECT`], unless
    /// set. It takes namespaces: where there are none, outputs say so, and a required sandbox is none. The same holds for
    /// a path that is a link: whoever may write the folder may put another in its place.
    pub protect: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: Network,
    /// Whether commands may open Unix sockets by name.
    pub unix_sockets: UnixSockets,
}

impl Default for Sandbox {
    /// A sandbox if there is one, without network.
    fn default() -> Self {
        Self {
            need: Need::IfAvailable,
            launcher: None,
            write: Vec::new(),
            deny_read: DENY_READ.iter().map(PathBuf::from).collect(),
            protect: PROTECT.iter().map(PathBuf::from).collect(),
            network: Network::Off,
            unix_sockets: UnixSockets::Held,
        }
    }
}

impl Sandbox {
    /// No command runs without it.
    pub fn required() -> Self {
        Self { need: Need::Required, ..Self::default() }
    }

    /// Commands run without.
    pub fn off() -> Self {
        Self { need: Need::Off, ..Self::default() }
    }

    /// Folders that may be written besides the commands' own.
    pub(super) fn write_besides(&self, variables: &Variables, folder: &Path) -> Vec<PathBuf> {
        let home = variables.folder("HOME");
        let named = self.write.iter().filter_map(|path| expanded(path, home.as_deref(), folder));
        named.chain([variables.temporary()]).collect()
    }

    /// How a program has to be started to be held; without mounts, if they were tried and there are none.
    pub(super) fn hold(
        &self,
        variables: &Variables,
        places: &Places,
        no_mounts: Option<&str>,
    ) -> Result<Start, ToolError> {
        let (launcher, mut lacking) = match (self.need, self.state()) {
            (Need::Off, _) => return Ok(Start::bare("off".to_owned(), None)),
            (Need::IfAvailable, State::None { why }) => {
                let remark = Some(format!("no sandbox: {why}"));
                return Ok(Start::bare(format!("none: {why}"), remark));
            }
            (Need::Required, State::None { why }) => return Err(refusal(&why)),
            (Need::IfAvailable | Need::Required, State::Some { launcher, lacking }) => (launcher, lacking),
        };
        if places.home().parent().is_none() {
            return Err(ToolError::new(
                "the working directory is `/`, and a sandbox that may write everywhere is none: \
                 set `AgentBuilder::working_directory` or `Bash::in_dir`",
            ));
        }
        let protect = if no_mounts.is_none() { &self.protect[..] } else { &[] };
        let Put { placeholders, protected, links } = Placeholders::put(places.home(), protect);
        lacking.extend(no_mounts.map(|why| format!("writing to what is protected ({why})")));
        lacking
            .extend(links.iter().map(|link| format!("putting another in the place of the link `{}`", link.display())));
        let with_mounts = !protected.is_empty();
        let rules = self.rules(variables, places, protected)?;
        let lacking = lacking.join(", ");
        let (state, remark) = match self.need {
            _ if lacking.is_empty() => ("landlock and seccomp".to_owned(), None),
            Need::Required => return Err(refusal(&format!("it would not hold {lacking}"))),
            Need::IfAvailable | Need::Off => (
                format!("landlock and seccomp without {lacking}"),
                Some(format!("partial sandbox: it does not hold {lacking}")),
            ),
        };
        let placeholders = Arc::new(placeholders);
        Ok(Start { prefix: Some(Prefix { launcher, rules, with_mounts }), placeholders, state, remark })
    }

    fn rules(&self, variables: &Variables, places: &Places, protect: Vec<Protected>) -> Result<OsString, ToolError> {
        let home = variables.folder("HOME");
        let denied = self.deny_read.iter().filter_map(|path| expanded(path, home.as_deref(), places.home()));
        // By the name it has and by the place it leads to.
        let deny_read = denied.flat_map(|path| [resolved(&path), path]).collect();
        let rules = Rules {
            deny_read,
            write: places.writable().cloned().collect(),
            protect,
            network: self.network,
            unix_sockets: self.unix_sockets,
        };
        let text = serde_json::to_string(&rules)
            .map_err(|error| ToolError::new(format!("the sandbox cannot be told its rules: {error}")))?;
        if text.len() > RULES_BYTES {
            let bytes = text.len();
            return Err(ToolError::new(format!(
                "the rules of the sandbox take {bytes} bytes; at most {RULES_BYTES} fit"
            )));
        }
        Ok(text.into())
    }

    #[cfg(target_os = "linux")]
    fn state(&self) -> State {
        let launcher = match &self.launcher {
            Some(launcher) => launcher.clone(),
            // The very program that runs, even if its file was replaced meanwhile.
            None if CAN_LAUNCH.load(Ordering::Acquire) => "/proc/self/exe".into(),
            None => {
                let why = "this program does not call `vertebra_kit::bash::sandbox::launch_if_asked()` in `main`";
                return State::None { why: why.to_owned() };
            }
        };
        match files::lacking() {
            Ok(lacking) => State::Some { launcher, lacking },
            Err(why) => State::None { why },
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn state(&self) -> State {
        State::None { why: "there is none for this system, only for Linux".to_owned() }
    }
}

fn refusal(why: &str) -> ToolError {
    ToolError::new(format!("the command was not run, because a sandbox is required: {why}"))
}

/// What there is to hold commands with.
enum State {
    Some { launcher: PathBuf, lacking: Vec<String> },
    None { why: String },
}

/// How a program is to be started.
pub(super) struct Start {
    prefix: Option<Prefix>,
    /// Kept as long as anything of the command runs.
    pub(super) placeholders: Arc<Placeholders>,
    /// What holds it, in a few words.
    pub(super) state: String,
    /// What whoever reads the output has to know.
    pub(super) remark: Option<String>,
}

struct Prefix {
    launcher: PathBuf,
    rules: OsString,
    with_mounts: bool,
}

impl Start {
    fn bare(state: String, remark: Option<String>) -> Self {
        Self { prefix: None, placeholders: Arc::default(), state, remark }
    }

    /// The command that starts the program.
    pub(super) fn command(&self, program: &Path) -> tokio::process::Command {
        match &self.prefix {
            None => tokio::process::Command::new(program),
            Some(Prefix { launcher, rules, .. }) => {
                let mut command = tokio::process::Command::new(launcher);
                command.arg0(ASKED).arg(rules).arg(program);
                command
            }
        }
    }

    /// Whether a launcher speaks first.
    pub(super) fn is_launched(&self) -> bool {
        self.prefix.is_some()
    }

    /// Why there are no mounts, if the launcher failed for want of them, before anything ran. It is then tried without.
    pub(super) fn lacks_mounts<'w>(&self, word: &'w str) -> Option<&'w str> {
        let asked = self.prefix.as_ref().is_some_and(|prefix| prefix.with_mounts);
        word.strip_prefix(NO_MOUNTS).filter(|_| asked)
    }

    /// Takes the launcher at its word. One that is none does not say that the rules hold.
    pub(super) fn check(&self, word: &str) -> Result<(), ToolError> {
        if self.prefix.is_none() || word == HELD {
            return Ok(());
        }
        let why = if word.is_empty() { "the launcher did not say that it holds" } else { word };
        Err(ToolError::new(format!("the command was not run, because the sandbox failed: {why}")))
    }
}
