//! `vertebra hooks doctor`: hooks that cannot work, cannot be reached, are slow, or are not trusted.

mod files;
mod order;
mod start;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use vertebra_bridge::{
    handler::Services,
    policy::{Policy, Standing as HookStanding},
    settings::{Action, Settings},
    shown,
    trust::{Project, Standing, Store},
};

use crate::{
    assembly::{Settled, Trust, World},
    doctor::{Finding, Health, show},
    interrupt::unless_interrupted,
};

/// Where to look.
#[derive(clap::Args)]
#[command(after_help = "\
Nothing is changed. ✓ works, ! works with less, ✗ does not work. No hook is started unless you say --run; hooks of a folder
that is not trusted never are. The exit code is 1 if anything does not work.")]
pub(crate) struct Options {
    /// The folder to look at
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Start each program with a sample event, and see how long it takes
    #[arg(long)]
    run: bool,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Runs the command. It fails if something does not work.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World { is_interactive: false, ..World::of_process() };
    let folder = options.dir.canonicalize().with_context(|| options.dir.display().to_string())?;
    let mut findings = Vec::new();
    match Settled::read(&folder, Trust::OnlyRemembered, Settings::default(), &world) {
        Ok(settled) => {
            let services = Services {
                folder: folder.clone(),
                variables: world.variables.clone(),
                seals: settled.brought.seals.clone(),
                ..Services::default()
            };
            for hook in &settled.settings.hooks {
                if let Action::Run(run) = &hook.value.action {
                    let what = format!("hook {}", shown(&hook.value.stand.name));
                    findings.extend(files::of_run(&what, run, &folder, &world));
                }
            }
            match Policy::new(&settled.settings, &services) {
                Ok(policy) => {
                    findings.extend(order::all(&policy));
                    if options.run {
                        findings.extend(unless_interrupted(start::slow(&settled.settings, &services)).await?);
                    }
                    let in_force = policy.hooks().iter().filter(|hook| hook.standing == HookStanding::InForce).count();
                    findings.push(Finding::good("policy", format!("{in_force} hooks of vertebra.toml are in force")));
                }
                Err(error) => findings.push(Finding::broken("policy", error.to_string(), "mend the line")),
            }
        }
        Err(error) => findings.push(Finding::broken("settings", format!("{error:#}"), "mend the line")),
    }
    findings.extend(project(&folder, &world)?);
    findings.extend(start::noise(&world).await);
    let broken = findings.iter().filter(|finding| finding.health == Health::Broken).count();
    if options.json {
        crate::programs::print(&findings)?;
    } else {
        show(&mut anstream::stdout().lock(), &findings, broken)?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the project brings: whether it counts, and whether it would work if it did.
fn project(folder: &std::path::Path, world: &World) -> anyhow::Result<Vec<Finding>> {
    const WHAT: &str = "this folder";
    let project = Project::look(folder)?;
    if project.hooks.is_empty() {
        return Ok(Vec::new());
    }
    let standing = world.state.as_deref().map(|state| Store::in_folder(state).standing(&project)).transpose()?;
    let standing = standing.unwrap_or(Standing::Unknown);
    let mut findings = Vec::new();
    let trusted = standing == Standing::Trusted;
    for hook in &project.hooks {
        // Those of a trusted vertebra.toml were looked at with the others.
        if let Some(started) = hook.starts.as_ref().filter(|_| !trusted || hook.line.is_none()) {
            let what = format!("hook {}", shown(&hook.name));
            findings.extend(files::of_words(&what, started, folder, world));
        }
    }
    if trusted {
        findings.push(Finding::good(WHAT, format!("{} hooks, trusted", project.hooks.len())));
    } else {
        findings.push(Finding::lacking(WHAT, project.left_out(&standing), "vertebra trust"));
    }
    Ok(findings)
}
