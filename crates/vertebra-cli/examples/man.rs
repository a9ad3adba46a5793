//! Writes the manual pages of `vertebra` into a folder: one page for each command.
//!
//! Run it as `cargo xtask man`. It is an example so that the program itself need not contain what formats the pages.

use std::{env, fs, path::PathBuf};

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from).context("usage: man FOLDER")?;
    fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(vertebra_cli::command(), &folder))
        .with_context(|| folder.display().to_string())
}
