//! `vertebra hooks doctor`: finds hooks that are broken, unreachable, slow or not trusted.

mod claude;
mod files;
mod interpreter;
mod line;
mod order;
mod project;
mod start;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use vertebra_bridge::{
    handler::Services,
    policy::{Policy, Standing as HookStanding},
    settings::{Action, Settings},
    shown,
    trust::Project,
};

use crate::{
    assembly::{Settled, Trust, World, claude_settings},
    doctor::{Finding, Health, show},
    interrupt::unless_interrupted,
};

/// The options of `vertebra hooks doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
✓ works, ! works with limits, ✗ does not work. The check changes nothing and starts no hook unless you pass --run. Hooks of
an untrusted folder are never started. The exit code is 1 if there is a problem.")]
pub(crate) struct Options {
    /// Check the hooks of this folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Run each handler on a sample event and measure the time
    #[arg(long)]
    run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command. The exit code is 1 if something does not work.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let world = World { is_interactive: false, ..World::of_process() };
    let folder = options.dir.canonicalize().with_context(|| options.dir.display().to_string())?;
    let looked = Project::look(&folder)?;
    let trusted = project::is_trusted(&looked, &world)?;
    let mut findings = Vec::new();
    match Settled::read(&folder, Trust::OnlyRemembered, Settings::default(), &world) {
        Ok(settled) => {
            if let Some(error) = &settled.broken {
                findings.push(Finding::broken("settings", error.clone(), "fix the line shown above"));
            }
            let mut of_claude = claude_settings(&settled.brought, &world);
            if !trusted {
                claude::add(&mut of_claude, &looked);
            }
            let services = Services {
                folder: folder.clone(),
                variables: world.variables.clone(),
                seals: settled.brought.seals.clone(),
                ..Services::default()
            };
            findings.extend(policy(&settled.settings, &services, &options, &world).await?);
            findings.extend(claude::all(of_claude, &folder, &world));
        }
        Err(error) => findings.push(Finding::broken("settings", format!("{error:#}"), "fix the line shown above")),
    }
    findings.extend(project::all(&looked, &folder, &world)?);
    findings.extend(start::noise(&world).await);
    let broken = findings.iter().filter(|finding| finding.health == Health::Broken).count();
    if options.json {
        crate::programs::print(&findings)?;
    } else {
        show(&mut anstream::stdout().lock(), &findings, broken)?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks the hooks of `vertebra.toml`.
async fn policy(
    settings: &Settings,
    services: &Services,
    options: &Options,
    world: &World,
) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for hook in &settings.hooks {
        if let Action::Run(run) = &hook.value.action {
            let what = format!("hook {}", shown(&hook.value.stand.name));
            findings.extend(files::of_run(&what, run, &services.folder, world));
        }
    }
    match Policy::new(settings, services) {
        Ok(policy) => {
            findings.extend(order::all(&policy));
            if options.run {
                findings.extend(unless_interrupted(start::slow(settings, services)).await?);
            }
            let in_force = policy.hooks().iter().filter(|hook| hook.standing == HookStanding::InForce).count();
            if !settings.hooks.is_empty() {
                let is = if in_force == 1 { "is" } else { "are" };
                findings
                    .push(Finding::good("policy", format!("{} from vertebra.toml {is} in force", counted(in_force))));
            }
        }
        Err(error) => findings.push(Finding::broken("policy", error.to_string(), "fix the line shown above")),
    }
    Ok(findings)
}

/// Returns `1 hook`, `2 hooks`.
fn counted(hooks: usize) -> String {
    format!("{hooks} hook{}", if hooks == 1 { "" } else { "s" })
}
