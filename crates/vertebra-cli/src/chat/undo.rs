//! `/undo` and `/redo`: restores the files that a prompt changed, and takes that back.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{io::AsyncReadExt as _, process::Command, time::timeout};
use vertebra_kit::files::{Latest, Undone};

use super::Chat;
use crate::view::text::{counted, cut, on_one_line};

/// The longest prompt that is shown.
const MAX_PROMPT: usize = 60;
/// How many files are looked up in the last commit.
const MAX_LOOKED_AT: usize = 50;
/// The largest file that is read from the last commit.
const MAX_BYTES: u64 = 16 << 20;
/// How long git may take for one file.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many files are named.
const MAX_FILES: usize = 5;

impl Chat {
    /// Undoes the latest prompt that changed files. Asks first if that is not what the user sees as the latest change.
    pub(super) async fn undo(&mut self) {
        let (undo, session) = (self.undo.clone(), self.session.id().to_owned());
        if let Some(latest) = undo.latest(&session) {
            let is_committed = is_committed(&self.folder, &latest.files).await;
            if let Some(question) = question(&latest, is_committed)
                && !self.desk.confirm(&question).await
            {
                self.desk.note("nothing was undone");
                return;
            }
        }
        match tokio::task::spawn_blocking(move || undo.undo(&session)).await {
            Ok(undone) => self.tell_undone(&undone, "undid"),
            Err(error) => self.desk.complain(&error.to_string()),
        }
    }

    /// Applies again what the last `/undo` took back.
    pub(super) async fn redo(&mut self) {
        let (undo, session) = (self.undo.clone(), self.session.id().to_owned());
        match tokio::task::spawn_blocking(move || undo.redo(&session)).await {
            Ok(redone) if redone.prompt.is_none() => self.desk.tell("nothing to redo"),
            Ok(redone) => self.tell_undone(&redone, "redid"),
            Err(error) => self.desk.complain(&error.to_string()),
        }
    }

    /// Informs the user now, and the model with the next prompt.
    fn tell_undone(&mut self, undone: &Undone, did: &str) {
        if let Some(prompt) = &undone.prompt {
            let prompt = shown(prompt);
            self.desk.note(&format!("{did} the changes of “{prompt}”"));
            let Undone { restored, removed, .. } = undone;
            let changed: Vec<&str> = restored.iter().chain(removed).map(String::as_str).collect();
            if !changed.is_empty() {
                let files = changed.join(", ");
                self.notes.push(format!(
                    "The user {did} the file changes of the prompt “{prompt}”. These files have changed on disk: {files}. \
                     Read them again before you use them."
                ));
            }
        }
        self.desk.tell(&undone.to_string());
    }
}

/// The question to the user, if an undo reaches further back than they may think.
fn question(latest: &Latest, is_committed: bool) -> Option<String> {
    let mut why = Vec::new();
    if latest.prompts_ago > 0 {
        why.push(format!("{} ago", counted(latest.prompts_ago, "prompt")));
    }
    if is_committed {
        why.push("committed since".to_owned());
    }
    if why.is_empty() {
        return None;
    }
    let mut files: Vec<String> =
        latest.files.iter().take(MAX_FILES).map(|file| on_one_line(&file.to_string_lossy())).collect();
    if let more @ 1.. = latest.files.len().saturating_sub(MAX_FILES) {
        files.push(format!("{more} more"));
    }
    Some(format!("undo what “{}” ({}) changed in {}?", shown(&latest.prompt), why.join(", "), files.join(", ")))
}

fn shown(prompt: &str) -> String {
    cut(&on_one_line(prompt), MAX_PROMPT).into_owned()
}

/// Returns whether the content of one of these files is that of the last commit, so that an undo changes committed work.
///
/// `git cat-file` reads an object and starts no program that the repository names; it may not fetch one either.
async fn is_committed(folder: &Path, files: &[PathBuf]) -> bool {
    for file in files.iter().take(MAX_LOOKED_AT) {
        let looked = timeout(PATIENCE, committed_bytes(folder, file)).await.ok().flatten();
        if let Some(committed) = looked
            && tokio::fs::read(folder.join(file)).await.is_ok_and(|now| now == committed)
        {
            return true;
        }
    }
    false
}

async fn committed_bytes(folder: &Path, file: &Path) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "protocol.allow=never", "cat-file", "blob"]);
    git.arg(format!("HEAD:./{}", file.display()));
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = git.spawn().ok()?;
    let mut bytes = Vec::new();
    child.stdout.take()?.take(MAX_BYTES).read_to_end(&mut bytes).await.ok()?;
    child.wait().await.ok()?.success().then_some(bytes)
}
