//! Checks that need a start: shells that print at start-up, and handlers that are slow.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use vertebra::{POINT_TABLE, Ran};
use vertebra_bridge::{
    handler::{
        Services,
        process::{Program, Start},
    },
    policy::Policy,
    settings::{Action, Settings},
    shown,
    trust::Seal,
    wire::{End, Happened},
};

use crate::{assembly::World, doctor::Finding, view::text};

/// The longest time a shell may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A hook that takes this long is slow: people notice half a second at every call.
const SLOW: Duration = Duration::from_millis(500);

/// Finds shells that print at start-up. Their output would come before the answer of a hook.
pub(super) async fn noise(world: &World) -> Vec<Finding> {
    let own = world.variables.get("SHELL").cloned().unwrap_or_else(|| "sh".to_owned());
    let mut findings = Vec::new();
    for (shell, option) in [("sh".to_owned(), "-c"), ("bash".to_owned(), "-c"), (own, "-lc")] {
        let what = format!("{} {option}", shown(&shell));
        let start = Start::Exec(vec![shell, option.to_owned(), ":".to_owned()]);
        let variables = world.variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let exchange = Program { start, folder: std::env::temp_dir(), variables, seal: Seal::default() }
            .exchange(b"", PATIENCE)
            .await;
        match exchange.end {
            End::TimedOut { after } => {
                let found = format!("did not start within {}", text::duration(after));
                findings.push(Finding::lacking(what, found, "check its start-up files"));
            }
            // A missing shell starts no hook.
            End::Failed { .. } => {}
            _ if exchange.stdout.trim().is_empty() => {}
            _ => {
                let found = format!("prints to standard output at start-up: {}", shown(exchange.stdout.trim()));
                let advice = "print only in interactive shells: `case $- in *i*) … ;; esac`";
                findings.push(Finding::lacking(what, found, advice));
            }
        }
    }
    findings
}

/// Runs each handler alone on a sample event and measures the time.
pub(super) async fn slow(settings: &Settings, services: &Services) -> Vec<Finding> {
    let mut findings = Vec::new();
    for hook in &settings.hooks {
        if !matches!(hook.value.action, Action::Run(_)) || !hook.value.enabled {
            continue;
        }
        let what = format!("hook {}", shown(&hook.value.stand.name));
        let mut alone = Settings { hooks: vec![hook.clone()], ..Settings::default() };
        for hook in &mut alone.hooks {
            let stand = &mut Arc::make_mut(&mut hook.value).stand;
            stand.matcher = None;
            stand.before.clear();
            stand.after.clear();
        }
        let point = hook.value.stand.point;
        let mut sample = if POINT_TABLE.contains(&point) { point.blank().into() } else { point.sample() };
        sample["working_directory"] = json!(services.folder);
        let fields = sample.as_object().cloned().unwrap_or_default();
        let (Ok(policy), Ok(sample)) = (Policy::new(&alone, services), Happened::at(point, &fields)) else { continue };
        let trial = policy.fire(&sample).await;
        for trace in &trial.record.hooks {
            let waited = trace.took.unwrap_or_default();
            let took = text::duration(waited);
            findings.push(match &trace.ran {
                Ran::Failed { failure, .. } => {
                    let found = format!("with a sample event it {failure}");
                    Finding::broken(what.clone(), found, "see its output with `vertebra hooks explain EVENT.json`")
                }
                _ if waited >= SLOW => {
                    let found = format!("took {took} with a sample event, and each event waits for it");
                    Finding::lacking(
                        what.clone(),
                        found,
                        "use a `worker`, which is started once, or a `detached` watch",
                    )
                }
                _ => Finding::good(what.clone(), format!("took {took} with a sample event")),
            });
        }
    }
    findings
}
