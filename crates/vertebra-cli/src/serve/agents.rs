//! The built-in agent on a server: one per folder, shared by its sessions.

use std::{
    collections::HashMap,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use anyhow::Context as _;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use tokio::sync::Mutex;
use vertebra_journal::Store;
use vertebra_server::{Agents, BoxFuture, Made, Questions, Refusal, Wanted};

use crate::{
    assembly::{Assembled, Journal, World, assemble_on},
    options::AgentOptions,
    view::text::visible,
};

/// Assembles the built-in agent from the command line, in folders below the server's.
pub(super) struct BuiltIn {
    options: AgentOptions,
    world: World,
    journal: Option<Store>,
    folder: PathBuf,
    handle: OwnedFd,
    /// The agents in use, by folder.
    shared: Mutex<HashMap<PathBuf, Weak<Assembled>>>,
}

impl BuiltIn {
    pub(super) fn new(options: AgentOptions, world: World, journal: Option<Store>) -> anyhow::Result<Self> {
        let folder =
            std::fs::canonicalize(options.folder()).with_context(|| format!("--dir {}", options.folder().display()))?;
        let handle = std::fs::File::open(&folder).with_context(|| folder.display().to_string())?.into();
        Ok(Self { options, world, journal, folder, handle, shared: Mutex::default() })
    }

    /// Resolves a folder below the server's. Links and `..` cannot lead out of it.
    fn beneath(&self, wanted: &str) -> Result<PathBuf, Refusal> {
        let wrong =
            |why: &str| Refusal::Wrong(format!("`{wanted}` is not a folder inside {}: {why}", self.folder.display()));
        let path = Path::new(wanted);
        let path = if path.is_absolute() {
            path.strip_prefix(&self.folder).map_err(|_| wrong("it is outside"))?
        } else {
            path
        };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let found = openat2(&self.handle, path, flags, Mode::empty(), ResolveFlags::BENEATH);
        let found = found.map_err(|error| wrong(&error.to_string()))?;
        let real = format!("/proc/self/fd/{}", found.as_raw_fd());
        std::fs::read_link(real).map_err(|error| wrong(&error.to_string()))
    }

    /// Returns the agent of a folder and assembles it for its first session.
    async fn of_folder(&self, folder: PathBuf, questions: Questions) -> anyhow::Result<Arc<Assembled>> {
        let mut shared = self.shared.lock().await;
        if let Some(there) = shared.get(&folder).and_then(Weak::upgrade) {
            return Ok(there);
        }
        let mut options = self.options.clone();
        options.policy.dir = Some(folder.clone());
        let journal = Journal::Shared(self.journal.clone());
        let made = Arc::new(assemble_on(&options, &self.world, journal, |_, _, _| Some(questions)).await?);
        // No user sees these warnings, so they go to the log of the server.
        for warning in &made.warnings {
            eprintln!("{}", visible(&format!("warning: {}: {warning}", folder.display())));
        }
        shared.retain(|_, other| other.strong_count() > 0);
        shared.insert(folder, Arc::downgrade(&made));
        Ok(made)
    }
}

impl Agents for BuiltIn {
    fn make<'a>(&'a self, wanted: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async move {
            let failed = |error: anyhow::Error| Refusal::Failed(format!("{error:#}"));
            let folder = match &wanted.folder {
                Some(folder) => self.beneath(folder)?,
                None => self.folder.clone(),
            };
            let shared = self.of_folder(folder, questions).await.map_err(failed)?;
            let mut agent = shared.agent.apart();
            if let Some(model) = shared.models.played_anew().await.map_err(failed)? {
                agent = agent.asking(model);
            }
            if let Some(text) = &wanted.system_prompt {
                agent = agent.also_told(text);
            }
            Ok(Made { agent, besides: Box::new(shared) })
        })
    }
}
