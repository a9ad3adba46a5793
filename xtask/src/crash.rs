//! Kills an agent's process a thousand times, and sees whether it has done everything once.

use anyhow::ensure;

use crate::stage::Stage;

#[derive(clap::Args)]
pub(crate) struct Request {
    /// How often
    #[arg(long, default_value_t = 1000)]
    kills: u64,
    /// Which moments; the same number takes the same lines
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(request: &Request) -> anyhow::Result<()> {
    let line =
        "cargo test --package vertebra-journal --test it -- --ignored --exact --nocapture crash::a_thousand_kills";
    let mut command = Stage::new("crash", line).command();
    command.env("VERTEBRA_CRASH_KILLS", request.kills.to_string());
    command.env("VERTEBRA_CRASH_SEED", request.seed.to_string());
    ensure!(command.status()?.success(), "an agent did not survive; its seed and its folder are above");
    Ok(())
}
