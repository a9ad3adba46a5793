//! Measures a real server: a guard in another process beside a bare call, and a thousand sessions at once.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::journal::{rows, table};
use crate::stage::Stage;
use crate::test::target_dir;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// How many sessions at once
    #[arg(long, default_value_t = 1000)]
    sessions: usize,
    /// Where the table is written, from the root of the workspace
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let build = Stage::new("build", "cargo build --profile dist --package vertebra-cli --package bench-served");
    ensure!(build.passes(), "the server, or what measures it, does not build");
    let folder = target_dir().join("dist");
    let mut measure = Command::new(folder.join("bench-served"));
    measure.arg("--server").arg(folder.join("vertebra")).args(["--sessions", &request.sessions.to_string()]);
    let table = table("Vertebra, served", &rows(&mut measure)?);
    println!("\n{table}");
    fs::create_dir_all(&request.out)?;
    let path = request.out.join("served.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
