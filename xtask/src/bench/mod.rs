//! Measures Vertebra beside its peers, on one core, in one run: times are compared and never asserted.

mod bars;
mod binary;
pub(crate) mod guard;
mod history;
mod instructions;
mod measurement;
pub(crate) mod number;
mod page;
mod results;
mod runner;
mod svg;
mod table;
mod targets;

use std::fs;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum as _;

use binary::Peer;
use results::Results;
use table::Paint;
use targets::Part;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// Measures Vertebra alone
    #[arg(long, conflicts_with = "peers")]
    without_peers: bool,
    /// Measures it beside these peers only
    #[arg(long, value_delimiter = ',', value_name = "PEER,…")]
    peers: Vec<Peer>,
    /// Measures only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
    /// Counts instructions too, with valgrind; takes minutes
    #[arg(long)]
    instructions: bool,
    /// Where the results are written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let mut results = Results::begin();
    let parts = request.parts();
    let binaries = binary::build(&request.peers(), &parts, &mut results.notes)?;
    runner::measure(&binaries, &parts, &mut results)?;
    if request.instructions {
        instructions::count(&binaries, &mut results);
    } else {
        results.notes.push("instructions were not counted: run with `--instructions`".to_owned());
    }
    print(&results);
    write(&results, &request.out)
}

impl Request {
    /// In the order of their list, each once, however they were asked for.
    fn peers(&self) -> Vec<Peer> {
        let wanted = |peer: &Peer| !self.without_peers && (self.peers.is_empty() || self.peers.contains(peer));
        Peer::value_variants().iter().copied().filter(wanted).collect()
    }

    fn parts(&self) -> Vec<Part> {
        if self.only.is_empty() { Part::value_variants().to_vec() } else { self.only.clone() }
    }
}

fn print(results: &Results) {
    let wants_colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint = if wants_colour { Paint::Colour } else { Paint::Plain };
    println!("\n{}", page::terminal(results, paint));
}

fn write(results: &Results, folder: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let files = [
        ("results.md", page::markdown(results)),
        ("results.json", results.json()?),
        ("dispatch.svg", bars::draw(results)),
        ("history.svg", history::draw(results)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        request: Request,
    }

    fn request(line: &str) -> Request {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        let parsed: Line = clap::Parser::try_parse_from(words).unwrap();
        parsed.request
    }

    fn check(line: &str, expected: &[Peer]) {
        assert_eq!(request(line).peers(), expected, "{line}");
    }

    #[test]
    fn all_parts_are_measured_unless_somebody_names_some() {
        assert_eq!(request("").parts(), Part::value_variants());
        assert_eq!(request("--only dispatch,turn").parts(), [Part::Dispatch, Part::Turn]);
    }

    #[test]
    fn all_peers_take_part_unless_somebody_says_otherwise() {
        check("", Peer::value_variants());
        check("--without-peers", &[]);
        check("--peers plain-registry,a3s,a3s", &[Peer::A3s, Peer::PlainRegistry]);
    }
}
