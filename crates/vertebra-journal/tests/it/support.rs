//! Lines to write, files to write them to, and other processes that do.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use jiff::Timestamp;
use tempfile::TempDir;
use vertebra::{
    Approval, Args, BeforeToolUse, Checkpoint, Entry, Journal, JournalError, ModelId, RunReport, RunStatus, Stop,
    StopReason, ToolCall, Usage, What, testing::at,
};
use vertebra_journal::{Options, Store, Sync};

pub(crate) const OFTEN: Options = Options { sync: Sync::Process, chain: false };

/// A folder with a journal in it.
pub(crate) struct Area {
    pub(crate) folder: TempDir,
}

impl Area {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    pub(crate) fn open(&self) -> Store {
        self.open_with(OFTEN)
    }

    pub(crate) fn open_with(&self, options: Options) -> Store {
        Store::open(self.path(), &options).expect("a journal")
    }

    pub(crate) fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).and_then(|file| file.execute_batch(sql)).expect("plain SQL");
    }
}

pub(crate) fn entry(session: &str, what: What) -> Entry {
    Entry {
        session_id: session.into(),
        run_id: "run-1".into(),
        within: None,
        timestamp: Timestamp::from_second(1_800_000_000).expect("a moment"),
        what,
    }
}

pub(crate) fn began(session: &str) -> Entry {
    entry(
        session,
        What::SessionBegan {
            agent: "coder".into(),
            working_directory: "/project".into(),
            model: ModelId::new("acme", "small"),
            forked_from: None,
        },
    )
}

/// A line nobody has to wait for.
pub(crate) fn step(session: &str, step: u32) -> Entry {
    entry(session, What::StepBegan { step })
}

/// A line that must last.
pub(crate) fn started(session: &str, call: u32) -> Entry {
    entry(session, What::ToolStarted { call_id: format!("call-{call}").into(), key: "key".to_owned() })
}

pub(crate) fn run_began(session: &str, prompt: &str) -> Entry {
    entry(
        session,
        What::RunBegan {
            prompt: prompt.into(),
            agent: "coder".into(),
            depth: 0,
            parent: None,
            for_call: None,
            foreign: false,
        },
    )
}

pub(crate) fn answered(session: &str, usage: Usage) -> Entry {
    entry(
        session,
        What::ModelAnswered {
            key: "key".to_owned(),
            usage,
            response: None,
            veiled: false,
            undecided: false,
            halted: None,
            error: None,
        },
    )
}

pub(crate) fn checkpoint(session: &str, starts_over: bool) -> Entry {
    entry(session, What::Checkpoint(Box::new(Checkpoint { starts_over, ..Checkpoint::default() })))
}

pub(crate) fn run_ended(session: &str, starts_over: bool) -> Entry {
    let report = RunReport {
        session_id: session.into(),
        run_id: "run-1".into(),
        status: RunStatus::Completed,
        stop: Stop::soft(StopReason::Finished, "model", "done"),
        text: String::new(),
        steps: 1,
        tool_calls: 0,
        usage: Usage::default(),
        duration_ms: 1,
    };
    let checkpoint = Box::new(Checkpoint { starts_over, ..Checkpoint::default() });
    entry(session, What::RunEnded { report: Box::new(report), checkpoint })
}

pub(crate) fn suspended(session: &str) -> Entry {
    entry(session, What::Suspended { message: "a person".to_owned() })
}

pub(crate) fn ended(session: &str) -> Entry {
    entry(session, What::SessionEnded)
}

/// A question of `run-1` about a call.
pub(crate) fn approval(session: &str, call: &str, digest: &str) -> Approval {
    let mut at = at(BeforeToolUse);
    let mut run = (*at.run).clone();
    (run.session_id, run.run_id) = (session.into(), "run-1".into());
    at.run = run.into();
    Approval {
        at,
        call: ToolCall::new(call, "bash", Args::default()),
        digest: digest.to_owned(),
        reason: "sure?".to_owned(),
        asked_by: "careful".into(),
        preview: None,
        only_once: false,
    }
}

pub(crate) fn asked(approval: &Approval, until: Timestamp) -> Entry {
    let approval = Box::new(approval.clone());
    entry(&approval.at.run.session_id.clone(), What::Asked { approval, until })
}

pub(crate) async fn write(journal: &impl Journal, entries: impl IntoIterator<Item = Entry>) {
    for entry in entries {
        journal.append(entry).await.expect("a line is taken");
    }
}

/// All that was given to this handle is written when this returns.
pub(crate) async fn settle(journal: &impl Journal) {
    journal.release("nobody").await.expect("letting go what is not held is nothing");
}

/// What a session's lines say, in short: `session_began`, `step 1`, `call-1`.
pub(crate) fn told(entries: &[Entry]) -> Vec<String> {
    let word = |entry: &Entry| match &entry.what {
        What::StepBegan { step } => format!("step {step}"),
        What::ToolStarted { call_id, .. } => call_id.to_string(),
        other => other.kind().to_owned(),
    };
    entries.iter().map(word).collect()
}

pub(crate) fn lines(store: &Store, session: &str) -> Vec<Entry> {
    let lines: Result<_, JournalError> = store.lines(session).expect("a session").collect();
    lines.expect("lines")
}

/// Where another process finds its journal. Only tests that start one set this.
const JOURNAL: &str = "VERTEBRA_TEST_JOURNAL";

/// Another process, which runs one of the tests that are ignored, and talks with this one in lines.
pub(crate) struct Other {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(test: &str, journal: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        Self::spawn(command.args(Self::role(test)).env(JOURNAL, journal))
    }

    /// The arguments with which this program plays a role.
    pub(crate) fn role(test: &str) -> [&str; 4] {
        ["--exact", test, "--ignored", "--nocapture"]
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("a process");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        Self { stdin: child.stdin.take(), child, stdout }
    }

    /// The next thing it says, or nothing if it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.stdout.read_line(&mut line).expect("its output") > 0 {
            // The test harness says things of its own, also on the same line.
            if let Some((_, said)) = line.split_once("says: ") {
                return Some(said.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    /// Ends it at once, whatever it does, and gives back what it said before.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("a process that runs");
        self.child.wait().expect("its end");
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// Tells it to end, and waits until it has, well.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        while self.hear().is_some() {}
        assert!(self.child.wait().expect("its end").success());
    }
}

/// In the other process: the journal.
pub(crate) fn given_journal() -> PathBuf {
    std::env::var_os(JOURNAL).map(PathBuf::from).expect("started by another test")
}

/// In the other process: says something.
pub(crate) fn say(words: impl std::fmt::Display) {
    let mut out = std::io::stdout();
    writeln!(out, "says: {words}").expect("somebody listens");
}

/// In the other process: waits until it is told to end.
pub(crate) fn wait_for_the_end() {
    let _ = std::io::stdin().read_line(&mut String::new());
}
