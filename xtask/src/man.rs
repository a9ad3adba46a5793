//! Writes the manual pages of `vertebra`.

use std::path::PathBuf;

use crate::stage::{Report, Stage};
use crate::test::target_dir;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// Folder to write the pages to [default: man in the target folder]
    // Made absolute at once, because stages run in the root of the workspace.
    #[arg(value_parser = |text: &str| std::path::absolute(text))]
    dir: Option<PathBuf>,
}

pub(crate) fn run(request: &Request) -> Report {
    let folder = request.dir.clone().unwrap_or_else(|| target_dir().join("man"));
    Report::of(vec![Stage::new("man", "cargo run --quiet --package vertebra-cli --example man --").arg(folder)])
}
