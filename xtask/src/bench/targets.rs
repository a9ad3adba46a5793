//! The numbers to hold: what each case may cost, and whether it does.

use clap::ValueEnum;

use super::binary::VERTEBRA;
use super::measurement::Measurement;
use super::number::{chosen, count, kibibytes, nearly_whole, ratio, time};
use super::results::Results;

/// A row of the table.
pub(crate) struct Case {
    /// Its name in the lines of the harness.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) part: Part,
    pub(crate) targets: &'static [Target],
}

/// A part of the benchmark that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Dispatches and registrations
    Dispatch,
    /// Turns of the loop, and sessions
    Turn,
    /// Commands, hook workers and backtests
    Outside,
}

impl Part {
    /// The part that a case belongs to. All cases without a row in the table are dispatches.
    pub(crate) fn of(case: &str) -> Self {
        CASES.iter().find(|row| row.name == case).map_or(Self::Dispatch, |row| row.part)
    }
}

/// What is to hold for a case of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// At most so many nanoseconds.
    Time(f64),
    /// At most so many allocations.
    Allocations(f64),
    /// At most so many bytes.
    Bytes(f64),
    /// At most so many times what another case of ours costs.
    NotMoreThan { times: f64, case: &'static str, title: &'static str },
    /// The peer takes at least so many times as long.
    FasterThan { peer: &'static str, times: f64 },
}

/// The cost of a turn must not grow with what was said before. A fifth is what noise and colder caches may add; a copy
/// of the history would cost hundreds of times as much.
const FLAT: Target = Target::NotMoreThan { times: 1.2, case: "turn_at_10", title: "at 10" };

/// Hooks that limit no time and survive no panic, which ours do.
const RIG: Target = Target::FasterThan { peer: "rig", times: 1.0 };
const BOXED_TOWER: Target = Target::FasterThan { peer: "tower-boxed", times: 1.0 };

/// Children have the hooks of their parents at no cost of their own; a tenth is noise.
const LAYERED_NOBODY: Target = Target::NotMoreThan { times: 1.1, case: "no_hook", title: "without layers" };
const LAYERED_ONE: Target = Target::NotMoreThan { times: 1.1, case: "one_hook", title: "without layers" };
const LAYERED_TEN: Target = Target::NotMoreThan { times: 1.1, case: "ten_hooks", title: "without layers" };

/// Ten times as many hooks take ten times as long to register; a fifth is noise and colder caches.
const LINEAR: Target = Target::NotMoreThan { times: 12.0, case: "register_100", title: "for 100" };

const fn dispatch(name: &'static str, title: &'static str, targets: &'static [Target]) -> Case {
    Case { name, title, part: Part::Dispatch, targets }
}

const fn turn(name: &'static str, title: &'static str, targets: &'static [Target]) -> Case {
    Case { name, title, part: Part::Turn, targets }
}

const fn outside(name: &'static str, title: &'static str, targets: &'static [Target]) -> Case {
    Case { name, title, part: Part::Outside, targets }
}

pub(crate) const CASES: [Case; 24] = [
    dispatch("no_hook", "dispatch, no hook", &[Target::Time(8.0), Target::Allocations(0.0)]),
    dispatch("one_hook", "one hook", &[RIG, Target::FasterThan { peer: "a3s", times: 80.0 }, Target::Allocations(1.0)]),
    dispatch(
        "ten_hooks",
        "ten hooks",
        &[RIG, BOXED_TOWER, Target::FasterThan { peer: "a3s", times: 200.0 }, Target::Allocations(1.0)],
    ),
    dispatch("grandchild_no_hook", "in a grandchild, no hook", &[LAYERED_NOBODY]),
    dispatch("grandchild_one_hook", "… one hook", &[LAYERED_ONE]),
    dispatch("grandchild_ten_hooks", "… ten hooks", &[LAYERED_TEN]),
    dispatch("run_no_hook", "in a run, no hook", &[]),
    dispatch("run_one_hook", "… one hook", &[]),
    dispatch("run_ten_hooks", "… ten hooks", &[]),
    dispatch(
        "tools_1000",
        "1 000 tool names",
        &[Target::NotMoreThan { times: 1.1, case: "tools_1", title: "one name" }],
    ),
    dispatch(
        "regex_1000",
        "1 000 command regexes",
        &[Target::Time(2e3), Target::FasterThan { peer: "a3s", times: 20e3 }],
    ),
    dispatch("register_100", "registering 100 hooks", &[]),
    dispatch("register_1000", "registering 1 000 hooks", &[LINEAR]),
    turn("turn", "turn, ten hooks", &[Target::Time(7e3)]),
    turn("turn_at_10", "turn after 10 messages", &[]),
    turn("turn_at_100", "… after 100", &[FLAT]),
    turn("turn_at_1000", "… after 1 000", &[FLAT]),
    turn("turn_at_10000", "… after 10 000", &[FLAT]),
    turn("idle_session", "idle session", &[Target::Bytes(2.0 * 1024.0)]),
    outside("spawn", "a program starts and ends", &[]),
    outside("command", "one command", &[Target::NotMoreThan { times: 1.2, case: "spawn", title: "the program alone" }]),
    outside("worker", "one worker", &[Target::Time(15e3)]),
    outside("backtest_journal", "an event judged by 100 hooks", &[Target::Time(200e3)]),
    outside("backtest_wire", "… read from JSON", &[Target::Time(400e3)]),
];

/// What came of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met(String),
    Missed(String),
    NotMeasured,
}

impl Target {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Time(most) => format!("≤ {}", chosen(&time(most))),
            Self::Allocations(0.0) => "no allocation".to_owned(),
            Self::Allocations(most) => format!("≤ {} allocations", count(most)),
            Self::Bytes(most) => format!("≤ {}", chosen(&kibibytes(most))),
            Self::NotMoreThan { times, title, .. } => format!("≤ {} {title}", chosen(&ratio(times))),
            Self::FasterThan { peer, times } => format!("{peer} ≥ {}", chosen(&ratio(times))),
        }
    }

    /// Judges by the median, and says so if only the fastest sample meets the target.
    pub(crate) fn judge(self, case: &str, results: &Results) -> Verdict {
        let Some(by_median) = self.compare(case, results, |measured| measured.ns) else {
            return Verdict::NotMeasured;
        };
        if by_median.is_met() {
            return Verdict::Met(by_median.met());
        }
        let by_minimum = self.compare(case, results, |measured| measured.min_ns);
        let hope = if by_minimum.is_some_and(Comparison::is_met) { " (min met)" } else { "" };
        Verdict::Missed(format!("{}{hope}", by_median.missed()))
    }

    fn compare(self, case: &str, results: &Results, ns: fn(&Measurement) -> f64) -> Option<Comparison> {
        let ours = results.find(VERTEBRA, case)?;
        Some(match self {
            Self::Time(most) => Comparison::AtMost(ns(ours), most),
            Self::Allocations(most) => Comparison::Counted(ours.allocs, most),
            Self::Bytes(most) => Comparison::AtMost(ours.bytes, most),
            Self::NotMoreThan { times, case, .. } => {
                Comparison::Growth(ns(ours) / ns(results.find(VERTEBRA, case)?), times)
            }
            Self::FasterThan { peer, times } => Comparison::AtLeast(ns(results.find(peer, case)?) / ns(ours), times),
        })
    }
}

/// What was measured and what it must not pass.
#[derive(Clone, Copy)]
enum Comparison {
    AtMost(f64, f64),
    Counted(f64, f64),
    Growth(f64, f64),
    AtLeast(f64, f64),
}

impl Comparison {
    fn is_met(self) -> bool {
        match self {
            Self::AtMost(value, most) | Self::Counted(value, most) | Self::Growth(value, most) => value <= most,
            Self::AtLeast(value, least) => value >= least,
        }
    }

    fn met(self) -> String {
        match self {
            Self::AtMost(..) | Self::Counted(..) => "met".to_owned(),
            Self::Growth(value, _) | Self::AtLeast(value, _) => format!("met: {}", ratio(value)),
        }
    }

    fn missed(self) -> String {
        match self {
            Self::AtMost(value, most) => format!("missed by {:.0} %", (value / most - 1.0) * 100.0),
            Self::Counted(value, _) => format!("missed: {}", nearly_whole(value)),
            Self::Growth(value, _) | Self::AtLeast(value, _) => format!("missed: {}", ratio(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::measured;
    use super::*;

    fn check(target: Target, expected: &Verdict) {
        let results = Results::of([
            measured(VERTEBRA, "x", 200.0, 140.0),
            measured(VERTEBRA, "base", 100.0, 100.0),
            measured("a3s", "x", 9000.0, 8000.0),
        ]);
        assert_eq!(target.judge("x", &results), *expected, "{target:?}");
    }

    fn met(text: &str) -> Verdict {
        Verdict::Met(text.to_owned())
    }

    fn missed(text: &str) -> Verdict {
        Verdict::Missed(text.to_owned())
    }

    #[test]
    fn a_case_without_a_row_is_a_dispatch() {
        for (case, part) in [("ten_guards", Part::Dispatch), ("turn_at_100", Part::Turn), ("worker", Part::Outside)] {
            assert_eq!(Part::of(case), part, "{case}");
        }
    }

    #[test]
    fn a_target_is_met_or_the_distance_is_told() {
        check(Target::Time(200.0), &met("met"));
        check(Target::Time(100.0), &missed("missed by 100 %"));
        check(Target::Allocations(2.0), &met("met"));
        check(Target::Allocations(0.0), &missed("missed: 2"));
        check(Target::Bytes(1000.0), &missed("missed by 2 %"));
        check(Target::NotMoreThan { times: 2.0, case: "base", title: "base" }, &met("met: 2.00 ×"));
        check(Target::FasterThan { peer: "a3s", times: 40.0 }, &met("met: 45.0 ×"));
        check(Target::FasterThan { peer: "a3s", times: 80.0 }, &missed("missed: 45.0 ×"));
    }

    #[test]
    fn a_median_that_misses_what_the_minimum_meets_is_told_apart() {
        check(Target::Time(150.0), &missed("missed by 33 % (min met)"));
        check(Target::FasterThan { peer: "a3s", times: 50.0 }, &missed("missed: 45.0 × (min met)"));
    }

    #[test]
    fn nothing_is_said_about_a_peer_that_was_not_there() {
        check(Target::FasterThan { peer: "rig", times: 1.0 }, &Verdict::NotMeasured);
        check(Target::NotMoreThan { times: 1.0, case: "absent", title: "absent" }, &Verdict::NotMeasured);
    }
}
