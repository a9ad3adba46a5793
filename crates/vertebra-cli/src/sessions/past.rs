//! The journal as commands find it, and one session of it.

use std::path::Path;

use anyhow::Context as _;
use vertebra::{Agent, Entry, JournalError, JournalFault, Session};
use vertebra_journal::{SessionRow, Store, Wanted};
use vertebra_models::Provider;

use crate::{
    assembly::{World, journal_options, journal_path, journal_settings},
    options::AgentOptions,
};

/// The journal, to be read; `None` if nothing was ever recorded.
pub(super) fn read() -> anyhow::Result<Option<Store>> {
    let world = World::of_process();
    let path = journal_path(&journal_settings(&world)?, &world)?;
    if path.exists() { Ok(Some(Store::read_only(path)?)) } else { Ok(None) }
}

/// The journal, to be changed.
pub(super) fn write() -> anyhow::Result<Store> {
    let world = World::of_process();
    let settings = journal_settings(&world)?;
    Ok(Store::open(journal_path(&settings, &world)?, &journal_options(&settings))?)
}

/// A session that was recorded.
pub(crate) struct Past {
    /// What is known of it.
    pub(crate) row: SessionRow,
    /// The journal it is in, to be read.
    pub(crate) store: Store,
}

impl Past {
    /// The session somebody means.
    pub(crate) fn find(words: &str) -> anyhow::Result<Self> {
        let store = read()?.with_context(|| format!("no such session: `{words}`; nothing was recorded yet"))?;
        Ok(Self { row: store.find(words)?, store })
    }

    /// The last session of a folder.
    pub(crate) fn last_of(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let nothing = || format!("nothing was recorded in {}", folder.display());
        let store = read()?.with_context(nothing)?;
        let working_directory = Some(folder.to_string_lossy().into_owned());
        let found = store.sessions(&Wanted { working_directory, limit: Some(1), ..Wanted::default() })?;
        Ok(Self { row: found.into_iter().next().with_context(nothing)?, store })
    }

    /// Works where the session worked, on the model it had, unless somebody says otherwise.
    pub(crate) fn prepare(&self, options: &mut AgentOptions) {
        let SessionRow { working_directory, model, .. } = &self.row;
        options.dir.get_or_insert_with(|| (**working_directory).into());
        if options.model.is_none() && Provider::find(&model.provider).is_ok() {
            options.model = Some(format!("{}:{}", model.provider, model.name));
        }
    }

    /// Goes on with it.
    pub(crate) async fn resume(&self, agent: &Agent) -> anyhow::Result<Session> {
        Ok(agent.resume(&self.row.session_id).await.map_err(explained)?)
    }

    /// Its lines, all of them whole.
    pub(crate) fn lines(&self) -> Result<Vec<Entry>, JournalError> {
        self.store.lines(&self.row.session_id)?.collect()
    }
}

/// Says what helps.
fn explained(error: JournalError) -> JournalError {
    let JournalError { kind, message } = error;
    match kind {
        JournalFault::Busy => JournalError::new(kind, format!("{message}; two cannot run it at once")),
        _ => JournalError::new(kind, message),
    }
}
