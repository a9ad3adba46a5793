//! The sandbox: what holds a command whatever it says.
//!
//! On Linux a command is started through a launcher that takes rights away from itself (Landlock for files, signals and
//! abstract sockets; seccomp for the network and the rest of the kernel; capabilities for a superuser) and becomes the
//! shell. The launcher is this very program, started again: a program that wants the sandbox calls [`launch_if_asked`]
//! first thing in `main`. Where the system gives it no namespaces, or the kernel has no Landlock, it becomes bubblewrap
//! first, if there is one: see [`Engine`].
//!
//! A program that does not is never started again; its commands run without a sandbox and say so, or do not run if the
//! sandbox is [required](Sandbox::required). What the sandbox stops and what it does not: `docs/sandbox.md`.

#[cfg(target_os = "linux")]
mod attended;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod calls;
mod engine;
#[cfg(target_os = "linux")]
mod files;
mod handover;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod minder;
#[cfg(target_os = "linux")]
mod mounts;
mod network;
mod private;
mod refusal;
mod rules;
#[cfg(target_os = "linux")]
mod space;
mod start;
#[cfg(target_os = "linux")]
mod supervise;

use std::{
    collections::BTreeSet,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use vertebra::ToolError;

#[cfg(target_os = "linux")]
use self::files::lacking;
pub use self::{
    engine::Engine,
    network::{Domain, Network, NetworkAccess, NotADomain, NotANetwork, Opened},
    rules::{DENY_READ, UnixSockets},
};
pub(super) use self::{
    engine::Tried,
    handover::{PATIENCE, give},
    private::{Networks, Private},
    refusal::{Refusal, SignalRequest},
    rules::{Folder, Layers, Over, Use, expanded, resolved},
    start::Start,
};
use self::{
    engine::{NoWay, Way, bubblewrap},
    rules::{Hosts, Outside, Reach, Rules},
    start::{Chance, Prefix},
};
use super::{environment::Variables, place::Places};
use crate::{PROTECTED, denied::DeniedReads, protected::git::targets};

/// The first argument by which a program knows that it is to launch. Nobody passes that by accident.
const ASKED: &str = "vertebra sandbox: launch";

/// The first argument by which it knows that it is to launch inside of bubblewrap. The second is the number of the file with
/// its rules.
#[cfg(target_os = "linux")]
const INSIDE: &str = "vertebra sandbox: launch inside";

/// The first argument by which it knows that it is to become the command.
const ENTER: &str = "vertebra sandbox: enter";

/// The first argument by which a program knows that it is to see a command to its end, without any rules.
const ATTEND: &str = "vertebra sandbox: attend";

/// The first argument by which it knows that it is to become that command.
const JOIN: &str = "vertebra sandbox: join";

/// The first argument by which it knows that it is to keep the private network of a session.
const KEEP: &str = "vertebra sandbox: keep a network";

/// The line a launcher says once the rules hold. Any other says why they do not.
const HELD: &str = "held";

/// How a launcher begins that could not mount. Some systems give namespaces and then no rights in them.
const NO_MOUNTS: &str = "no mounts: ";

/// How a launcher begins that could not lay layers over caches.
const NO_LAYERS: &str = "no layers: ";

/// How a launcher begins that could not join the private network of its session.
const NO_SPACE: &str = "no private network: ";

/// How a launcher begins that could not listen to what the command does.
const NO_SUPERVISOR: &str = "no supervisor: ";

static CAN_LAUNCH: AtomicBool = AtomicBool::new(false);

/// Makes this program the launcher of its own sandbox. Call it first thing in `main`, before any thread begins.
///
/// In the program that people started it returns at once. In a copy that was started as a launcher it never returns: the
/// process becomes the command.
pub fn launch_if_asked() {
    #[cfg(target_os = "linux")]
    {
        let mut args = std::env::args_os();
        match args.nth(1) {
            Some(asked) if asked == ASKED => launch::launch(args),
            Some(asked) if asked == INSIDE => launch::launch_inside(args),
            Some(asked) if asked == ENTER => launch::enter(args),
            Some(asked) if asked == ATTEND => attended::attend(args),
            Some(asked) if asked == JOIN => attended::join(args),
            Some(asked) if asked == KEEP => keeper::keep(),
            _ => {}
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
    /// Who makes namespaces and mounts.
    pub engine: Engine,
    /// Folders that may be written, besides the one that commands belong to and the one for temporary files. `~/` is
    /// the home folder.
    pub write: Vec<PathBuf>,
    /// What may not be read, also if it is not there yet. `~/` is the home folder; relative paths belong to the
    /// commands' folder. [`DENY_READ`], unless set.
    pub deny_read: Vec<PathBuf>,
    /// Further paths that commands cannot change, whether they exist or not; relative paths belong to the commands'
    /// folder. The names in [`PROTECTED`] and what decides what git executes are protected in any case.
    pub protect: Vec<PathBuf>,
    /// How far commands reach through the network.
    pub network: Network,
    /// Ports of this machine that commands can connect to.
    pub ports: BTreeSet<u16>,
    /// Whether commands may open Unix sockets by name.
    pub unix_sockets: UnixSockets,
    /// Paths that stay closed to changes whatever a person answers, besides those in `protect` and `deny_read`: where trust
    /// and the journal are kept.
    pub closed: Vec<PathBuf>,
    /// What no person can widen.
    pub fixed: Fixed,
}

/// What no answer of a person widens, because whoever manages the machine decided it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fixed {
    /// How far commands reach through the network.
    pub network: bool,
    /// What commands can write.
    pub write: bool,
}

/// What one command may reach, besides what holds for all of them.
pub(super) struct Rights<'a> {
    /// What rules deny.
    pub(super) denied: &'a DeniedReads,
    pub(super) network: &'a Network,
    /// Ports of this machine.
    pub(super) ports: &'a BTreeSet<u16>,
    /// The private network of its session, if there is one.
    pub(super) private: Option<&'a Private>,
    /// Protected names that a person has allowed to change.
    pub(super) allowed: &'a [PathBuf],
    /// Folders outside of the working folder that a person has granted.
    pub(super) removable: &'a [PathBuf],
    /// Layers over the caches of the person.
    pub(super) layers: Option<&'a Layers>,
    /// Whether other commands of the session are under way.
    pub(super) neighbours: bool,
}

impl Default for Sandbox {
    /// A sandbox if there is one, without network.
    fn default() -> Self {
        Self {
            need: Need::IfAvailable,
            launcher: None,
            engine: Engine::default(),
            write: Vec::new(),
            deny_read: DENY_READ.iter().map(PathBuf::from).collect(),
            protect: Vec::new(),
            network: Network::Off,
            ports: BTreeSet::new(),
            unix_sockets: UnixSockets::Held,
            closed: Vec::new(),
            fixed: Fixed::default(),
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

    /// Folders that may be written besides the commands' own, and those that a person allowed.
    pub(super) fn write_besides<'a>(
        &'a self,
        variables: &Variables,
        folder: &Path,
        allowed: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Vec<(PathBuf, Use)> {
        let home = variables.folder("HOME");
        let named = self.write.iter().filter_map(|path| expanded(path, home.as_deref(), folder));
        named
            .chain(allowed.into_iter().cloned())
            .map(|path| (path, Use::Work))
            .chain([(variables.temporary(), Use::Temporary)])
            .collect()
    }

    /// The program that can keep private networks, if commands are held in a way that uses them.
    pub(super) fn keeper(&self) -> Option<PathBuf> {
        let is_used = self.need != Need::Off && self.engine != Engine::Bubblewrap;
        self.launching().filter(|_| is_used)
    }

    /// How a program has to be started to be held, by a way that was not tried in vain.
    pub(super) fn hold(
        &self,
        variables: &Variables,
        places: &Places,
        rights: &Rights<'_>,
        tried: &Tried,
    ) -> Result<Start, ToolError> {
        let denied = rights.denied;
        if self.need == Need::Off {
            return Ok(self.unheld("off".to_owned(), None, tried));
        }
        let way = self.way(variables, places, tried);
        let ((launcher, way), required) = match (way, self.need == Need::Required) {
            (Ok(found), required) => (found, required),
            (Err(NoWay::NotAsAsked(why)), _) => return Err(ToolError::new(format!("the command was not run: {why}"))),
            (Err(NoWay::Nothing(why)), true) => return Err(refusal(&why)),
            (Err(NoWay::Nothing(why)), false) => {
                return Ok(self.unheld(format!("none: {why}"), Some(format!("no sandbox: {why}")), tried));
            }
        };
        if places.home().parent().is_none() {
            return Err(ToolError::new(
                "the working directory is `/`, and a sandbox that may write everywhere is none: \
                 set `AgentBuilder::working_directory` or `Bash::in_dir`",
            ));
        }
        let unsupervised = match (&way, &tried.supervisor) {
            (Way::Bubblewrap { landlock: false, .. }, _) => Some("the kernel has no Landlock"),
            (_, why) => why.as_deref(),
        };
        let rules = self.rules(variables, places, rights, &way, (tried, unsupervised.is_none()));
        let chance = match &way {
            Way::Bubblewrap { .. } if self.engine == Engine::Either => Chance::Bubblewrap,
            Way::Own { .. } if !rules.hide.is_empty() => Chance::OwnMounts,
            Way::Own { .. } | Way::NoMounts { .. } | Way::Bubblewrap { .. } => Chance::None,
        };
        let mut lacking: Vec<String> =
            unsupervised.map(|why| format!("changes of protected names ({why})")).into_iter().collect();
        match &rules.network {
            Reach::Machine(Outside { hosts: Hosts::None, .. }) if unsupervised.is_some() => {
                let text = "the command was not run: single ports of this machine take a network namespace or a \
                            supervisor, and there is neither";
                return Err(ToolError::new(text));
            }
            Reach::Machine(_) if unsupervised.is_some() => {
                lacking.push("connections to this machine's ports".to_owned());
            }
            Reach::Machine(_) | Reach::Private(_) | Reach::Closed => {}
        }
        let held_by = match way {
            Way::Own { lacking: old } | Way::NoMounts { lacking: old, .. } => {
                lacking.extend(old);
                if rules.needs_mounts() { "landlock, seccomp and mounts" } else { "landlock and seccomp" }
            }
            Way::Bubblewrap { landlock: true, .. } => "bubblewrap, landlock and seccomp",
            Way::Bubblewrap { landlock: false, .. } => "bubblewrap and seccomp",
        };
        let beyond = denied.beyond.iter().map(|rule| format!("all that `{rule}` denies (too many names)"));
        lacking.extend(beyond);
        let lacking = lacking.join(", ");
        let (state, remark) = if lacking.is_empty() {
            (held_by.to_owned(), None)
        } else if required {
            return Err(refusal(&format!("it would not hold {lacking}")));
        } else {
            let remark = format!("partial sandbox: it does not hold {lacking}");
            (format!("{held_by} without {lacking}"), Some(remark))
        };
        let private = matches!(rules.network, Reach::Private(_));
        let layered = rules.layers.is_some();
        let text = Some(rules.to_text()?);
        let prefix = Prefix { launcher, word: ASKED, rules: text, minded: rules.minded, layered, private, chance };
        Ok(Start::held(prefix, state, remark))
    }

    /// How a program is started that nothing holds: it still ends when the agent does, if there is a launcher to see to that.
    fn unheld(&self, state: String, remark: Option<String>, tried: &Tried) -> Start {
        match self.launching().filter(|_| cfg!(target_os = "linux") && tried.attended.is_none()) {
            Some(launcher) => {
                let (word, chance) = (ATTEND, Chance::Attended);
                let prefix =
                    Prefix { launcher, word, rules: None, minded: false, layered: false, private: false, chance };
                Start::held(prefix, state, remark)
            }
            None => Start::bare(state, remark),
        }
    }

    fn rules(
        &self,
        variables: &Variables,
        places: &Places,
        rights: &Rights<'_>,
        way: &Way,
        (tried, minded): (&Tried, bool),
    ) -> Rules {
        let denied = rights.denied;
        let home = variables.folder("HOME");
        let named = self.deny_read.iter().filter_map(|path| expanded(path, home.as_deref(), places.home()));
        // By the name it has and by the place it leads to.
        let named = named.flat_map(|path| [resolved(&path), path]);
        let mut deny_read: Vec<PathBuf> = named.chain(denied.paths.iter().map(|path| resolved(path))).collect();
        deny_read.sort();
        deny_read.dedup();
        let mut hide = Vec::new();
        if !matches!(way, Way::NoMounts { .. }) {
            let is_real = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == *path);
            let in_writable = |path: &PathBuf| places.writable().any(|folder| path.starts_with(folder));
            (hide, deny_read) = deny_read.into_iter().partition(|path| in_writable(path));
            // What is not there has nothing to hide, and left to Landlock it would close the folder around it: an agent
            // in the home folder could neither list it nor make a file.
            let (real, absent): (Vec<_>, Vec<_>) = hide.into_iter().partition(is_real);
            deny_read.extend(absent.into_iter().filter(|path| path.symlink_metadata().is_ok()));
            hide = real;
        }
        let (landlock, bubblewrap) = match way {
            Way::Own { .. } | Way::NoMounts { .. } => (true, None),
            Way::Bubblewrap { program, landlock } => (*landlock, Some(program.clone())),
        };
        let outside = |hosts| Reach::Machine(Outside { hosts, ports: rights.ports.clone() });
        let network = match (rights.network, way, rights.private) {
            (Network::On, ..) => outside(Hosts::All),
            (_, Way::Own { .. } | Way::NoMounts { .. }, Some(private)) if tried.space.is_none() => {
                Reach::Private(private.space.clone())
            }
            (Network::Public, ..) => outside(Hosts::Public),
            (Network::Off, ..) if !rights.ports.is_empty() => outside(Hosts::None),
            (Network::Off | Network::Domains(_), ..) => Reach::Closed,
        };
        let has_layers = matches!(way, Way::Own { .. }) && tried.layers.is_none();
        let layers = rights.layers.filter(|layers| has_layers && !layers.over.is_empty()).cloned();
        let mut write = places.folders();
        write.extend(shared_memory().filter(|_| minded));
        Rules {
            deny_read,
            write,
            protect: self.protected(places, &denied.unchanged),
            allowed: rights.allowed.to_vec(),
            removable: rights.removable.to_vec(),
            hide,
            network,
            unix_sockets: self.unix_sockets,
            layers,
            landlock,
            minded,
            neighbours: rights.neighbours,
            terminals: matches!(way, Way::Own { .. }),
            bubblewrap,
        }
    }

    /// What is protected besides the names that always are: what was named, what rules deny to change, what those names lead
    /// to, and what the configuration of git leads to.
    fn protected(&self, places: &Places, unchanged: &[PathBuf]) -> Vec<PathBuf> {
        let home = places.home();
        let work = places.folders().into_iter().filter(|folder| folder.used == Use::Work);
        // The person's git has the environment of this process, and not that of the command.
        let git = work.flat_map(|folder| targets(&folder.path, &|name| std::env::var_os(name)));
        // Of a repository that is a link, only some files are protected, and those are found in any case.
        let names = PROTECTED.iter().filter(|name| **name != ".git").chain(&[".git/hooks", ".git/config"]);
        let links = names.map(|name| home.join(name)).filter(|path| path.is_symlink());
        links
            .chain(self.protect.iter().chain(unchanged).map(|path| home.join(path)))
            .map(|path| resolved(&path))
            .chain(git)
            .collect()
    }

    /// The launcher, and the way that is left to hold a command.
    fn way(&self, variables: &Variables, places: &Places, tried: &Tried) -> Result<(PathBuf, Way), NoWay> {
        let launcher = self.launching().ok_or_else(|| {
            let why = "this program does not call `vertebra_kit::bash::sandbox::launch_if_asked()` in `main`";
            NoWay::Nothing(why.to_owned())
        })?;
        let way = self.engine.way(lacking(), bubblewrap(variables, places), tried)?;
        Ok((launcher, way))
    }

    fn launching(&self) -> Option<PathBuf> {
        // The very program that runs, even if its file was replaced meanwhile.
        let own = || CAN_LAUNCH.load(Ordering::Acquire).then(|| "/proc/self/exe".into());
        self.launcher.clone().or_else(own)
    }
}

/// Where processes share memory by name.
fn shared_memory() -> Option<Folder> {
    let path = Path::new("/dev/shm").canonicalize().ok()?;
    let found = path.metadata().ok()?;
    Some(Folder { device: found.dev(), inode: found.ino(), path, used: Use::Shared })
}

#[cfg(not(target_os = "linux"))]
fn lacking() -> Result<Vec<String>, String> {
    Err("there is none for this system, only for Linux".to_owned())
}

fn refusal(why: &str) -> ToolError {
    ToolError::new(format!("the command was not run, because a sandbox is required: {why}"))
}
