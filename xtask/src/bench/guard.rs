//! Holds the number of instructions that a dispatch and a turn take against the committed ones.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, bail};

use super::binary::{self, Binary};
use super::instructions::per_iteration;
use super::number::count as written;

/// The committed numbers: a case and its count on each line.
const FILE: &str = "bench/instructions.txt";

const HEADING: &str = "\
# Instructions per iteration, counted with valgrind. `cargo xtask instructions` compares, and fails if a case takes 3 %
# more. If the cost is worth it, run it with `--write` and say why in the commit message.
";

/// The part of a committed count by which a new one may exceed it.
const TOLERANCE: f64 = 0.03;

/// A dispatch without hooks takes so few instructions that a part of them is less than one.
const FEWEST: f64 = 2.0;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// Writes the counts to bench/instructions.txt instead of comparing them
    #[arg(long)]
    write: bool,
}

/// A case that is guarded, with its committed count.
#[derive(Clone, Debug, PartialEq)]
struct Guarded {
    case: String,
    instructions: f64,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let committed = parse(&text)?;
    let binary = binary::build_core()?;
    let counted = count(&binary, &committed)?;
    if request.write {
        fs::write(FILE, format(&counted)).with_context(|| format!("cannot write {FILE}"))?;
        println!("wrote {FILE}");
        return Ok(());
    }
    let slower = exceeding(&committed, &counted);
    if !slower.is_empty() {
        bail!(
            "{} takes more instructions than {FILE} allows; if it is worth it, run with `--write`",
            slower.join(", ")
        );
    }
    Ok(())
}

fn count(binary: &Binary, committed: &[Guarded]) -> anyhow::Result<Vec<Guarded>> {
    println!("{:<22} {:>12} {:>12}", "instructions", "committed", "now");
    let one = |guarded: &Guarded| {
        let case = guarded.case.clone();
        let mut instructions = per_iteration(binary, &case)?;
        // Tables of names are seeded at random, and now and then a seed makes their entries collide.
        for _ in 0..2 {
            if instructions > most(guarded) {
                instructions = instructions.min(per_iteration(binary, &case)?);
            }
        }
        println!("{case:<22} {:>12} {:>12}", written(guarded.instructions), written(instructions));
        Ok(Guarded { case, instructions })
    };
    committed.iter().map(one).collect()
}

/// How many instructions a case may take.
fn most(guarded: &Guarded) -> f64 {
    guarded.instructions + (guarded.instructions * TOLERANCE).max(FEWEST)
}

/// The cases that take more than they may.
fn exceeding<'a>(committed: &'a [Guarded], counted: &[Guarded]) -> Vec<&'a str> {
    let pairs = committed.iter().zip(counted);
    pairs.filter(|(old, new)| new.instructions > most(old)).map(|(old, _)| old.case.as_str()).collect()
}

fn parse(text: &str) -> anyhow::Result<Vec<Guarded>> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let guarded = lines.map(|(number, line)| {
        let mut words = line.split_whitespace();
        let count = |word: &str| word.parse::<u32>().ok();
        match (words.next(), words.next().and_then(count), words.next()) {
            (Some(case), Some(count), None) => Ok(Guarded { case: case.to_owned(), instructions: f64::from(count) }),
            _ => bail!("{FILE}:{number}: expected a case and its count, such as `one_hook 800`"),
        }
    });
    guarded.collect()
}

fn format(counted: &[Guarded]) -> String {
    counted.iter().fold(HEADING.to_owned(), |mut text, Guarded { case, instructions }| {
        writeln!(text, "{case:<20} {instructions:>8.0}").expect("a string takes every text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(cases: &[(&str, f64)]) -> Vec<Guarded> {
        cases.iter().map(|&(case, instructions)| Guarded { case: case.to_owned(), instructions }).collect()
    }

    #[test]
    fn a_case_fails_once_it_takes_three_per_cent_more() {
        let committed = guarded(&[("no_hook", 30.0), ("one_hook", 1000.0), ("turn", 70_000.0)]);
        let check = |counts: [f64; 3], expected: &[&str]| {
            let now = guarded(&[("no_hook", counts[0]), ("one_hook", counts[1]), ("turn", counts[2])]);
            assert_eq!(exceeding(&committed, &now), expected);
        };

        check([32.0, 1030.0, 72_100.0], &[]);
        check([33.0, 900.0, 60_000.0], &["no_hook"]);
        check([20.0, 1031.0, 72_101.0], &["one_hook", "turn"]);
    }

    #[test]
    fn written_counts_are_read_again() {
        let counted = guarded(&[("no_hook", 30.0), ("turn_at_10000", 70_000.0)]);

        assert_eq!(parse(&format(&counted)).expect("what was written"), counted);
        let error = parse("# a comment\n\nturn many\n").expect_err("`many` is no number").to_string();
        assert_eq!(error, "bench/instructions.txt:3: expected a case and its count, such as `one_hook 800`");
    }
}
