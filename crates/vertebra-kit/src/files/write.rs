//! `write_file`: a new file, or a new content for one that the model knows.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Known, Target, fingerprint},
    commit::{Onto, alone, commit},
    diff,
    place::Place,
    seen::{self, Acquaintance},
    text::{NotInEncoding, Text},
    undo::Made,
};
use crate::redaction::marks::Unresolved;

/// The arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file.
    path: String,
    /// All that it will contain.
    content: String,
    /// False to fail if a folder is missing. By default, missing folders are made.
    #[serde(default = "yes")]
    create_parents: bool,
}

fn yes() -> bool {
    true
}

pub(super) fn write_file(job: &Job, input: &WriteFile) -> Result<ToolOutput, ToolError> {
    let target = job.target_to_write(&input.path)?;
    let place = &target.place;
    let lines = input.content.lines().count();
    alone(place, || match plan(job, &target, input)? {
        Plan::Nothing { known } => {
            let text = format!("`{}` already says that; nothing was written", target.name(job));
            // Whoever can write it word for word knows it.
            let data = seen::data(&job.key(&target), &known.hash(), job.access.writes.next());
            Ok(ToolOutput { text, data, exit_code: None })
        }
        Plan::Replace { known, after } => {
            let change = Change { target: &target, was: Some(&known), after: &after, is_known: true };
            change.make(job, |size| format!("replaced (bytes: {size}, lines: {lines})"))
        }
        Plan::Create => {
            let target = job.with_folders(&target)?;
            let change = Change { target: &target, was: None, after: &input.content, is_known: true };
            change.make(job, |size| format!("created (bytes: {size}, lines: {lines})"))
        }
    })
}

/// Finds out whether the file can be written, and what would change.
pub(super) fn look(job: &Job, input: &WriteFile) -> Result<Option<String>, ToolError> {
    let target = job.target_to_write(&input.path)?;
    match plan(job, &target, input)? {
        Plan::Nothing { .. } => Ok(None),
        Plan::Replace { known, after } => {
            Change { target: &target, was: Some(&known), after: &after, is_known: true }.preview(job)
        }
        Plan::Create => Change { target: &target, was: None, after: &input.content, is_known: true }.preview(job),
    }
}

/// What is to be done.
enum Plan {
    /// The file already says so.
    Nothing { known: Known },
    /// The file gets another content.
    Replace { known: Known, after: String },
    /// There is no file yet.
    Create,
}

fn plan(job: &Job, target: &Target, input: &WriteFile) -> Result<Plan, ToolError> {
    let place = &target.place;
    if place.kind()?.is_none() {
        if place.lacks_folders() && !input.create_parents {
            return Err(place.says("is in a folder that does not exist, and create_parents is false"));
        }
        let nothing = job.hidden(&target.real(), "");
        nothing.check("", &input.content).map_err(|mark| hides(place, &mark))?;
        return Ok(Plan::Create);
    }
    let known = job.known(target)?;
    let body = &known.text.body;
    let content = known.text.in_my_lines(&input.content);
    known.shown.check(body, &content).map_err(|mark| hides(place, &mark))?;
    let after = known.shown.restore(body, &content).map_err(|mark| hides(place, &mark))?;
    if after == *body {
        return Ok(Plan::Nothing { known });
    }
    job.knows(target, &known).at_least(Acquaintance::Now, place)?;
    Ok(Plan::Replace { known, after })
}

/// Says what a mark means that stands for nothing in this file, and what to do.
pub(super) fn hides(place: &Place, Unresolved { mark, has_id }: &Unresolved) -> ToolError {
    let why = if *has_id {
        "it is no mark of this file as it is now: read the file again with read_file"
    } else {
        "it does not say which: read the file with read_file, which shows marks that can be put back"
    };
    place.says(&format!(
        "was not changed: `{mark}` stands for a secret that is hidden from you, and {why}. Keep its marks as they are in \
         what you write, or use edit_file on lines without them"
    ))
}

/// A new content for a file.
pub(super) struct Change<'a> {
    pub(super) target: &'a Target,
    /// The file, if there is one.
    pub(super) was: Option<&'a Known>,
    pub(super) after: &'a str,
    /// Whether the model knows all of the file.
    pub(super) is_known: bool,
}

impl Change<'_> {
    /// Writes it, and says so to the model, to people and to whoever remembers what was seen.
    pub(super) fn make(self, job: &Job, say: impl FnOnce(usize) -> String) -> Result<ToolOutput, ToolError> {
        let Self { target, was, after, is_known } = self;
        let place = &target.place;
        let bytes = self.bytes(job)?;
        let onto = was.map_or(Onto::Nothing, |known| Onto::This(known.facts.clone()));
        commit(place, &bytes, &onto, &job.effort)?;
        let shown_after = job.hidden(&target.real(), after);
        let (key, hash) = (job.key(target), fingerprint(&shown_after, &bytes));
        let mut data = if is_known { job.access.writes.add(&job.run, &key, &hash) } else { json!({ "path": key }) };
        if let Some(undo) = &job.access.undo {
            let made = Made { hash: seen::hash(&bytes), bytes: bytes.len() };
            undo.keep(&job.session, &target.root, place.path(), was.map(|known| &*known.bytes), made);
        }
        let shown = target.name(job);
        data["diff"] = Value::String(diff::unified(&shown, self.before(), &shown_after.text));
        Ok(ToolOutput { text: format!("`{shown}` {}", say(bytes.len())), data, exit_code: None })
    }

    /// What it would change, without the secrets of the file.
    pub(super) fn preview(&self, job: &Job) -> Result<Option<String>, ToolError> {
        self.bytes(job)?;
        let after = job.hidden(&self.target.real(), self.after);
        Ok(diff::whole(&self.target.name(job), self.before(), &after.text))
    }

    /// What the model sees of the file as it is.
    fn before(&self) -> &str {
        self.was.map_or("", |known| &known.shown.text)
    }

    /// The new file, in the encoding of the old one.
    fn bytes(&self, job: &Job) -> Result<Vec<u8>, ToolError> {
        let place = &self.target.place;
        let encoded = self.was.map_or_else(|| Text::new("").encode(self.after), |known| known.text.encode(self.after));
        let bytes = encoded.map_err(|NotInEncoding { letter, line }| {
            place.says(&format!(
                "was not changed: it is in Windows-1252 (Latin-1), which does not have `{letter}` (line {line}). Use other \
                 characters, or convert the file to UTF-8 first, for example with iconv"
            ))
        })?;
        let limit = job.bounds().file_bytes;
        if bytes.len() as u64 > limit {
            return Err(place.says(&format!("would have {} bytes; the limit is {limit}", bytes.len())));
        }
        Ok(bytes)
    }
}
