//! Results too long for a conversation: kept in files, with a preview in their place.

use std::{
    collections::{HashMap, VecDeque},
    io,
    path::PathBuf,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::{fs, sync::Mutex};
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::cut::head_and_tail;

pub(super) const READ: &str = "read_offloaded";
const MARK: &str = "[offloaded: ";

/// Keeps long results in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offload {
    /// Results longer than this go to a file; about 2500 tokens.
    pub over_bytes: usize,
    /// How much of one stays in the conversation: its head and its tail.
    pub preview_chars: usize,
    /// How much the model reads at once unless it says, and at most.
    pub page_bytes: usize,
    /// How much is kept for one session. Beyond that the oldest goes.
    pub max_total_bytes: u64,
    /// Where files go, one folder for each session, which stays. Without it they go to a temporary folder that ends with
    /// the session.
    pub folder: Option<PathBuf>,
}

impl Default for Offload {
    fn default() -> Self {
        Self { over_bytes: 10_000, preview_chars: 4000, page_bytes: 8 * 1024, max_total_bytes: 64 << 20, folder: None }
    }
}

/// What stands at the beginning of a preview: how to have the rest.
pub(super) fn handle(output: &str) -> Option<&str> {
    output.strip_prefix(MARK)?.split_once(']').map(|(handle, _)| handle).filter(|handle| handle.len() < 200)
}

/// What is kept, by session. A clone is another handle to the same shelf.
#[derive(Clone)]
pub(super) struct Shelf {
    pub(super) knobs: Arc<Offload>,
    sessions: Arc<Mutex<HashMap<Arc<str>, Kept>>>,
}

/// What is kept for one session.
struct Kept {
    place: Place,
    entries: VecDeque<Entry>,
    count: u64,
    total: u64,
}

enum Place {
    Temporary(TempDir),
    Given(PathBuf),
}

struct Entry {
    id: String,
    path: PathBuf,
    bytes: u64,
}

impl Shelf {
    pub(super) fn new(knobs: Offload) -> Self {
        Self { knobs: Arc::new(knobs), sessions: Arc::default() }
    }

    /// Keeps a text, and answers with its number, which is above `before`, and what stands in its place; `None` if it is
    /// more than is ever kept.
    pub(super) async fn put(&self, session: &Arc<str>, before: u64, text: &str) -> io::Result<Option<(u64, String)>> {
        let bytes = text.len() as u64;
        if bytes > self.knobs.max_total_bytes {
            return Ok(None);
        }
        let mut sessions = self.sessions.lock().await;
        if !sessions.contains_key(session) {
            sessions.insert(session.clone(), Kept::open(&self.knobs, session).await?);
        }
        let Some(kept) = sessions.get_mut(session) else { return Ok(None) };
        while kept.total + bytes > self.knobs.max_total_bytes {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.total -= oldest.bytes;
            fs::remove_file(&oldest.path).await?;
        }
        kept.count = kept.count.max(before).saturating_add(1);
        let id = format!("off-{}", kept.count);
        let path = kept.folder().join(format!("{id}.txt"));
        fs::write(&path, text).await?;
        kept.total += bytes;
        kept.entries.push_back(Entry { id: id.clone(), path, bytes });
        let preview = head_and_tail(text, self.knobs.preview_chars);
        Ok(Some((kept.count, format!("{MARK}{bytes} bytes kept as `{id}`, {READ} reads them]\n{preview}"))))
    }

    /// A page of what is kept.
    async fn page(&self, session: &str, wanted: Page) -> Result<String, ToolError> {
        let path = self.path(session, &wanted.id).await?;
        let text = fs::read_to_string(path).await?;
        let limit = wanted.limit.map_or(self.knobs.page_bytes, |limit| limit.clamp(1, self.knobs.page_bytes));
        let begin = text.floor_char_boundary(wanted.offset.min(text.len()));
        // Forward, or a page smaller than a character would never end.
        let end = text.ceil_char_boundary((begin + limit).min(text.len()));
        let next = if end < text.len() { format!("next offset: {end}") } else { "the end".to_owned() };
        Ok(format!("[bytes {begin} to {end} of {}; {next}]\n{}", text.len(), &text[begin..end]))
    }

    async fn path(&self, session: &str, id: &str) -> Result<PathBuf, ToolError> {
        let sessions = self.sessions.lock().await;
        let entries = sessions.get(session).map(|kept| &kept.entries);
        if let Some(entry) = entries.into_iter().flatten().find(|entry| entry.id == id) {
            return Ok(entry.path.clone());
        }
        let ids: Vec<&str> = entries.into_iter().flatten().map(|entry| &*entry.id).collect();
        Err(ToolError::new(format!("nothing is kept as `{id}`; there is: {}", ids.join(", "))))
    }

    /// Forgets a session.
    pub(super) async fn close(&self, session: &str) {
        let Some(kept) = self.sessions.lock().await.remove(session) else { return };
        if let Place::Temporary(folder) = kept.place
            && let Err(error) = folder.close()
        {
            tracing::warn!(%error, "a temporary folder of offloaded results could not be removed");
        }
    }
}

impl Kept {
    async fn open(knobs: &Offload, session: &str) -> io::Result<Self> {
        let place = match &knobs.folder {
            Some(folder) => {
                let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                let folder = folder.join(session.chars().map(safe).collect::<String>());
                let mut private = fs::DirBuilder::new();
                #[cfg(unix)]
                private.mode(0o700);
                private.recursive(true).create(&folder).await?;
                Place::Given(folder)
            }
            None => Place::Temporary(tempfile::Builder::new().prefix("vertebra-offload-").tempdir()?),
        };
        Ok(Self { place, entries: VecDeque::new(), count: 0, total: 0 })
    }

    fn folder(&self) -> &std::path::Path {
        match &self.place {
            Place::Temporary(folder) => folder.path(),
            Place::Given(folder) => folder,
        }
    }
}

/// What is read of what is kept.
#[derive(Deserialize, JsonSchema)]
struct Page {
    /// The name under which it is kept.
    id: String,
    /// Where to begin, in bytes.
    #[serde(default)]
    offset: usize,
    /// How many bytes.
    limit: Option<usize>,
}

/// Pages through what was offloaded.
pub(super) struct ReadOffloaded(pub(super) Shelf);

impl Tool for ReadOffloaded {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(READ, "Reads a long result that was kept outside the conversation, page by page")
            .input::<Page>()
            .recalls()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        Ok(self.0.page(&invocation.run().info().session_id, args.parse()?).await?.into())
    }
}
