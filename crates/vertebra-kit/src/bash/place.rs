//! Where commands run: the folder that `cd` left, as long as it is one they may be in.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use vertebra::{AfterToolUse, AgentState, Answer, Hook, ToolCx, ToolUsedCx, paths::absolute, proceed, shell::quote};

use super::{
    Lift, TOOL,
    folders::{FolderError, Folders, Opened},
    grants::GRANTED,
    sandbox::{Folder, Use},
};

/// The metadata under which a session keeps the folder.
pub const CWD: &str = "bash/cwd";

/// The longest path that is believed.
const PATH_BYTES: u64 = 4096;

/// Where a command that is asked for would begin, if it is our tool that runs it and a command before it has moved.
pub(crate) fn here(cx: &ToolCx<'_>) -> Option<String> {
    let went = cx.state().metadata().get(CWD).and_then(|folder| folder.as_str());
    went.filter(|_| &*cx.tool == TOOL).map(str::to_owned)
}

/// A path of a call as it is from the agent's own folder, if a command before has left another one, where relative paths begin.
pub(crate) fn from_shell(state: &AgentState, folder: &str, path: &str) -> Option<String> {
    let went = state.metadata().get(CWD)?.as_str().filter(|cwd| is_there(cwd))?;
    let home = Path::new(folder).canonicalize().ok()?;
    if path.starts_with(['/', '~']) || path.contains("://") || Path::new(went) == home {
        return None;
    }
    let path = PathBuf::from(absolute(went, path));
    let below = path.strip_prefix(&home).unwrap_or(&path);
    let text = below.to_str()?;
    Some(if text.is_empty() { "." } else { text }.to_owned())
}

/// The call that runs only in a whole sandbox.
const REQUIRED: &str = "bash/sandbox";

/// Lets a call of our tool run only in a whole sandbox.
pub(crate) fn require_sandbox(state: &mut AgentState, call: &str) {
    state.metadata_mut().set(REQUIRED, call);
}

/// Returns whether a call runs only in a whole sandbox.
pub(crate) fn is_sandbox_required(state: &AgentState, call: &str) -> bool {
    state.metadata().get(REQUIRED).and_then(|value| value.as_str()) == Some(call)
}

/// The folders commands may be in: the one they belong to, and those they may write to besides.
pub(super) struct Places {
    home: Arc<Opened>,
    also: Vec<(Arc<Opened>, Use)>,
}

/// Where a command begins or has ended.
pub(super) struct Stand {
    pub(super) folder: PathBuf,
    /// Why it is not where the last command left it.
    pub(super) remark: Option<String>,
}

impl Places {
    /// Opens the folders, or finds them as this session has opened them. Those besides that are not there are left out.
    pub(super) fn new(
        folders: &Folders,
        session: &str,
        folder: &Path,
        also: impl IntoIterator<Item = (PathBuf, Use)>,
    ) -> Result<Self, (PathBuf, FolderError)> {
        let home = folders.open(session, folder).map_err(|error| (folder.to_owned(), error))?;
        let mut places = Self { home, also: Vec::new() };
        for (path, used) in also {
            match folders.open(session, &path) {
                Ok(opened) => places.also.push((opened, used)),
                Err(FolderError::Gone { .. }) => {}
                Err(error @ FolderError::Replaced) => return Err((path, error)),
            }
        }
        Ok(places)
    }

    pub(super) fn home(&self) -> &Path {
        &self.home.path
    }

    /// The folder and those besides, resolved.
    pub(super) fn writable(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.home.path).chain(self.also.iter().map(|(opened, _)| &opened.path))
    }

    /// The same by their identity, each once.
    pub(super) fn folders(&self) -> Vec<Folder> {
        let all =
            std::iter::once((&self.home, Use::Work)).chain(self.also.iter().map(|(opened, used)| (opened, *used)));
        let mut folders: Vec<Folder> = Vec::new();
        for (opened, used) in all {
            let Opened { path, device, inode, .. } = &**opened;
            if !folders.iter().any(|folder| (folder.device, folder.inode) == (*device, *inode)) {
                folders.push(Folder { path: path.clone(), device: *device, inode: *inode, used });
            }
        }
        folders
    }

    /// Where the next command of this session begins. With a remark it is not where the call was judged to begin.
    pub(super) fn begin(&self, state: &AgentState) -> Stand {
        match state.metadata().get(CWD).and_then(|cwd| cwd.as_str()) {
            Some(cwd) if is_there(cwd) => self.stand(Path::new(cwd)),
            Some(cwd) => self.back(Path::new(cwd), "is gone"),
            None => Stand { folder: self.home.path.clone(), remark: None },
        }
    }

    fn back(&self, asked: &Path, why: &str) -> Stand {
        let remark = format!("the folder {} {why}: commands go on in {}", asked.display(), self.home.path.display());
        Stand { folder: self.home.path.clone(), remark: Some(remark) }
    }

    /// A folder that was asked for, if commands may be there, and else the one they belong to.
    fn stand(&self, asked: &Path) -> Stand {
        self.stand_after(asked, &[])
    }

    /// The same for the command after one that could write some folders only once.
    pub(super) fn stand_after(&self, asked: &Path, once: &[PathBuf]) -> Stand {
        let Ok(folder) = asked.canonicalize() else { return self.back(asked, "is gone") };
        let mut lasting = self.writable().filter(|place| !once.contains(place));
        if !folder.is_dir() {
            self.back(asked, "is gone")
        } else if lasting.any(|place| folder.starts_with(place)) {
            Stand { folder, remark: None }
        } else {
            self.back(asked, "is outside of what commands may write")
        }
    }
}

/// Whether a folder that a command left is still there. A link in its place leads elsewhere.
fn is_there(cwd: &str) -> bool {
    Path::new(cwd).canonicalize().is_ok_and(|real| real == Path::new(cwd) && real.is_dir())
}

/// A file in which the shell notes its last folder. The command may write anything to it, so it is only a suggestion. It is
/// in a folder of its own: once that is removed, a shell that ends late does not make the file again.
pub(super) struct Note {
    folder: TempDir,
    file: File,
}

/// The name of the file.
const NOTE: &str = "cwd";

impl Note {
    pub(super) fn in_folder(temporary: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("vertebra-").tempdir_in(temporary)?;
        let file = File::options().read(true).append(true).create_new(true).open(folder.path().join(NOTE))?;
        Ok(Self { folder, file })
    }

    /// The command, preceded on its own line by the order to note the folder when the shell ends, however it ends.
    pub(super) fn script(&self, command: &str) -> String {
        // A job that is killed before it has become a program ends with the same order, and has to leave it.
        let file = self.folder.path().join(NOTE);
        let file = file.to_string_lossy();
        let file = quote(&file);
        let noting = format!("[[ $BASHPID != $$ ]] || {{ builtin pwd -P >>{file}; }} 2>/dev/null");
        format!("trap {} EXIT;{command}", quote(&noting))
    }

    /// All that was noted, if it is text. Read by the handle: the path may lead elsewhere by now.
    pub(super) fn read(mut self) -> io::Result<String> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.take(PATH_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Keeps the folder for the next call of the agent, and what the session was granted.
pub(crate) struct Remember(pub(crate) Lift);

impl Hook<AfterToolUse> for Remember {
    async fn run(&self, cx: &mut ToolUsedCx<'_>) -> Answer<AfterToolUse> {
        let data = &cx.result.data;
        if data["moved"] == true
            && let Some(cwd) = data["cwd"].as_str().map(str::to_owned)
        {
            cx.state_mut().metadata_mut().set(CWD, cwd);
        }
        let granted = cx.result.data["granted"].clone();
        if !granted.is_null() && cx.state().metadata().get(GRANTED) != Some(&granted) {
            // In a replay this is where it is known from.
            self.0.restore(&cx.at.run.session_id, &granted);
            cx.state_mut().metadata_mut().set(GRANTED, granted);
        }
        proceed()
    }
}
