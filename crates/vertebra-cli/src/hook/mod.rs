//! `vertebra hook`: the policy for an event of another agent, answered in that agent's words.
//!
//! It stands before every tool call of somebody's day. Nothing is read that the event does not need, and whatever goes wrong
//! before a tool is a no.

mod explain;
mod input;
mod levels;
mod log;
mod own;
mod secrets;

use std::{
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::Value;
use vertebra_bridge::{
    handler::Services,
    host::{self, Host, HostAnswer, HostEvent},
    policy::Policy,
    settings::{Action, HookSettings, Said},
    wire::{Decision, Judgement},
};

pub(crate) use self::log::files as log_files;
use self::{
    levels::InForce,
    log::{Line, Unread},
};
use crate::{assembly::World, interrupt::unless_interrupted};

/// How long an agent may take to say what happened.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long all hooks together may take, and the event with them. Agents are told to wait for a minute, and most let a
/// call pass that they have waited for in vain.
const LIMIT: Duration = Duration::from_secs(50);

/// The same for those who wait for less, whatever they are told.
const SHORT_LIMIT: Duration = Duration::from_secs(25);

fn limit(host: &Host) -> Duration {
    if host.name == "cline" { SHORT_LIMIT } else { LIMIT }
}

/// Whose event, and which policy.
#[derive(clap::Args, Default)]
#[command(after_help = "\
An agent's event comes on stdin, and the answer goes to stdout, stderr and the exit code as that agent reads them. Agents
are told of this command by `vertebra install`. To see what would be answered and why, add --explain.")]
pub(crate) struct Options {
    /// The agent, as `vertebra hosts` names it; `auto` tells it by the event
    #[arg(long, value_name = "NAME", default_value = "auto")]
    host: String,
    /// What happened, for agents whose events do not say it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// This policy and no other; its programs start in the folder of the file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show who asked, what was decided and why, and what would be answered
    #[arg(long)]
    explain: bool,
    /// Let a call pass when it cannot be judged
    #[arg(long)]
    fail_open: bool,
}

/// The options, if they are as `vertebra install` writes them: what they cost is paid at every call.
pub(crate) fn quickly(words: &[String]) -> Option<Options> {
    let mut options = Options { host: "auto".to_owned(), ..Options::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--host" => options.host.clone_from(words.next()?),
            "--event" => options.event = Some(words.next()?.clone()),
            "--config" => options.config = Some(words.next()?.into()),
            "--fail-open" => options.fail_open = true,
            _ => return None,
        }
    }
    Some(options)
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let host = match options.host.as_str() {
        "auto" => None,
        name => {
            let names = || host::HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", ");
            // A wrong word in a configuration must not open a gate: see below.
            Some(host::find(name).with_context(|| format!("there is no agent `{name}` here; there are {}", names())))
        }
    };
    let host = match host.transpose() {
        Ok(host) => host,
        Err(error) => return Ok(options.unjudged(None, &error.to_string(), began)),
    };
    let event = match input::read(PATIENCE) {
        Ok(event) => event,
        Err(error) => return Ok(options.unjudged(host, &error.to_string(), began)),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let event = match host::read(&event, host, options.event.as_deref(), &variable) {
        Ok(event) => event,
        Err(error) => {
            let host = host.or_else(|| host::looks_like(&event, &variable));
            let moment = options.named(host, &event);
            let answer = error.answer(host, moment.as_deref());
            let answer = if options.fail_open { passed(host, answer) } else { answer };
            return Ok(options.told(host, moment.as_deref(), &error.to_string(), &answer, began));
        }
    };
    let world = World::of_process();
    let left = limit(event.host).saturating_sub(began.elapsed());
    match whatever_happens(|| judged(options, &event, &world, left)) {
        Ok((judgement, in_force)) => {
            let answer = host::answer(&event, &judgement);
            if options.explain {
                explain::show(&mut std::io::stdout().lock(), &event, &judgement, &in_force, &answer)?;
                return Ok(ExitCode::SUCCESS);
            }
            let code = give(&answer);
            log::append(&world, &Line { event: &event, judgement: &judgement, answer: &answer, took: began.elapsed() });
            // As in `judged`.
            std::mem::forget((world, event, judgement, in_force, answer));
            Ok(code)
        }
        Err(error) => {
            let why = format!("{error:#}");
            let answer = host::unread(Some(event.host), Some(event.moment.name), &why);
            let answer = if options.fail_open { passed(Some(event.host), answer) } else { answer };
            let code = give(&answer);
            let judgement = unjudged(&why, &answer);
            log::append(&world, &Line { event: &event, judgement: &judgement, answer: &answer, took: began.elapsed() });
            Ok(code)
        }
    }
}

/// What the policy in force makes of an event.
fn judged(
    options: &Options,
    event: &HostEvent,
    world: &World,
    limit: Duration,
) -> anyhow::Result<(Judgement, InForce)> {
    let mut in_force = InForce::read(options.config.as_deref(), event, world)?;
    let services = Services {
        folder: in_force.base.clone(),
        variables: world.variables.clone(),
        seals: in_force.seals.clone(),
        ..Services::default()
    };
    let policy = Policy::for_one_event(&in_force.settings, &services, event.happened.point)?;
    let here = |hook: &Said<Arc<HookSettings>>| hook.value.stand.point == event.happened.point;
    let starts_something =
        in_force.settings.hooks.iter().any(|hook| here(hook) && matches!(hook.value.action, Action::Run(_)));
    let mut judgement = at_once(policy.judge(&event.happened), starts_something, limit)?;
    own::ask(in_force.missing.as_deref(), event, world, &mut judgement);
    in_force.notices.extend(policy.notices().iter().cloned());
    // What does not count is told once, as a session begins: at every call it would be noise. What does not count any more
    // is: the agent itself may have changed it.
    if event.happened.point == "SessionStart" || in_force.missing.is_some() {
        judgement.warnings.append(&mut in_force.notices.clone());
    }
    if !starts_something {
        // The process ends in a moment, and its memory with it: to give it back piece by piece takes longer than a judgement.
        // What was started outside is ended when its hook is dropped.
        std::mem::forget(policy);
    }
    Ok((judgement, in_force))
}

/// A mistake of ours is an error like any other: an agent would take the exit code of a panic for a yes.
fn whatever_happens<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| anyhow::bail!("this program has failed: that is a mistake in it"))
}

/// Does some work. Only where something outside may be started somebody also listens for signals, and from the beginning:
/// what was started is ended with it.
fn at_once<T>(work: impl Future<Output = T>, starts_something: bool, limit: Duration) -> anyhow::Result<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // Whoever only has limits of time needs nothing of the system.
    let runtime = if starts_something { runtime.enable_all() } else { runtime.enable_time() }.build()?;
    runtime.block_on(async {
        if !starts_something {
            return Ok(work.await);
        }
        tokio::select! {
            done = unless_interrupted(work) => done,
            () = tokio::time::sleep(limit) => {
                anyhow::bail!("the hooks took too long, and an agent that waits in vain asks nobody")
            }
        }
    })
}

impl Options {
    /// Answers where there is no judgement.
    fn unjudged(&self, host: Option<&'static Host>, why: &str, began: Instant) -> ExitCode {
        let answer = host::unread(host, self.event.as_deref(), why);
        let answer = if self.fail_open { passed(host, answer) } else { answer };
        self.told(host, self.event.as_deref(), why, &answer, began)
    }

    /// Gives an answer to an event that could not be read, and keeps it: a refusal that nobody finds later is a riddle.
    fn told(
        &self,
        host: Option<&'static Host>,
        moment: Option<&str>,
        why: &str,
        answer: &HostAnswer,
        began: Instant,
    ) -> ExitCode {
        let code = give(answer);
        if !self.explain {
            let unread = Unread { host, moment, judgement: &unjudged(why, answer), answer, took: began.elapsed() };
            log::append_unread(&World::of_process(), &unread);
        }
        code
    }

    /// What happened, as the event or the command line says.
    fn named(&self, host: Option<&'static Host>, event: &Value) -> Option<String> {
        let told = self.event.as_deref();
        host.map_or(told, |host| host::named(host, event, told)).map(str::to_owned)
    }
}

/// What stands in the log where nothing could be judged.
fn unjudged(why: &str, answer: &HostAnswer) -> Judgement {
    let decision = answer.refuses.then_some(Decision::Deny);
    Judgement { decision, reason: Some(why.to_owned()), goes_on: true, ..Judgement::default() }
}

/// Writes an answer. Whoever does not read it has gone.
fn give(answer: &HostAnswer) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    if !answer.stdout.is_empty() {
        let _ = writeln!(stdout, "{}", answer.stdout);
    }
    let _ = stdout.flush();
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.exit_code)
}

/// The same news, and the call passes.
fn passed(host: Option<&'static Host>, answer: HostAnswer) -> HostAnswer {
    let said = if answer.stderr.is_empty() { answer.stdout + "\n" } else { answer.stderr };
    let quiet = host.map_or("", |host| host.quiet).to_owned();
    HostAnswer { stdout: quiet, stderr: said, exit_code: 0, refuses: false, lost: answer.lost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_would_outlast_the_agents_patience_are_given_up() {
        let given_up = at_once(std::future::pending::<()>(), true, Duration::from_millis(10));
        assert!(given_up.is_err_and(|error| error.to_string().contains("too long")));
        // What is installed lets agents wait for a minute.
        assert!(LIMIT < Duration::from_mins(1));
    }

    #[test]
    fn a_panic_is_an_error_and_so_a_no() {
        let ended = whatever_happens::<()>(|| panic!("a mistake"));
        assert!(ended.is_err_and(|error| error.to_string().contains("mistake in it")));
    }
}
