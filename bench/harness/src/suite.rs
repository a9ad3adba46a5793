//! The cases of one peer, and the `main` that runs them.

use std::process::ExitCode;

use crate::case::Case;
use crate::lap::{Lap, Reading};
use crate::measure::measure;
use crate::report;
use crate::request::Request;

/// The cases of one peer.
///
/// A case is a function that prepares the work and returns the routine to repeat; it is called only when the case is
/// asked for.
pub struct Suite {
    peer: &'static str,
    cases: Vec<Case>,
}

impl Suite {
    /// Begins the suite of the peer with this name.
    ///
    /// # Panics
    ///
    /// When the name is not of ASCII letters, digits, `_` and `-`; so does every method that takes a name.
    pub fn of(peer: &'static str) -> Self {
        assert!(report::is_plain(peer), "{peer:?} is not a plain name");
        Self { peer, cases: Vec::new() }
    }

    /// Adds a case whose routine is awaited, all iterations of a batch on one current-thread runtime.
    #[must_use]
    pub fn case<R, T>(self, name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: AsyncFnMut() -> T + 'static,
    {
        self.with(Case::awaited(name, set_up))
    }

    /// Adds a case whose routine is a plain function.
    #[must_use]
    pub fn plain_case<R, T>(self, name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: FnMut() -> T + 'static,
    {
        self.with(Case::plain(name, set_up))
    }

    /// Adds a case that runs its batches itself, somewhere inside of other work that is not to be measured.
    ///
    /// The routine is called once per batch and has to do its work [`Lap::iterations`] times between [`Lap::start`]
    /// and [`Timing::stop`](crate::Timing::stop).
    #[must_use]
    pub fn inside_case<R>(self, name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: AsyncFnMut(Lap) + 'static,
    {
        self.with(Case::inside(name, set_up))
    }

    /// Does what the command line asks for.
    #[must_use]
    pub fn main(self) -> ExitCode {
        match Request::parse(std::env::args().skip(1)).map_err(|error| error.to_string()).and_then(|it| self.answer(it))
        {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn with(mut self, case: Case) -> Self {
        assert!(report::is_plain(case.name), "{:?} is not a plain name", case.name);
        self.cases.push(case);
        self
    }

    fn answer(self, request: Request) -> Result<(), String> {
        let peer = self.peer;
        match request {
            Request::List => self.cases.iter().for_each(|case| println!("{}", case.name)),
            Request::MeasureAll => print_measured(peer, self.cases),
            Request::MeasureOne(name) => print_measured(peer, [self.find(&name)?]),
            Request::Repeat { case, iterations } => repeat(self.find(&case)?, iterations),
        }
        Ok(())
    }

    fn find(self, name: &str) -> Result<Case, String> {
        let known = self.cases.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
        let case = self.cases.into_iter().find(|case| case.name == name);
        case.ok_or_else(|| format!("no case {name:?}; there are {known}"))
    }
}

fn print_measured(peer: &str, cases: impl IntoIterator<Item = Case>) {
    ask_for_one_core();
    for case in cases {
        let name = case.name;
        println!("{}", report::line(peer, name, &measure(case.prepare())));
    }
}

fn repeat(case: Case, iterations: u64) {
    let mut run = case.prepare();
    run(&Lap::new(iterations, Reading::Nothing));
}

/// A peer that hands its hooks to another thread is several times slower when that thread wakes on another core, and
/// which core it is changes from run to run. On one core everybody shows the best they can.
fn ask_for_one_core() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        eprintln!("note: not pinned to one core; for numbers that compare, run this under `taskset -c 0`");
    }
}
