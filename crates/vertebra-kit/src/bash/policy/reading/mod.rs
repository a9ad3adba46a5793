//! Decides whether a command only reads files of its folder, so that nobody needs to be asked about it.
//!
//! The grammar gives the structure, a table gives the programs and their options (`readers.txt`), and a walk accepts only what it
//! knows: pipes, lists, loops, conditions and substitutions of such programs. Everything else is a question.

mod outside;
mod programs;
mod scripts;
mod table;
mod walk;
mod words;

use std::collections::BTreeSet;

use vertebra::{
    SystemClock,
    shell::{self, CommandLine, ParseLimits},
};

use self::walk::Walk;
use super::{
    Decision, Ground,
    budget::Budget,
    judge,
    parse::{Parsed, parse},
};

/// A longer command does more than read.
const LONGEST: usize = 16 * 1024;

/// Returns whether a command only reads files of the working folder: it writes no file, starts no program that may do so, and
/// reads neither files elsewhere nor the environment. A command that cannot be analysed does more than read.
///
/// May block, because it looks for links and for what makes git start programs.
///
/// ```
/// use vertebra_kit::bash::policy::{Ground, only_reads};
///
/// let ground = Ground::new("/home/me/project", "/home/me");
/// assert!(only_reads("for f in src/*.rs; do grep -c 'fn main()' \"$f\"; done | sort -n", &ground));
/// assert!(!only_reads("sort -o list.txt list.txt", &ground));
/// assert!(!only_reads("cat ~/.ssh/id_ed25519", &ground));
/// ```
pub fn only_reads(command: &str, ground: &Ground) -> bool {
    does_more(command, ground).is_empty()
}

/// Returns the parts of a command that do more than read, as they are written: `npm test` of `npm test 2>&1 | tail -5`. That is
/// the whole command if it cannot be told apart.
///
/// May block, as [`only_reads`] does.
pub fn does_more(command: &str, ground: &Ground) -> Vec<String> {
    parts(command, ground).unwrap_or_else(|| vec![command.to_owned()])
}

fn parts(command: &str, ground: &Ground) -> Option<Vec<String>> {
    if command.len() > LONGEST || command.contains(['\r', '\0']) {
        return None;
    }
    let clock = SystemClock::default();
    let Parsed { text: command, tree } = parse(command, &mut Budget::new(command.len(), &clock))?;
    let command = &*command;
    if tree.root_node().has_error() {
        return None;
    }
    let other = shell::parse(command, ParseLimits::default());
    let mut walk = Walk::new(command, ground);
    walk.line(tree.root_node());
    let is_empty = walk.readers.is_empty() && walk.more.is_empty();
    if walk.is_lost
        || walk.rises_from_elsewhere()
        || is_empty
        || other.is_beyond_reading()
        || !outside::stays_inside(&walk)
    {
        return None;
    }
    let text = |range: &std::ops::Range<usize>| command.get(range.clone()).map(str::to_owned);
    let mut more: Vec<String> = walk.more.iter().filter_map(text).collect();
    // The policy may know more about a command, and a second parser may see commands that the grammar does not show.
    if more.is_empty() {
        if judge(command, ground).decision != Decision::Allow {
            return None;
        }
    } else {
        let readers: BTreeSet<String> = walk.readers.iter().filter_map(text).collect();
        more.extend(readers.into_iter().filter(|reader| judge(reader, ground).decision == Decision::Deny));
    }
    let mut known = walk.programs;
    known.extend(more.iter().flat_map(|part| names(&shell::parse(part, ParseLimits::default()))));
    names(&other).iter().all(|name| known.contains(name)).then(|| {
        let mut seen = BTreeSet::new();
        more.retain(|part| seen.insert(part.clone()));
        more
    })
}

/// Returns the first words of the commands that the second parser finds.
fn names(line: &CommandLine) -> Vec<String> {
    let first = |command: &String| command.split(' ').next().unwrap_or_default().to_owned();
    let names = line.texts().iter().map(first);
    names.filter(|name| !name.contains('=') && name != "[" && name != "[[").collect()
}

#[cfg(test)]
mod tests;
