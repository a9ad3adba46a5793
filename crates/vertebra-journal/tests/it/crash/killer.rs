//! Whoever kills the agent's processes, starts the next one, and answers its questions in between.

use std::{
    fmt,
    ops::AddAssign,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use vertebra::Decision;
use vertebra_journal::{Options, Status, Store, Sync, Wanted};

use super::outside::Outside;

/// More processes than any agent here needs.
const MOST: usize = 80;

/// How one process dies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Death {
    /// By itself, around the so manieth line that it, or those after it, give to the journal.
    AtLine { side: Side, line: usize },
    /// By itself, around the first line of a kind.
    AtKind { side: Side, kind: String },
    /// By somebody else, so long after it began.
    After(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Side {
    /// Before the journal is given the line.
    Before,
    /// When the journal has taken it.
    After,
}

/// What a life, or many, came to.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Life {
    pub(crate) kills: u64,
    pub(crate) processes: u64,
    pub(crate) answers: u64,
    pub(crate) unknown: u64,
    /// Effects that happened again under the same key, of tools that may.
    pub(crate) again: u64,
}

impl AddAssign for Life {
    fn add_assign(&mut self, other: Self) {
        self.kills += other.kills;
        self.processes += other.processes;
        self.answers += other.answers;
        self.unknown += other.unknown;
        self.again += other.again;
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, processes, answers, unknown, again } = self;
        write!(f, "{processes} processes, {kills} kills, {answers} answers from outside, ")?;
        write!(f, "{unknown} uses told as unknown, {again} idempotent ones repeated")
    }
}

/// An agent that nobody killed, beside which the others are held.
pub(crate) struct Trial {
    /// The lines of its journal.
    pub(crate) kinds: Vec<String>,
    pub(crate) took: Duration,
    outside: Outside,
}

impl Trial {
    pub(crate) fn undisturbed() -> Self {
        let folder = folder();
        let began = Instant::now();
        let life = live(folder.path(), Vec::new()).expect("nobody disturbs it");
        let took = began.elapsed() / u32::try_from(life.processes).expect("a few");
        let outside = Outside::look(folder.path()).expect("what it did");
        outside.check().expect("it did what it should");
        assert_eq!(outside.unknown(), 0);
        Self { kinds: outside.offered(), took, outside }
    }

    /// Some deaths, one after the other.
    pub(crate) fn deaths(&self, chance: &mut Chance) -> Vec<Death> {
        let count = 1 + chance.below(3);
        let death = |_| match chance.below(2) {
            0 => Death::After(self.took.mul_f64(f64::from(u32::try_from(chance.below(1000)).unwrap_or(0)) / 1000.0)),
            _ => Death::AtLine {
                side: if chance.below(2) == 0 { Side::Before } else { Side::After },
                line: 1 + usize::try_from(chance.below(self.kinds.len() as u64)).unwrap_or(0),
            },
        };
        (0..count).map(death).collect()
    }

    /// Lets an agent die these deaths, and holds what it came to beside what it should have come to.
    pub(crate) fn survives(&self, name: &str, deaths: impl IntoIterator<Item = Death>) -> Life {
        let (folder, deaths) = (folder(), deaths.into_iter().collect::<Vec<_>>());
        let held = live(folder.path(), deaths.clone()).and_then(|mut life| {
            let outside = Outside::look(folder.path())?;
            life.again = outside.check()?;
            life.unknown = outside.unknown();
            if life.unknown == 0 {
                outside.is_like(&self.outside)?;
            }
            Ok(life)
        });
        held.unwrap_or_else(|problem| {
            let kept = folder.keep();
            panic!("{name}: {problem}\nafter {deaths:?}; see {}", kept.display())
        })
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Starts processes until the work is done.
fn live(folder: &Path, deaths: Vec<Death>) -> Result<Life, String> {
    let (mut life, mut deaths) = (Life::default(), deaths.into_iter());
    let mut death = deaths.next();
    for _ in 0..MOST {
        life.processes += 1;
        let before = given(folder);
        if process(folder, death.as_ref())? {
            life.kills += 1;
            death = deaths.next();
            match session(&open(folder)?)? {
                // It died when all was done.
                Some((_, Status::Ended)) => return Ok(life),
                _ => continue,
            }
        }
        // What did not strike yet, strikes later.
        match &mut death {
            Some(Death::AtLine { line, .. }) if *line > given(folder) - before => *line -= given(folder) - before,
            Some(Death::AtKind { .. }) => {}
            _ => death = deaths.next(),
        }
        let store = open(folder)?;
        let session = session(&store)?;
        match session {
            Some((_, Status::Ended)) => return Ok(life),
            Some((id, Status::Suspended)) => life.answers += answer(&store, &id)?,
            other => return Err(format!("its process ended and left it {other:?}")),
        }
    }
    Err(format!("it is not done after {MOST} processes"))
}

/// How many lines were given to the journal so far.
fn given(folder: &Path) -> usize {
    let said = std::fs::read_to_string(folder.join("said")).unwrap_or_default();
    said.lines().filter(|line| line.starts_with(r#"{"Gives""#)).count()
}

/// One process of the agent. Answers with whether it was killed.
#[expect(clippy::disallowed_methods, reason = "any moment is as good: nobody waits for anything")]
fn process(folder: &Path, death: Option<&Death>) -> Result<bool, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.args(["--exact", "crash::subject::works", "--ignored", "--nocapture"]).env("VERTEBRA_CRASH_FOLDER", folder);
    if let Some(death) = death {
        let death = serde_json::to_string(death).map_err(|error| error.to_string())?;
        command.env("VERTEBRA_CRASH_DEATH", death);
    }
    let mut child = command.stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    if let Some(Death::After(moment)) = death {
        thread::sleep(*moment);
        // One that has ended cannot be killed.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match status.signal() {
        Some(9) => Ok(true),
        None if status.success() => Ok(false),
        _ => Err(format!("its process ended with {status}")),
    }
}

pub(crate) fn open(folder: &Path) -> Result<Store, String> {
    let options = Options { sync: Sync::Process, chain: true };
    Store::open(folder.join("journal.db"), &options).map_err(|error| error.to_string())
}

/// The only session, and how it is.
pub(crate) fn session(store: &Store) -> Result<Option<(String, Status)>, String> {
    let sessions = store.sessions(&Wanted::default()).map_err(|error| error.to_string())?;
    if sessions.len() > 1 {
        return Err(format!("there are {} sessions", sessions.len()));
    }
    Ok(sessions.first().map(|row| (row.session_id.to_string(), row.status)))
}

/// Answers what is asked: no to one thing, yes to all others.
fn answer(store: &Store, session_id: &str) -> Result<u64, String> {
    let mut answers = 0;
    for question in store.questions(Some(session_id)).map_err(|error| error.to_string())? {
        let approval = question.approval;
        let decision = match approval.call.args.text("what") {
            Some("never") => Decision::Deny { reason: "never".to_owned() },
            _ => approval.approve(),
        };
        let put = store.answer(session_id, &approval.call.id, &approval.digest, &decision);
        put.map_err(|error| error.to_string())?;
        answers += 1;
    }
    Ok(answers)
}

/// Numbers that are the same for the same seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
