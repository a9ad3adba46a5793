//! Shell commands: the tool that runs them, the sandbox that holds them.
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

mod capture;
mod environment;
mod live;
mod place;
mod process;
mod report;
pub mod sandbox;
mod text;
mod tool;
mod tree;

use std::{path::PathBuf, time::Duration};

use vertebra::{AfterToolUse, Attach as _, Capability, Kit, MatchCall as _};

pub use environment::{Environment, PASSED};
pub use place::CWD;
pub use sandbox::Sandbox;

/// A tool `bash` that runs commands in one folder, in a sandbox where there is one.
#[derive(Debug, Clone)]
pub struct Bash {
    /// The folder that commands belong to: they begin there and may write there. The agent's, unless set.
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
    /// What holds commands.
    pub sandbox: Sandbox,
}

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
            sandbox: Sandbox::default(),
        }
    }
}

impl Bash {
    /// Commands belong to this folder.
    pub fn in_dir(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }
}

impl Capability for Bash {
    fn install(self, kit: &mut Kit) {
        // Whoever judges commands before they run is attached here, before the tool.
        kit.add_hook(AfterToolUse.tool("bash"), place::Remember).named("bash/cwd");
        kit.tool(tool::BashTool(self));
    }
}
