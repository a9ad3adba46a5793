//! Files below one folder, through a handle to it: read, write, edit, list, find, search.

mod asks;
mod edit;
mod escapes;
mod find;
mod marks;
mod races;
mod read;
mod rules;
mod sequences;
mod undo;
mod write;

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;
use vertebra::{Agent, AgentBuilder, Message, Session, ToolResult, ToolStatus, testing::Script};
use vertebra_kit::files::{Bounds, Files};

use crate::{sheet::Sheet, support::built};

pub(crate) fn sheet() -> Sheet {
    let Bounds { read_lines, output_bytes, file_bytes, search_bytes, list_entries, results, .. } = Bounds::default();
    let Bounds { walk_entries, walk_depth, time, seen, .. } = Bounds::default();
    Sheet {
        name: "Files",
        purpose: "Reads, writes, edits, lists, finds and searches files below one folder, and cannot leave it.",
        install: |builder| {
            builder.with(Files::new(env!("CARGO_MANIFEST_DIR")).expect("a folder"));
        },
        knobs: vec![
            ("also_read", "no other folder".to_owned()),
            ("deny", "nothing".to_owned()),
            ("protect", vertebra_kit::PROTECTED.join(", ")),
            ("write_unread", "no: a file must be read before it is changed".to_owned()),
            ("read_only", "no".to_owned()),
            ("undo", "off".to_owned()),
            ("read_lines", read_lines.to_string()),
            ("output_bytes", output_bytes.to_string()),
            ("file_bytes", file_bytes.to_string()),
            ("search_bytes", search_bytes.to_string()),
            ("list_entries", list_entries.to_string()),
            ("results", results.to_string()),
            ("walk_entries", walk_entries.to_string()),
            ("walk_depth", walk_depth.to_string()),
            ("time", format!("{time:?}")),
            ("seen", seen.to_string()),
        ],
    }
}

/// A folder for an agent, and a folder outside of it with a secret.
struct World {
    dir: TempDir,
}

const SECRET: &str = "the-canary-sings";

impl World {
    fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().expect("a folder") };
        fs::create_dir(world.root()).expect("a folder");
        fs::create_dir(world.outside()).expect("a folder");
        fs::write(world.outside().join("secret.txt"), SECRET).expect("a file");
        world
    }

    /// A world with one file `a.txt`.
    fn with(content: impl AsRef<[u8]>) -> Self {
        let world = Self::new();
        world.put("a.txt", content);
        world
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn put(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root().join(path)).expect("a link");
    }

    fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).expect("a file")
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.get(path)).expect("text")
    }

    fn inode(&self, path: &str) -> u64 {
        fs::metadata(self.root().join(path)).expect("a file").ino()
    }

    /// The names in the folder, sorted: nothing is left behind.
    fn names(&self) -> Vec<String> {
        names(&self.root())
    }

    /// Checks that nothing outside was touched.
    #[track_caller]
    fn assert_unharmed(&self) {
        assert_eq!(names(&self.outside()), ["secret.txt"]);
        assert_eq!(fs::read_to_string(self.outside().join("secret.txt")).expect("the secret"), SECRET);
    }

    fn files(&self) -> Files {
        Files::new(self.root()).expect("a folder")
    }

    async fn talk(&self) -> Talk {
        Talk::new(self.files(), |_| {}).await
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// One session in which a scripted model uses the tools.
struct Talk {
    script: Script,
    agent: Agent,
    session: Session,
}

impl Talk {
    async fn new(files: Files, change: impl FnOnce(&mut AgentBuilder)) -> Self {
        let script = Script::new();
        let mut builder = Agent::builder(script.clone());
        builder.max_steps(1000).with(files);
        change(&mut builder);
        let agent = built(&mut builder);
        let session = agent.session().await.expect("a session");
        Self { script, agent, session }
    }

    /// Uses these tools at once. A turn of its own each time, so that tests can do things in between.
    async fn calls(&mut self, calls: &[(&str, Value)]) -> Vec<ToolResult> {
        let texts: Vec<(&str, String)> = calls.iter().map(|(tool, args)| (*tool, args.to_string())).collect();
        let calls = texts.iter().map(|(tool, args)| (*tool, args.as_str()));
        let _ = self.script.clone().calls(calls).say("done");
        self.session.prompt("go").await.expect("a run");
        let state = self.session.state().await;
        let results: Vec<ToolResult> = state
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Tool { result, .. } => Some(result.clone()),
                Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
            })
            .collect();
        results[results.len() - texts.len()..].to_vec()
    }

    async fn call(&mut self, tool: &str, args: Value) -> ToolResult {
        self.calls(&[(tool, args)]).await.remove(0)
    }

    /// What a call says that works.
    async fn ok(&mut self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args.clone()).await;
        assert!(result.success, "{tool} {args}: {}", result.output);
        result.output
    }

    /// What a call says that does not.
    async fn refused(&mut self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args.clone()).await;
        assert_eq!((result.status, result.success), (ToolStatus::Failed, false), "{tool} {args}: {}", result.output);
        result.output
    }
}
