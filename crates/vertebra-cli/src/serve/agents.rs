//! The built-in agent, once for each session.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use vertebra_journal::Store;
use vertebra_server::{Agents, BoxFuture, Made, Questions, Refusal, Wanted};

use crate::{
    assembly::{Journal, World, assemble_on},
    options::AgentOptions,
};

/// Makes the built-in agent as the command line says, in folders under the server's.
pub(super) struct BuiltIn {
    options: AgentOptions,
    world: World,
    journal: Option<Store>,
    folder: PathBuf,
    handle: OwnedFd,
}

impl BuiltIn {
    pub(super) fn new(options: AgentOptions, world: World, journal: Option<Store>) -> anyhow::Result<Self> {
        let folder =
            std::fs::canonicalize(options.folder()).with_context(|| format!("--dir {}", options.folder().display()))?;
        let handle = std::fs::File::open(&folder).with_context(|| folder.display().to_string())?.into();
        Ok(Self { options, world, journal, folder, handle })
    }

    /// A folder that is under the server's, however it is spelled and whatever links are on the way.
    fn beneath(&self, wanted: &str) -> Result<PathBuf, Refusal> {
        let wrong =
            |why: &str| Refusal::Wrong(format!("`{wanted}` is no folder under {}: {why}", self.folder.display()));
        let path = Path::new(wanted);
        let path = if path.is_absolute() {
            path.strip_prefix(&self.folder).map_err(|_| wrong("it is elsewhere"))?
        } else {
            path
        };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let found = openat2(&self.handle, path, flags, Mode::empty(), ResolveFlags::BENEATH);
        let found = found.map_err(|error| wrong(&error.to_string()))?;
        let real = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
        std::fs::read_link(real).map_err(|error| wrong(&error.to_string()))
    }
}

impl Agents for BuiltIn {
    fn make<'a>(&'a self, wanted: &'a Wanted, questions: Questions) -> BoxFuture<'a, Result<Made, Refusal>> {
        Box::pin(async move {
            let mut options = self.options.clone();
            options.dir = Some(match &wanted.folder {
                Some(folder) => self.beneath(folder)?,
                None => self.folder.clone(),
            });
            let system = [options.system.take(), wanted.system_prompt.clone()];
            let system: Vec<String> = system.into_iter().flatten().collect();
            options.system = (!system.is_empty()).then(|| system.join("\n\n"));
            let journal = Journal::Shared(self.journal.clone());
            let assembled = assemble_on(&options, &self.world, journal, |_, _| Some(questions)).await;
            let assembled = assembled.map_err(|error| Refusal::Failed(format!("{error:#}")))?;
            // What nobody may overlook is overlooked by nobody, also where there is no terminal of a person.
            for warning in &assembled.warnings {
                eprintln!("warning: {warning}");
            }
            Ok(Made { agent: assembled.agent.clone(), besides: Box::new(assembled) })
        })
    }
}
