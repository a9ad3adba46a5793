//! Shell commands: the tool that runs them, the policy that judges them, the sandbox that holds them.
//!
//! ```no_run
//! use vertebra::{prelude::*, testing::Script};
//! use vertebra_kit::bash::{Bash, sandbox};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     sandbox::launch_if_asked();
//!     let model = Script::new().call("bash", r#"{"command": "ls"}"#).say("That is all.");
//!     let agent = Agent::builder(model).with(Bash::in_dir("/tmp/project")).build()?;
//!     println!("{}", agent.run("what is here?").await?.text);
//!     Ok(())
//! }
//! ```

mod background;
mod capture;
mod changes;
mod environment;
mod folders;
mod git;
mod grants;
mod hidden;
mod lift;
mod live;
mod needs;
mod outputs;
mod packages;
mod place;
pub mod policy;
mod process;
mod proxy;
mod rebase;
mod refused;
mod report;
mod rights;
mod running;
pub mod sandbox;
mod signals;
mod text;
mod told;
mod tool;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use vertebra::{
    AfterToolUse, Attach as _, Capability, HookOptions as _, Kit, MatchAttribute as _, SessionEnd, SessionStart,
};

use background::{Background, BackgroundTool};
pub use environment::{Environment, PASSED, VARIABLES};
pub use grants::{Granted, Grants};
pub use lift::{Lift, LiftError};
pub(crate) use needs::ASKS_FOR;
pub use needs::NotGrantable;
pub use outputs::Outputs;
pub(crate) use outputs::folder_name;
pub use place::CWD;
pub(crate) use place::{Remember, from_shell, here, is_sandbox_required, require_sandbox};
pub use policy::BashPolicy;
use policy::Ground;
pub use report::STDERR;
pub use running::Survivor;
pub use sandbox::Sandbox;

/// A tool `bash` that runs commands in one folder, in a sandbox where there is one.
#[derive(Debug, Clone)]
pub struct Bash {
    /// The folder that commands belong to: they begin there and may write there. The agent's, unless set; if nobody says
    /// where the agent works, it works here.
    pub folder: Option<PathBuf>,
    /// How long a command may take if it does not say.
    pub timeout: Duration,
    /// How long a command may take if it does say.
    pub max_timeout: Duration,
    /// How much of stdout is kept while a command runs, and told to front ends.
    pub stdout_bytes: usize,
    /// How much of stderr is kept while a command runs, and told to front ends.
    pub stderr_bytes: usize,
    /// How much of the beginning of each is shown to the model if not all of it is.
    pub head_bytes: usize,
    /// How much of the end of each is shown to the model if not all of it is.
    pub tail_bytes: usize,
    /// Which variables commands get.
    pub environment: Environment,
    /// Whether commands are judged before they run. To judge them on a ground of one's own, say no here and add a
    /// [`BashPolicy`].
    pub judged: bool,
    /// What holds commands.
    pub sandbox: Sandbox,
    /// Where the whole output of a command goes that is too long to show. Without it, what is not shown is lost.
    pub outputs: Option<Outputs>,
    /// Which commands only read: they run at the same time as calls next to them that only read, too. None, unless set.
    pub reading: Option<Reading>,
    /// What people granted to sessions. Keep a clone to show and change it.
    pub grants: Grants,
}

/// Says which commands only read.
#[derive(Clone)]
pub struct Reading(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl Reading {
    /// By a function of the command line. When in doubt, it says no.
    pub fn by(only_reads: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(only_reads))
    }

    fn only_reads(&self, command: &str) -> bool {
        (self.0)(command)
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

/// The name of the tool.
const TOOL: &str = "bash";

impl Default for Bash {
    fn default() -> Self {
        Self {
            folder: None,
            timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(10),
            stdout_bytes: 128 * 1024,
            stderr_bytes: 64 * 1024,
            head_bytes: 8 * 1024,
            tail_bytes: 24 * 1024,
            environment: Environment::default(),
            judged: true,
            sandbox: Sandbox::default(),
            outputs: None,
            reading: None,
            grants: Grants::default(),
        }
    }
}

impl Bash {
    /// Commands belong to this folder.
    pub fn in_dir(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }

    /// The policy for what this tool may do: its folder, its home, and what its sandbox lets it write.
    fn policy(&self) -> BashPolicy {
        let variables = self.environment.variables();
        let home = variables.folder("HOME").unwrap_or_else(|| "/".into());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut ground = Ground::new(self.folder.as_deref().map(text).unwrap_or_default(), text(&home));
        let also =
            self.sandbox.write.iter().map(|path| path.strip_prefix("~").map_or(path.clone(), |rest| home.join(rest)));
        ground.writable.extend(also.chain([variables.temporary()]).map(|path| text(&path)));
        let policy = match self.folder {
            Some(_) => BashPolicy::new(ground),
            None => BashPolicy::in_agents_folder(ground),
        };
        policy.lifted(self.lift())
    }
}

impl Capability for Bash {
    fn install(self, kit: &mut Kit) {
        // Rules about paths and other tools mean the same folder.
        if let Some(folder) = self.folder.as_deref().and_then(|folder| std::path::absolute(folder).ok()) {
            kit.working_directory(folder.to_string_lossy());
        }
        if self.judged {
            self.policy().install(kit);
        }
        let lift = self.lift();
        kit.add_hook(AfterToolUse.tool(TOOL).named("bash/cwd"), Remember(lift.clone()));
        kit.watch(SessionStart.named("bash/granted").own_agent_only(), async move |cx| {
            if let Some(noted) = cx.state().metadata().get(grants::GRANTED) {
                lift.restore(&cx.at.run.session_id, noted);
            }
            Ok(())
        });
        if let Some(outputs) = self.outputs.clone().filter(|outputs| !outputs.keep) {
            kit.watch(SessionEnd.named("bash/outputs").own_agent_only(), async move |cx| {
                Ok(outputs.forget(&cx.at.run.session_id)?)
            });
        }
        let background = Arc::new(Background::default());
        let (grants, commands) = (self.grants.clone(), background.clone());
        kit.watch(SessionEnd.named("bash/network"), async move |cx| {
            commands.forget(&cx.at.run.session_id);
            grants.networks.forget(&cx.at.run.session_id);
            grants.clear(&cx.at.run.session_id);
            Ok(())
        });
        kit.tool(BackgroundTool { bash: self.clone(), background: background.clone() });
        kit.tool(tool::BashTool::new(self, background));
    }
}
