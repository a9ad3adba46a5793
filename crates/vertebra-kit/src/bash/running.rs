//! Commands under way, on disk: if the agent is killed and something of a command survives, the resumed session finds it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::outputs::Outputs;
use crate::process::{self, Process};

/// The variable by which all processes of a command are known.
pub(super) const VARIABLE: &str = "VERTEBRA_COMMAND";

/// How the names of the notes end.
const ENDING: &str = ".running";

/// How often what is left is looked for again while it is being ended.
const ROUNDS: usize = 20;

/// How long processes have to end between two looks.
const MOMENT: Duration = Duration::from_millis(20);

/// How long a note may be.
const NOTE_BYTES: u64 = 1 << 20;

/// The note about one command, which goes when the command has ended.
pub(super) struct Running {
    path: Option<PathBuf>,
    mark: String,
    command: String,
    leader: Leader,
}

/// The first process of a command, once it has begun.
pub(super) type Leader = Arc<OnceLock<Process>>;

/// What is noted.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    mark: String,
    command: String,
    agent: Option<Process>,
    first: Option<Process>,
}

impl Running {
    /// A command that is about to begin, under a name that no other has.
    pub(super) fn new(place: Option<&Path>, key: &str, command: &str) -> Self {
        let mark = super::outputs::folder_name(key);
        let path = place.map(|place| place.join(format!("{mark}{ENDING}")));
        Self { path, mark, command: command.to_owned(), leader: Leader::default() }
    }

    /// Its first process.
    pub(super) fn leader(&self) -> Leader {
        self.leader.clone()
    }

    /// The variable that its processes have.
    pub(super) fn variable(&self) -> Option<(&'static str, &str)> {
        self.path.as_ref().map(|_| (VARIABLE, self.mark.as_str()))
    }

    /// It has begun with this process. Without the note it runs all the same.
    pub(super) fn began(&self, pid: Option<u32>) {
        let at = |pid: u32| i32::try_from(pid).ok().and_then(Process::at);
        if let Some(first) = pid.and_then(at) {
            _ = self.leader.set(first);
        }
        let Some(path) = &self.path else { return };
        let (mark, command) = (self.mark.clone(), self.command.clone());
        let note = Note { mark, command, agent: at(std::process::id()), first: self.leader.get().copied() };
        let written = serde_json::to_vec(&note).map_err(io::Error::from).and_then(|note| fs::write(path, note));
        if let Err(error) = written {
            tracing::warn!(%error, "a command under way could not be noted");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            _ = fs::remove_file(path);
        }
    }
}

/// What is left of a command whose agent is gone.
#[derive(Debug)]
pub struct Survivor {
    /// The command.
    pub command: String,
    mark: String,
    first: Option<Process>,
    left: Vec<Process>,
}

impl Outputs {
    /// The commands of a session that outlived their agent. The notes about others that are over are removed.
    pub fn survivors(&self, session: &str) -> Vec<Survivor> {
        let notes = fs::read_dir(self.folder_of(session)).into_iter().flatten().flatten();
        let notes = notes.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ENDING));
        notes.filter_map(|path| survivor(&path)).collect()
    }
}

fn survivor(path: &Path) -> Option<Survivor> {
    let is_short = fs::metadata(path).is_ok_and(|found| found.len() <= NOTE_BYTES);
    let note = fs::read(path).ok().filter(|_| is_short).and_then(|text| serde_json::from_slice::<Note>(&text).ok());
    let Some(Note { mark, command, agent, first }) = note else {
        _ = fs::remove_file(path);
        return None;
    };
    // The agent that started it is still there, and takes care of it.
    if agent.is_some_and(Process::is_running) {
        return None;
    }
    let left = left(&mark, first);
    if left.is_empty() {
        _ = fs::remove_file(path);
        return None;
    }
    Some(Survivor { command, mark, first, left })
}

/// All processes of a command: those that have its variable, and the first one.
fn left(mark: &str, first: Option<Process>) -> Vec<Process> {
    let mut left = process::with_variable(VARIABLE, mark);
    left.extend(first.filter(|first| first.is_running() && !left.contains(first)));
    left
}

impl Survivor {
    /// The processes that are left.
    pub fn pids(&self) -> Vec<i32> {
        self.left.iter().map(|process| process.pid()).collect()
    }

    /// Kills what is left of it, and nothing else: a process that was given the number of another meanwhile is spared. True if
    /// nothing is left.
    pub fn end(&self) -> bool {
        for _ in 0..ROUNDS {
            let left = left(&self.mark, self.first);
            if left.is_empty() {
                return true;
            }
            for process in left {
                process.kill();
            }
            std::thread::park_timeout(MOMENT);
        }
        false
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeper(Child);

    impl Sleeper {
        fn start(mark: Option<&str>) -> Self {
            let mut sleep = Command::new("sleep");
            sleep.arg("1000").env_remove(VARIABLE);
            Self(sleep.envs(mark.map(|mark| (VARIABLE, mark))).spawn().expect("a process"))
        }

        fn process(&self) -> Process {
            Process::at(i32::try_from(self.0.id()).expect("a number")).expect("a process")
        }

        fn is_running(&mut self) -> bool {
            self.0.try_wait().expect("a child").is_none()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    /// The note of a command of a session called `s`, whose agent is gone.
    fn noted(mark: &str, first: Option<Process>) -> (tempfile::TempDir, Outputs) {
        let folder = tempfile::tempdir().expect("a folder");
        let outputs = Outputs::in_folder(folder.path());
        let note = Note { mark: mark.to_owned(), command: "make serve".to_owned(), agent: None, first };
        let place = outputs.open("s").expect("a folder");
        fs::write(place.join("1.running"), serde_json::to_vec(&note).expect("a note")).expect("a file");
        (folder, outputs)
    }

    #[test]
    fn a_command_that_outlived_its_agent_is_named_and_can_be_ended() {
        let mark = format!("test-{}", std::process::id());
        let mut sleeper = Sleeper::start(Some(&mark));
        let (_folder, outputs) = noted(&mark, None);
        let survivors = outputs.survivors("s");
        assert_eq!((&*survivors[0].command, survivors.len()), ("make serve", 1));
        assert_eq!(survivors[0].pids(), [sleeper.process().pid()]);
        std::thread::scope(|scope| {
            // Somebody has to take note of its end.
            scope.spawn(|| sleeper.0.wait());
            assert!(survivors[0].end());
        });
        assert!(outputs.survivors("s").is_empty());
    }

    #[test]
    fn another_process_with_the_number_of_the_command_is_neither_named_nor_ended() {
        let mut other = Sleeper::start(None);
        let earlier = other.process().with_start(1);
        let (_folder, outputs) = noted("nobody has this", Some(earlier));
        assert!(outputs.survivors("s").is_empty());
        earlier.kill();
        assert!(other.is_running());
    }

    #[test]
    fn a_command_whose_agent_still_runs_is_none_of_our_business() {
        let mark = format!("alive-{}", std::process::id());
        let _sleeper = Sleeper::start(Some(&mark));
        let (_folder, outputs) = noted(&mark, None);
        let running = Running::new(Some(&outputs.folder_of("s")), &mark, "sleep 1000");
        fs::remove_file(outputs.folder_of("s").join("1.running")).expect("a note");
        running.began(None);
        assert!(outputs.survivors("s").is_empty());
        assert!(outputs.folder_of("s").join(format!("{mark}.running")).exists());
        drop(running);
        assert!(!outputs.folder_of("s").join(format!("{mark}.running")).exists());
    }
}
