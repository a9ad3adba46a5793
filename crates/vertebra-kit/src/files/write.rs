//! `write_file`: a new file, or a new content for one that the model knows.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Known},
    commit::{Onto, alone, commit},
    diff,
    place::Place,
    seen, show,
    text::Text,
    undo::Made,
};

/// The arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file.
    path: String,
    /// All that it will contain.
    content: String,
    /// Whether to make folders that are missing.
    #[serde(default)]
    create_parents: bool,
}

pub(super) fn write_file(job: &Job, input: &WriteFile) -> Result<ToolOutput, ToolError> {
    let target = job.target_to_write(&input.path)?;
    let place = &target.place;
    let (content, lines) = (input.content.as_str(), input.content.lines().count());
    alone(place, || {
        if place.kind()?.is_some() {
            let Known { text, bytes, facts } = job.known(&target)?;
            let content = text.in_my_lines(content);
            if content == text.body {
                let text = format!("`{}` already says that; nothing was written", show(place.path()));
                // Whoever can write it word for word knows it.
                let data = seen::data(&place.path().to_string_lossy(), &seen::hash(&bytes), job.access.writes.next());
                return Ok(ToolOutput { text, data, exit_code: None });
            }
            job.check_known(place, &bytes)?;
            let change = Change { place, was: Some(&bytes), before: &text, after: &content, onto: Onto::This(facts) };
            return change.make(job, |size| format!("replaced (bytes: {size}, lines: {lines})"));
        }
        if place.lacks_folders() && !input.create_parents {
            return Err(place.says("is in a folder that is not there: make it with create_parents=true"));
        }
        let place = job.with_folders(&target)?;
        let change = Change { place: &place, was: None, before: &Text::new(""), after: content, onto: Onto::Nothing };
        change.make(job, |size| format!("created (bytes: {size}, lines: {lines})"))
    })
}

/// A new content for a file.
pub(super) struct Change<'a> {
    pub(super) place: &'a Place,
    /// The file, if there is one.
    pub(super) was: Option<&'a [u8]>,
    pub(super) before: &'a Text,
    pub(super) after: &'a str,
    pub(super) onto: Onto,
}

impl Change<'_> {
    /// Writes it, and says so to the model, to people and to whoever remembers what was seen.
    pub(super) fn make(self, job: &Job, say: impl FnOnce(usize) -> String) -> Result<ToolOutput, ToolError> {
        let Self { place, was, before, after, onto } = self;
        let bytes = before.encode(after);
        if bytes.len() as u64 > job.bounds().file_bytes {
            let limit = job.bounds().file_bytes;
            return Err(place.says(&format!("would have {} bytes; the limit is {limit}", bytes.len())));
        }
        commit(place, &bytes, &onto, &job.effort)?;
        let hash = seen::hash(&bytes);
        let mut data = job.access.writes.add(&job.run, &place.path().to_string_lossy(), &hash);
        if let Some(undo) = &job.access.undo {
            let made = Made { hash, bytes: bytes.len() };
            undo.keep(&job.session, &job.access.home, place.path(), was, made);
        }
        let shown = show(place.path());
        data["diff"] = Value::String(diff::unified(&shown, &before.body, after));
        Ok(ToolOutput { text: format!("`{shown}` {}", say(bytes.len())), data, exit_code: None })
    }
}
