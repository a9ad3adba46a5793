//! Shows the report: a table for people, an object for programs.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use vertebra_bridge::policy::Standing;
use vertebra_journal::backtest::{Difference, Example, Hits, Opinion, Report};

use super::{
    Options,
    event::About,
    sources::{self, Past},
};
use crate::{
    hooks::trial::Bench,
    view::{
        rows::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
        text::{counted, cut, duration, on_one_line},
    },
};

/// The largest width of a line of an example.
const WIDTH: usize = 110;

/// The largest number of hooks in the table.
const MAX_HOOKS: usize = 40;

/// Everything the report contains.
pub(super) struct Told<'t> {
    pub(super) options: &'t Options,
    pub(super) past: &'t Past,
    pub(super) since: Option<Timestamp>,
    pub(super) report: &'t Report<About>,
    pub(super) hooks: BTreeMap<Arc<str>, Hits>,
    pub(super) read: sources::Told,
    pub(super) took: Duration,
}

/// Returns every hook in force, including those that never matched, and the rules that decided.
pub(super) fn all_hooks(bench: &Bench, report: &Report<About>) -> BTreeMap<Arc<str>, Hits> {
    let mut hooks = report.hooks.clone();
    if let Some(policy) = bench.policy() {
        let in_force = policy.hooks().into_iter().filter(|hook| hook.standing == Standing::InForce);
        for hook in in_force {
            hooks.entry(policy.author(&hook.name).into()).or_default();
        }
    }
    hooks
}

impl Told<'_> {
    fn per_second(&self) -> u64 {
        let millis = self.took.as_millis().max(1);
        u64::try_from(u128::from(self.report.events) * 1000 / millis).unwrap_or(u64::MAX)
    }

    /// Returns the report as a JSON object.
    pub(super) fn json(&self) -> Value {
        let Report { events, differences, in_part, examples, .. } = self.report;
        let count = |difference: &Difference| differences.get(difference).copied().unwrap_or_default();
        let named = |difference: &Difference| serde_json::to_value(difference).unwrap_or_default();
        let key = |difference: &Difference| named(difference).as_str().unwrap_or_default().to_owned();
        let counts: Map<String, Value> = Difference::ALL.iter().map(|one| (key(one), count(one).into())).collect();
        let examples: Map<String, Value> = examples.iter().map(|(one, shown)| (key(one), json!(shown))).collect();
        let hooks: Vec<Value> = self
            .hooks
            .iter()
            .map(|(name, hits)| {
                json!({
                    "hook": name, "matched": hits.matched, "decided": hits.decided, "not_asked": hits.not_asked,
                })
            })
            .collect();
        json!({
            "hooks": self.options.hooks, "against": self.options.against, "since": self.since,
            "sources": self.past.kinds(), "events": events, "different": self.report.different(),
            "differences": counts, "judged_in_part": in_part, "by_hook": hooks, "examples": examples,
            "not_recorded": self.read.unknown, "problems": self.read.problems,
            "took_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX), "events_per_second": self.per_second(),
        })
    }

    /// Returns the report as a table.
    pub(super) fn table(&self) -> String {
        let mut page = String::new();
        let Report { events, differences, in_part, .. } = self.report;
        let sources: Vec<String> = self.past.kinds().into_iter().map(|(kind, count)| counted(count, kind)).collect();
        let _ = writeln!(
            page,
            "{BOLD}{}{BOLD:#} from {}  {DIM}{}, {}/s{DIM:#}",
            counted(*events, "event"),
            sources.join(", "),
            duration(self.took),
            self.per_second(),
        );
        let against = match &self.options.against {
            Some(file) => format!("the decisions of {}", file.display()),
            None => "the recorded decisions".to_owned(),
        };
        let _ = writeln!(page, "{DIM}compared with {}{DIM:#}\n", on_one_line(&against));
        if differences.is_empty() {
            let _ = writeln!(page, "{GREEN}No differences.{GREEN:#}");
        }
        for difference in Difference::ALL {
            let Some(count) = differences.get(&difference) else { continue };
            let style = match difference {
                Difference::NewlyDenied | Difference::NewlyAllowed => RED,
                Difference::NewlyAsked | Difference::NoLongerAsked | Difference::NoLongerAllowed => YELLOW,
                _ => CYAN,
            };
            let _ = writeln!(page, "{style}{count:>8}  {difference}{style:#}");
            for example in self.report.examples.get(&difference).into_iter().flatten() {
                show(&mut page, example);
            }
        }
        self.show_hooks(&mut page);
        if *in_part > 0 {
            let _ = writeln!(
                page,
                "\n{YELLOW}! {} judged without all matching hooks: their handlers were not called (use \
                 --run-handlers){YELLOW:#}",
                counted(*in_part, "event"),
            );
        }
        if !self.read.unknown.is_empty() {
            let _ = writeln!(page, "\n{DIM}Not recorded or not readable:{DIM:#}");
            for (what, count) in &self.read.unknown {
                let _ = writeln!(page, "{DIM}{count:>8}  {}{DIM:#}", on_one_line(what));
            }
        }
        for problem in &self.read.problems {
            let _ = writeln!(page, "{YELLOW}! {}{YELLOW:#}", on_one_line(problem));
        }
        page
    }

    fn show_hooks(&self, page: &mut String) {
        if self.hooks.is_empty() {
            return;
        }
        let _ = writeln!(page, "\n{BOLD}{:>8} {:>8} {:>9}  hook{BOLD:#}", "matched", "decided", "not run");
        // Hooks that decide most come first.
        let mut rows: Vec<(&Arc<str>, &Hits)> = self.hooks.iter().collect();
        rows.sort_by_key(|(name, hits)| (std::cmp::Reverse((hits.decided, hits.matched)), *name));
        for (name, hits) in rows.iter().take(MAX_HOOKS) {
            let style = if hits.matched + hits.decided == 0 { DIM } else { crate::view::rows::PLAIN };
            let not_asked = if hits.not_asked == 0 { String::new() } else { hits.not_asked.to_string() };
            let matched = if hits.matched == 0 && hits.decided > 0 { "-".to_owned() } else { hits.matched.to_string() };
            let name = on_one_line(name);
            let _ = writeln!(page, "{style}{matched:>8} {:>8} {not_asked:>9}  {name}{style:#}", hits.decided);
        }
        if rows.len() > MAX_HOOKS {
            let _ = writeln!(page, "{DIM}{:>8}  more (see --json){DIM:#}", rows.len() - MAX_HOOKS);
        }
    }
}

fn show(page: &mut String, example: &Example<About>) {
    let Example { about, then, now, .. } = example;
    let what = [about.tool.as_deref().unwrap_or(about.point), &about.words].join(" ");
    let what = cut(&on_one_line(what.trim_end()), WIDTH).into_owned();
    let _ = writeln!(page, "{:>10}{BOLD}{what}{BOLD:#}", "");
    let when = about.when.get(..16).unwrap_or(&about.when).replace('T', " ");
    let (then, now) = (word(then), word(now));
    let line = format!("{then} → {now}");
    let line = cut(&line, WIDTH).into_owned();
    let session = cut(&on_one_line(&about.session), 40).into_owned();
    let _ = writeln!(page, "{:>10}{DIM}{when}  {session}  {}{DIM:#}", "", about.source);
    let _ = writeln!(page, "{:>10}{DIM}{line}{DIM:#}", "");
}

/// Returns a decision as text: `deny by no-rm (new.toml:3): deletions are for humans`.
fn word(opinion: &Opinion) -> String {
    let by = opinion.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = opinion.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let changes = opinion.changes.iter().flatten().map(|(path, value)| format!(" {path} = {value}"));
    on_one_line(&format!("{}{by}{reason}{}", opinion.said, changes.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

    use clap::Parser as _;
    use vertebra_journal::backtest::{Backtest, Judged, Said};

    use super::*;
    use crate::assembly::World;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn about(command: &&str) -> About {
        About {
            source: "journal",
            session: "s-1".to_owned(),
            when: "2026-11-10T08:00:00Z".to_owned(),
            point: "BeforeToolUse",
            tool: Some("bash".to_owned()),
            words: (*command).to_owned(),
        }
    }

    #[test]
    fn the_table_shows_differences_their_hooks_and_missing_records() {
        let backtest =
            Backtest { threads: NonZeroUsize::MIN, examples: 1, stop: &AtomicBool::new(false), progress: &|_| {} };
        let judge = |command: &&str| {
            let denied = command.starts_with("git push");
            let now = Opinion {
                by: denied.then(|| "no-push (new.toml:5)".to_owned()),
                reason: denied.then(|| "pushing is\u{1b}[2J for humans".to_owned()),
                ..Opinion::of(if denied { Said::Refused } else { Said::Nothing })
            };
            let matched = denied.then(|| Arc::from("no-push (new.toml:5)")).into_iter().collect();
            let not_asked = (*command == "ls").then(|| Arc::from("outside (new.toml:9)")).into_iter().collect();
            Judged { then: Opinion::of(Said::WentOn), now, matched, not_asked }
        };
        let report = backtest.run([["ls", "git push", "git push --force"]], || judge, about);
        let mut hooks = report.hooks.clone();
        hooks.insert("never (new.toml:12)".into(), Hits::default());
        let log = tempfile::NamedTempFile::new().expect("a file");
        let words = ["backtest", "--hooks", "new.toml", "--hook-log"].map(str::to_owned);
        let options = Line::parse_from(words.into_iter().chain([log.path().display().to_string()])).options;
        let told = Told {
            options: &options,
            past: &Past::find(&options, None, &World::of_process()).expect("a log"),
            since: None,
            report: &report,
            hooks,
            read: sources::Told {
                unknown: BTreeMap::from([("lines that cannot be read".to_owned(), 2)]),
                problems: vec!["x.jsonl: gone".to_owned()],
            },
            took: Duration::from_millis(1500),
        };
        let plain = anstream::adapter::strip_str(&told.table()).to_string();
        insta::assert_snapshot!(plain, @r"
        3 events from 1 hook log  1.5 s, 2/s
        compared with the recorded decisions

               2  newly denied
                  bash git push
                  2026-11-10 08:00  s-1  journal
                  proceeded → deny by no-push (new.toml:5): pushing is⟨U+001B⟩[2J for humans

         matched  decided   not run  hook
               2        2            no-push (new.toml:5)
               0        0            never (new.toml:12)
               0        0         1  outside (new.toml:9)

        ! 1 event judged without all matching hooks: their handlers were not called (use --run-handlers)

        Not recorded or not readable:
               2  lines that cannot be read
        ! x.jsonl: gone
        ");
    }
}
