//! `cargo xtask attack`: attacks on the program that was built, as root and as an ordinary user.
//!
//! A probe is a function in a file of `xtask/attack`; the comment above it says what it tries. Each probe is run once
//! without Vertebra, where it must succeed, and once per user with it, where it must not.

mod page;
mod probe;
mod session;

use std::{
    path::PathBuf,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, bail, ensure};

use self::{
    page::Page,
    probe::Probe,
    session::{Program, Seen, User},
};
use crate::stage::Stage;

/// The page that shows what was seen.
const PAGE: &str = "docs/attack.md";

/// Which probes to run, and against which program.
#[derive(clap::Args)]
pub(crate) struct Request {
    /// Runs only the probes whose point or name contains this text
    filter: Option<String>,
    /// Attacks this program instead of the one that the tests build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Writes docs/attack.md
    #[arg(long)]
    write: bool,
}

/// What was seen of one probe.
struct Row {
    probe: Probe,
    control: Seen,
    users: Vec<(User, Seen)>,
}

impl Row {
    fn held(&self) -> bool {
        let proves = matches!(self.control, Seen::Broken | Seen::Ignored(_));
        proves && self.users.iter().all(|(_, seen)| matches!(seen, Seen::Held | Seen::Ignored(_)))
    }
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let probes = probe::all()?;
    let wanted = |probe: &Probe| match &request.filter {
        Some(text) => probe.point.contains(text.as_str()) || probe.name.contains(text.as_str()),
        None => true,
    };
    let chosen: Vec<Probe> = probes.into_iter().filter(wanted).collect();
    ensure!(!chosen.is_empty(), "no probe has a point or a name that contains this text");
    let program = Program::copy(&built(request)?)?;
    let users = User::all();
    let rows = attacked(&chosen, &program, &users)?;

    let page = Page { rows: &rows, users: &users };
    let failed: Vec<&Row> = rows.iter().filter(|row| !row.held()).collect();
    println!("\n{}", page.summary());
    for row in &failed {
        println!("\n{}: {}\n{}", row.probe.name, row.probe.title, Page::story(row));
    }
    if request.write {
        ensure!(request.filter.is_none(), "{PAGE} shows all probes; leave out the filter");
        std::fs::write(PAGE, page.to_string()).with_context(|| format!("cannot write {PAGE}"))?;
    }
    if !failed.is_empty() {
        bail!("{} of {} probes did not hold", failed.len(), rows.len());
    }
    if request.filter.is_none() && users.len() == User::BOTH {
        let written = std::fs::read_to_string(PAGE).unwrap_or_default();
        ensure!(written == page.to_string(), "{PAGE} is out of date: run `cargo xtask attack --write`");
    }
    Ok(())
}

fn built(request: &Request) -> anyhow::Result<PathBuf> {
    if let Some(program) = &request.program {
        return Ok(program.clone());
    }
    ensure!(Stage::new("build", "cargo build --package vertebra-cli").passes(), "the program was not built");
    Ok(crate::test::target_dir().join("debug/vertebra"))
}

/// Runs the probes, two at a time for each core, because most of them wait for other programs.
fn attacked(probes: &[Probe], program: &Program, users: &[User]) -> anyhow::Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::with_capacity(probes.len()));
    let at_once = std::thread::available_parallelism().map_or(1, usize::from) * 2;
    std::thread::scope(|scope| {
        let work = || -> anyhow::Result<()> {
            while let Some((index, probe)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, probes.get(index)?)))
            {
                let control = program.attack(probe, users[0], true)?;
                let seen = users.iter().map(|user| Ok((*user, program.attack(probe, *user, false)?)));
                let row = Row { probe: probe.clone(), control, users: seen.collect::<anyhow::Result<_>>()? };
                println!("{}", page::line(&row));
                rows.lock().expect("no thread panics").push((index, row));
            }
            Ok(())
        };
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    let mut rows = rows.into_inner().expect("no thread panics");
    rows.sort_by_key(|(index, _)| *index);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// A command that runs as another user.
fn as_user(user: User, program: &str) -> Command {
    match user {
        User::Other(id) => {
            let mut command = Command::new("setpriv");
            let id = id.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--", program]);
            command
        }
        User::Root | User::Current => Command::new(program),
    }
}
