//! Edits arguments in the editor of the user.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    process::Stdio,
};

use vertebra::Args;

/// The largest edited text.
const MAX_BYTES: u64 = 1 << 20;

/// The command of an editor: its program and arguments. It is started without a shell.
#[derive(Debug, Clone)]
pub(super) struct Editor(Vec<String>);

impl Editor {
    /// `$VISUAL`, or `$EDITOR`.
    pub(super) fn from_environment() -> Option<Self> {
        ["VISUAL", "EDITOR"].iter().find_map(|name| Self::new(&std::env::var(name).ok()?))
    }

    pub(super) fn new(command: &str) -> Option<Self> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// Opens the arguments as JSON in the editor on this terminal and returns the edited text.
    pub(super) async fn edit(&self, args: &Args, terminal: File) -> io::Result<String> {
        // Only its owner can read the file, and its name cannot be guessed.
        let mut file = tempfile::Builder::new().prefix("arguments-").suffix(".json").tempfile()?;
        file.write_all(serde_json::to_string_pretty(args)?.as_bytes())?;
        file.flush()?;
        let status = tokio::process::Command::new(&self.0[0])
            .args(&self.0[1..])
            .arg(file.path())
            .stdin(Stdio::from(terminal.try_clone()?))
            .stdout(Stdio::from(terminal.try_clone()?))
            .stderr(Stdio::from(terminal))
            .kill_on_drop(true)
            .status()
            .await?;
        if !status.success() {
            return Err(io::Error::other(format!("the editor ended with {status}")));
        }
        // Opened anew: some editors put another file in its place.
        let mut text = String::new();
        File::open(file.path())?.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }
}
