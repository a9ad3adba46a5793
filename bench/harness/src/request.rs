//! What the command line asks for.

use std::fmt;

/// Shown when the command line asks for something else.
const USAGE: &str = "usage: [--list | --only CASE [--iterations N]]";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Print the names of the cases.
    List,
    /// Measure every case.
    MeasureAll,
    /// Measure one case.
    MeasureOne(String),
    /// Run one case so many times and measure nothing: for a profiler that counts instructions from outside. Run it
    /// with N and with 2 N; the difference is N iterations without the set-up.
    Repeat { case: String, iterations: u64 },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misunderstood(String);

impl fmt::Display for Misunderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {USAGE}", self.0)
    }
}

impl Request {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, Misunderstood> {
        let mut arguments = arguments.into_iter();
        let mut list = false;
        let mut only = None;
        let mut iterations = None;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| Misunderstood(format!("{argument} needs a value")));
            match argument.as_str() {
                "--list" => list = true,
                "--only" => only = Some(value()?),
                "--iterations" => iterations = Some(positive(&value()?)?),
                other => return Err(Misunderstood(format!("unknown argument {other:?}"))),
            }
        }
        match (list, only, iterations) {
            (true, None, None) => Ok(Self::List),
            (false, None, None) => Ok(Self::MeasureAll),
            (false, Some(case), None) => Ok(Self::MeasureOne(case)),
            (false, Some(case), Some(iterations)) => Ok(Self::Repeat { case, iterations }),
            (false, None, Some(_)) => Err(Misunderstood("--iterations needs --only".to_owned())),
            (true, _, _) => Err(Misunderstood("--list stands alone".to_owned())),
        }
    }
}

fn positive(text: &str) -> Result<u64, Misunderstood> {
    match text.parse() {
        Ok(0) | Err(_) => Err(Misunderstood(format!("{text:?} is not a number of iterations"))),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Request, &str>) {
        let parsed = Request::parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parsed, expected.map_err(|reason| Misunderstood(reason.to_owned())), "{line}");
    }

    #[test]
    fn every_mode_has_one_spelling() {
        check("", Ok(Request::MeasureAll));
        check("--list", Ok(Request::List));
        check("--only one_hook", Ok(Request::MeasureOne("one_hook".to_owned())));
        check("--only no_hook --iterations 20", Ok(Request::Repeat { case: "no_hook".to_owned(), iterations: 20 }));
    }

    #[test]
    fn a_mistake_is_named() {
        check("--only", Err("--only needs a value"));
        check("--iterations 5", Err("--iterations needs --only"));
        check("--only x --iterations 0", Err("\"0\" is not a number of iterations"));
        check("--list --only x", Err("--list stands alone"));
        check("--fast", Err("unknown argument \"--fast\""));
    }
}
