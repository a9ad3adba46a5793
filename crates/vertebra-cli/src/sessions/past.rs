//! Opens the journal and finds sessions in it.

use std::path::Path;

use anyhow::{Context as _, ensure};
use vertebra::{Agent, Entry, JournalError, JournalFault, Session, SessionError};
use vertebra_journal::{SessionRow, Store, Wanted};
use vertebra_kit::bash::Outputs;
use vertebra_models::Provider;

use crate::{
    above,
    assembly::{World, agrees_to, journal_options, journal_path, journal_settings, outputs_folder},
    options::AgentOptions,
    view::text::on_one_line,
};

/// Opens the journal for reading. Returns `None` if nothing was ever recorded.
pub(super) fn read() -> anyhow::Result<Option<Store>> {
    let world = World::of_process();
    let path = journal_path(&journal_settings(&world)?, &world)?;
    if path.exists() { Ok(Some(Store::read_only(path)?)) } else { Ok(None) }
}

/// Opens the journal for writing.
pub(super) fn write() -> anyhow::Result<Store> {
    let world = World::of_process();
    let settings = journal_settings(&world)?;
    Ok(Store::open(journal_path(&settings, &world)?, &journal_options(&settings))?)
}

/// A recorded session.
pub(crate) struct Past {
    /// Its summary.
    pub(crate) row: SessionRow,
    /// The journal, opened for reading.
    pub(crate) store: Store,
}

impl Past {
    /// Finds a session by its ID, a unique part of it, or `last`.
    pub(crate) fn find(words: &str) -> anyhow::Result<Self> {
        let store = read()?.with_context(|| format!("no such session: `{words}`; the journal is empty"))?;
        Ok(Self { row: store.find(words)?, store })
    }

    /// Finds the last session of a folder.
    pub(crate) fn last_of(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let nothing = || format!("no session is recorded for {}", folder.display());
        let store = read()?.with_context(nothing)?;
        let working_directory = Some(folder.to_string_lossy().into_owned());
        let found = store.sessions(&Wanted { working_directory, limit: Some(1), ..Wanted::default() })?;
        Ok(Self { row: found.into_iter().next().with_context(nothing)?, store })
    }

    /// Sets the folder and the model of the session, unless the options name others.
    pub(crate) fn prepare(&self, options: &mut AgentOptions) {
        let SessionRow { working_directory, model, .. } = &self.row;
        options.policy.dir.get_or_insert_with(|| (**working_directory).into());
        if options.model.is_none() && Provider::find(&model.provider).is_ok() {
            options.model = Some(format!("{}:{}", model.provider, model.name));
        }
    }

    /// Names the commands that outlived the process that ran this session, and offers to end them.
    pub(crate) fn end_survivors(&self) -> anyhow::Result<()> {
        let world = World::of_process();
        let Some(folder) = outputs_folder(&world) else { return Ok(()) };
        for survivor in Outputs::in_folder(folder).survivors(&self.row.session_id) {
            let pids = survivor.pids().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            let command = on_one_line(&survivor.command);
            eprintln!("still running from the process that was killed: `{command}` (pid {pids})");
            if !world.is_interactive {
                eprintln!("end it with `kill -9 {pids}`");
            } else if agrees_to("End it?")? {
                eprintln!("{}", if survivor.end() { "ended" } else { "it could not be ended" });
            }
        }
        Ok(())
    }

    /// Resumes it. An agent does not: with other rules, an open question would be answered without the person.
    pub(crate) async fn resume(&self, agent: &Agent) -> anyhow::Result<Session> {
        ensure!(
            self.store.questions(Some(&self.row.session_id))?.is_empty() || !above::is_agent(),
            "this session waits for the answer of a person, and an agent started this command; resume it on your own terminal"
        );
        Ok(agent.resume(&self.row.session_id).await.map_err(explained)?)
    }

    /// Reads all its facts.
    pub(crate) fn lines(&self) -> Result<Vec<Entry>, JournalError> {
        self.store.lines(&self.row.session_id)?.collect()
    }
}

/// Deletes the outputs of commands that were kept for sessions that are deleted.
pub(super) fn forget_outputs<'a>(sessions: impl IntoIterator<Item = &'a str>) {
    let Some(folder) = outputs_folder(&World::of_process()) else { return };
    let outputs = Outputs::in_folder(folder);
    for session in sessions {
        if let Err(error) = outputs.forget(session) {
            eprintln!("cannot delete the outputs of session {}: {error}", on_one_line(session));
        }
    }
}

/// Adds advice to an error.
fn explained(error: SessionError) -> SessionError {
    match error {
        SessionError::Journal(JournalError { kind: kind @ JournalFault::Busy, message }) => {
            JournalError::new(kind, format!("{message}; only one process can run a session at a time")).into()
        }
        error => error,
    }
}
