//! Measures the journal, beside `LangGraph` with its checkpointer on the same turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::bench::number::{count, time};
use crate::stage::Stage;
use crate::test::target_dir;

/// Pinned, so that a row means the same next year.
const LANGGRAPH: [&str; 2] = ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"];

#[derive(clap::Args)]
pub(crate) struct Request {
    /// Vertebra alone
    #[arg(long)]
    without_peers: bool,
    /// Where the table is written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

/// A row of a table.
#[derive(Deserialize)]
pub(crate) struct Row {
    #[serde(rename = "row")]
    name: String,
    ns: Option<f64>,
    bytes: Option<f64>,
    count: Option<f64>,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let build = Stage::new("build", "cargo build --profile dist --package bench-journal");
    ensure!(build.passes(), "the measuring program does not build");
    let place = std::env::current_dir()?.join(target_dir()).join("journal");
    fs::create_dir_all(&place)?;
    let ours = place.with_file_name("dist").join("bench-journal");
    let mut table = table("Vertebra", &rows(Command::new(ours).current_dir(&place))?);
    if !request.without_peers {
        let python = langgraph(&place)?;
        let script = fs::canonicalize("bench/peers/langgraph/run.py")?;
        table.push_str(&self::table("LangGraph", &rows(Command::new(python).arg(script).current_dir(&place))?));
    }
    println!("\n{table}");
    fs::create_dir_all(&request.out)?;
    let path = request.out.join("journal.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// A Python that has it, in a folder of its own beside the other build products.
fn langgraph(place: &Path) -> anyhow::Result<PathBuf> {
    let folder = place.join("langgraph");
    let python = folder.join("bin/python");
    if !python.exists() {
        ensure!(Stage::new("python", "python3 -m venv").arg(&folder).passes(), "there is no Python with `venv`");
    }
    let install = Stage::program("langgraph", &python).args(["-m", "pip", "install", "--quiet"]).args(LANGGRAPH);
    ensure!(install.passes(), "LangGraph cannot be installed; `--without-peers` measures Vertebra alone");
    Ok(python)
}

/// What a program measures: a line of JSON for each row.
pub(crate) fn rows(command: &mut Command) -> anyhow::Result<Vec<Row>> {
    eprintln!("measuring with {}", command.get_program().display());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().context("cannot start it")?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "it ended with {}", output.status);
    let lines = String::from_utf8(output.stdout)?;
    lines.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

pub(crate) fn table(who: &str, rows: &[Row]) -> String {
    let mut table = format!("| {who} | time | bytes |\n| --- | ---: | ---: |\n");
    for Row { name, ns, bytes, count: times } in rows {
        let first = ns.map(time).or_else(|| times.map(count)).unwrap_or_default();
        let bytes = bytes.map(count).unwrap_or_default();
        table.extend(["| ", name, " | ", &first, " | ", &bytes, " |\n"]);
    }
    table + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_time_or_a_count() {
        let rows = [r#"{"row": "a turn", "ns": 1500, "bytes": 2048}"#, r#"{"row": "effects", "count": 2}"#];
        let rows: Vec<Row> = rows.iter().map(|row| serde_json::from_str(row).expect("a row")).collect();
        assert!(table("x", &rows).ends_with("| a turn | 1.50 µs | 2\u{a0}048 |\n| effects | 2 |  |\n\n"));
    }
}
