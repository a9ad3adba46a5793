//! Files below one folder, through a handle to it: read, write, edit, list, find, search.
//!
//! The folder is opened once. From there every tool goes from name to name through open handles and opens nothing by a
//! path, so neither `..`, nor an absolute path, nor a link, nor a folder that is swapped for a link while a tool is at
//! work leads out of it. A file is replaced by a rename and never written in place, so a hard link to it elsewhere keeps
//! what it had. *Reading* through a hard link cannot be told from reading a file: what must not be read must not be
//! linked into the folder. What is mounted below it counts as inside.
//!
//! ```
//! use vertebra::{prelude::*, testing::Script};
//! use vertebra_kit::files::Files;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let agent = Agent::builder(Script::new()).with(Files::new(folder)?.deny("secrets/**")?).build()?;
//! assert_eq!(agent.tools().count(), 6);
//! # Ok(())
//! # }
//! ```

mod bounds;
mod effort;
mod error;
mod globs;

mod place;
mod root;

mod access;
mod judge;
mod tool;

mod page;
mod read;
mod text;

mod commit;
mod diff;
mod edit;
mod nearest;
mod seen;
mod undo;
mod write;

mod gitignore;
mod grep;
mod list;
mod search;
mod walk;

use std::{
    ffi::OsStr,
    fmt::{self, Write as _},
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use vertebra::{
    CancellationToken, ToolSpec, ToolStatus,
    events::{ToolAsked, ToolUsed},
    prelude::*,
};

use crate::{
    bash::{
        Lift, Remember, from_shell,
        policy::{Sure, may_show, shown_by},
    },
    invisible::is_joiner,
    is_invisible,
    redaction::{Redaction, marks::Marks},
};

pub use bounds::Bounds;
pub use error::FilesError;
pub use undo::{Changed, Latest, MAX_KEPT_BYTES, MAX_PROMPTS, Undo, Undone};

use self::{
    access::{Access, Consent},
    globs::PathRules,
    root::{May, Root},
    seen::{ShownByCommands, Writes},
    tool::FileTool,
};

/// The tools that read, write, edit, list, find and search files below a folder.
///
/// A file is changed only if the model has read it in this session, and replaced only if it has not changed since. What the
/// model has seen is kept with the session under `files/seen/…`.
#[derive(Debug)]
pub struct Files {
    access: Access,
    read_only: bool,
}

impl Files {
    /// The files below this folder. It is opened here, and stays the same folder if its path comes to mean another.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self, FilesError> {
        let access = Access {
            home: Root::open(folder.as_ref(), May::Write)?,
            others: Vec::new(),
            denied: PathRules::default(),
            protects_names: true,
            protected: PathRules::default(),
            closed: Vec::new(),
            asks: false,
            lift: None,
            marks: None,
            bounds: Bounds::default(),
            write_unread: false,
            writes: Writes::default(),
            shown: ShownByCommands::default(),
            undo: None,
            looked: OnceLock::new(),
        };
        Ok(Self { access, read_only: false })
    }

    /// Another folder whose files may be read, by absolute path.
    pub fn also_read(mut self, folder: impl AsRef<Path>) -> Result<Self, FilesError> {
        self.access.others.push(Root::open(folder.as_ref(), May::Read)?);
        Ok(self)
    }

    /// The folder where the whole [output of commands](crate::bash::Outputs) is kept: each session may read its own, by
    /// absolute path.
    pub fn outputs(mut self, folder: impl AsRef<Path>) -> Result<Self, FilesError> {
        self.access.others.push(Root::open(folder.as_ref(), May::ReadOwn)?);
        Ok(self)
    }

    /// Takes what matches, and all that is in it, away from all six tools. It is judged by what a path leads to, so no
    /// link and no search leads there.
    ///
    /// The glob is relative to each folder: `*` stays within a folder, `**` crosses folders, a glob without a slash
    /// matches at any depth, and case does not matter.
    pub fn deny(mut self, glob: impl Into<String>) -> Result<Self, FilesError> {
        self.access.denied = self.access.denied.and(glob.into())?;
        Ok(self)
    }

    /// Keeps what matches, and all that is in it, from being written, whether or not it is there yet. Globs are as in
    /// [`deny`](Self::deny).
    pub fn protect(mut self, glob: impl Into<String>) -> Result<Self, FilesError> {
        self.access.protected = self.access.protected.and(glob.into())?;
        Ok(self)
    }

    /// Protects nothing, not even [`PROTECTED`](crate::PROTECTED).
    #[must_use]
    pub fn unprotected(mut self) -> Self {
        self.access.protected = PathRules::default();
        self.access.protects_names = false;
        self
    }

    /// Asks a person about what lies outside of the folders, and about what is protected by its name, instead of refusing
    /// it. A person's yes counts for that call alone; no rule and no hook can give it. What [`protect`](Self::protect) and
    /// [`close`](Self::close) name, and the policies of agents, stay as they are.
    #[must_use]
    pub fn ask_people(mut self) -> Self {
        self.access.asks = true;
        self
    }

    /// Lets people grant folders outside to a session: what commands were granted holds for these tools, too, and questions
    /// about a folder can be answered for the session. Takes the handle of the [`Bash`](crate::bash::Bash) of the same agent.
    #[must_use]
    pub fn granted_by(mut self, lift: &Lift) -> Self {
        self.access.lift = Some(lift.clone());
        self
    }

    /// Closes this file or folder to all tools, wherever it lies and whatever a person says.
    #[must_use]
    pub fn close(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        self.access.closed.extend(path.canonicalize().ok());
        self.access.closed.push(path.to_owned());
        self
    }

    /// Hides the secrets of files behind marks, and puts them back where the model writes a mark into the file that it
    /// read the mark in. Give it the same redaction as the agent.
    ///
    /// ```
    /// # use vertebra_kit::{files::Files, redaction::Redaction};
    /// # let folder = tempfile::tempdir()?;
    /// let redaction = Redaction::default();
    /// let files = Files::new(folder.path())?.redaction(&redaction);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn redaction(mut self, redaction: &Redaction) -> Self {
        self.access.marks = Some(Marks::new(redaction));
        self
    }

    /// Lets the model change files that it has not read.
    #[must_use]
    pub fn write_unread(mut self) -> Self {
        self.access.write_unread = true;
        self
    }

    /// Leaves out the tools that write.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets how much a tool takes on.
    #[must_use]
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.access.bounds = bounds;
        self
    }

    /// Keeps files as they were before each prompt, for this handle to put back.
    #[must_use]
    pub fn undo(mut self, undo: &Undo) -> Self {
        self.access.undo = Some(undo.clone());
        self
    }

    /// The globs that are protected besides [`PROTECTED`](crate::PROTECTED).
    pub fn protected(&self) -> &[String] {
        self.access.protected.patterns()
    }
}

impl Capability for Files {
    fn install(self, kit: &mut Kit) {
        let seen = self.access.bounds.seen;
        let access = Arc::new(self.access);
        kit.working_directory(access.home.name().to_string_lossy());
        // A session that has something in a folder of its own is told so when it does.
        let others: Vec<&Root> = access.others.iter().filter(|root| root.may() == May::Read).collect();
        if !others.is_empty() {
            let names: Vec<String> = others.iter().map(|root| show(root.name())).collect();
            kit.instruct(format!("Files in these folders can be read too, by absolute path: {}.", names.join(", ")));
        }
        let spec = ToolSpec::new;
        let read = spec("read_file", "Reads a text file, with line numbers.").alias("Read").read_only();
        let list = spec("list_dir", "Lists the names in a folder.").alias("LS").read_only();
        let search =
            spec("search_files", "Finds files by name. What git ignores is passed over.").alias("Glob").read_only();
        let grep = spec("grep", "Finds lines in files by a regular expression. What git ignores is passed over.");
        kit.tool(FileTool::new(read, &access, read::read_file, read::look))
            .tool(FileTool::new(list, &access, list::list_dir, list::look))
            .tool(FileTool::new(search, &access, search::search_files, search::look))
            .tool(FileTool::new(grep.read_only(), &access, grep::grep, grep::look));
        settle_arguments(kit);
        if let Some(lift) = access.lift.clone() {
            remember_grants(kit, lift);
        }
        if self.read_only {
            return;
        }
        let write = "Writes a whole file. One that is there already must have been read first.";
        let write = ToolSpec { idempotent: true, ..spec("write_file", write).alias("Write") };
        let edit = "Replaces a text in a file that was read before. The text must be there exactly once.";
        let edit = spec("edit_file", edit).alias("Edit");
        let (write, edit) = if access.marks.is_some() { (write.restores(), edit.restores()) } else { (write, edit) };
        kit.tool(FileTool::new(write, &access, write::write_file, write::look)).tool(FileTool::new(
            edit,
            &access,
            edit::edit_file,
            edit::look,
        ));
        let showing = access.clone();
        // What it keeps is in memory, so a replay finds the same state.
        let showed =
            |used: &ToolUsed| used.result.status == ToolStatus::Done && used.call.command().is_some_and(may_show);
        kit.watch(AfterToolUse.tool("bash").when(showed).named("files/commands").optional(), async move |cx| {
            let command = cx.command().unwrap_or_default().to_owned();
            let (printed, data) = (cx.result.output.clone(), &cx.result.data);
            let Some((from, began)) = data["from"].as_str().zip(data["began_ms"].as_u64()) else { return Ok(()) };
            // The command has read it already: nobody has to be asked.
            let (names, consent) = (vec!["read_file".to_owned(), "Read".to_owned()], Consent::Wanted(Mutex::default()));
            let left = CancellationToken::new();
            let mut job = showing.job(cx.scope(), cx.state(), left, (names, consent)).map_err(|error| told(&error))?;
            job.working_directory = from.into();
            let (from, all_ran) = (from.to_owned(), cx.result.exit_code == Some(0));
            let remember = move || {
                for (path, sure) in shown_by(&command, &from, &printed) {
                    let sure = if all_ran { sure } else { Sure::IfPrinted };
                    // A file that cannot be remembered has to be read again, with read_file.
                    _ = job.was_shown(&path, sure, began, &printed);
                }
            };
            tokio::task::spawn_blocking(remember).await?;
            Ok(())
        });
        kit.on(AfterToolUse.tool("read_file|write_file|edit_file").named("files/seen"), async move |cx| {
            let (run, result) = (cx.at.run.run_id.clone(), cx.result.clone());
            seen::remember(cx.state_mut(), &run, &result, seen)?;
            proceed()
        });
        if let Some(undo) = access.undo.clone() {
            let ending = undo.clone();
            // A subagent works for the prompt that started it.
            kit.on(ExecutionStart.named("files/prompt").own_agent_only(), async move |cx| {
                undo.begin(&cx.at.run.session_id, &cx.prompt);
                proceed()
            });
            kit.watch(SessionEnd.named("files/forget").own_agent_only(), async move |cx| {
                ending.forget(&cx.at.run.session_id);
                Ok(())
            });
        }
    }
}

/// Brings the arguments into the form that rules, guards and tools read: known names, and paths from where commands run.
fn settle_arguments(kit: &mut Kit) {
    let respelled = |asked: &ToolAsked| {
        let args = &asked.call.args;
        asked.call.malformed.is_none() && SPELLINGS.iter().any(|(other, name)| is_respelled(args, other, name))
    };
    kit.on(
        BeforeToolUse.tool("read_file|write_file|edit_file").when(respelled).named("files/arguments").priority(-2000),
        async |cx| {
            let args = cx.args_mut();
            for (other, name) in SPELLINGS {
                if is_respelled(args, other, name)
                    && let Some(value) = args.remove(other)
                {
                    args.set(*name, value);
                }
            }
            proceed()
        },
    );
    // Relative paths begin where those of commands do. Rules and guards then judge the path that is opened.
    kit.on(
        BeforeToolUse
            .tool("read_file|write_file|edit_file|list_dir|search_files|grep")
            .named("files/folder")
            .priority(-1900),
        async |cx| {
            let needs_path = matches!(&*cx.tool, "read_file" | "write_file" | "edit_file");
            let path = cx.args.text("path").or((!needs_path && cx.args.get("path").is_none()).then_some("."));
            let path = path.and_then(|path| from_shell(cx.state(), &cx.at.run.working_directory, path));
            if let Some(path) = path.filter(|_| cx.malformed.is_none()) {
                cx.args_mut().set("path", path);
            }
            proceed()
        },
    );
    // Guards match by path: where a search begins must be there for them to see.
    kit.on(BeforeToolUse.tool("list_dir|search_files|grep").named("files/here"), async |cx| {
        if cx.malformed.is_none() && cx.args.get("path").is_none() {
            cx.args_mut().set("path", ".");
        }
        proceed()
    });
}

/// Keeps what the session was granted, for a replay and for when the session is resumed.
fn remember_grants(kit: &mut Kit, lift: Lift) {
    let granted = |used: &ToolUsed| !used.result.data["granted"].is_null();
    kit.add_hook(AfterToolUse.tool(TOOLS).when(granted).named("files/granted"), Remember(lift));
}

/// All tools.
const TOOLS: &str = "read_file|list_dir|search_files|grep|write_file|edit_file";

/// How models spell the arguments that other agents call otherwise.
const SPELLINGS: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filepath", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("old_str", "old_string"),
    ("new_str", "new_string"),
    ("file_text", "content"),
    ("contents", "content"),
];

fn is_respelled(args: &Args, other: &str, name: &str) -> bool {
    args.get(other).is_some() && args.get(name).is_none()
}

fn told(error: &ToolError) -> HookError {
    HookError::new(error.to_string())
}

/// A name or path for people and models to read: one that would break a line or hide something is quoted.
fn show(path: impl AsRef<OsStr>) -> String {
    let text = path.as_ref().to_string_lossy();
    let hides = |c: char| c.is_control() || is_invisible(c) || is_joiner(c);
    if text.chars().any(hides) { format!("{text:?}") } else { text.into_owned() }
}

fn push_line(text: &mut String, line: fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::show;

    #[test]
    fn a_name_that_breaks_a_line_or_hides_something_is_quoted() {
        for plain in ["src/a b.rs", "größe", "cafe\u{301}", r"a\b", "it's \"so\""] {
            assert_eq!(show(plain), plain);
        }
        assert_eq!(show("a\nb"), r#""a\nb""#);
        assert_eq!(show("a\u{202e}gpj.exe"), r#""a\u{202e}gpj.exe""#);
        assert_eq!(show("a\u{200b}"), r#""a\u{200b}""#);
    }
}
