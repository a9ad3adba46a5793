//! `vertebra hook`: judges one event of another coding agent and answers in that agent's format.
//!
//! Agents run it before every tool call, so it reads nothing that the event does not need. Any failure before a tool call is
//! a denial.

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
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
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

/// How long an agent may take to send its event.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long after the deadline a judgement that does not end by itself is given up. Every agent waits longer.
const GRACE: Duration = Duration::from_secs(2);

/// The options of `vertebra hook`.
#[derive(clap::Args, Default)]
#[command(after_help = "\
The command reads the agent's event from stdin and answers on stdout, on stderr and with its exit code, in the agent's own
format. `vertebra install` makes an agent call it. Add --explain to see the decision, the reason and the answer instead.
`vertebra hosts` lists the names of the agents. Programs of a policy given by --config start in the folder of that file.

Example:
  echo '{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}' | vertebra hook --explain")]
pub(crate) struct Options {
    /// Name of the agent; `auto` detects it
    #[arg(long, value_name = "NAME", default_value = "auto")]
    host: String,
    /// Name of the event, for agents that do not send it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Use only this policy file (and the managed one)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask about changes if the records of what is trusted are gone
    #[arg(long)]
    recorded: bool,
    /// Show the agent, the decision, the reason and the answer
    #[arg(long)]
    explain: bool,
    /// Let a call pass if it cannot be judged
    #[arg(long)]
    fail_open: bool,
}

/// Parses the options without clap if they are among those that `vertebra install` writes. This runs at every call.
pub(crate) fn quickly(words: &[String]) -> Option<Options> {
    let mut options = Options { host: "auto".to_owned(), ..Options::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--host" => options.host.clone_from(words.next()?),
            "--event" => options.event = Some(words.next()?.clone()),
            "--config" => options.config = Some(words.next()?.into()),
            "--recorded" => options.recorded = true,
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
            // A typo in a configuration must not let calls pass, so this is answered below.
            Some(host::find(name).with_context(|| format!("unknown agent `{name}`. Known: {}", names())))
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
    let left = event.host.deadline().saturating_sub(began.elapsed());
    let answered = options.watch(&event, left + GRACE);
    let done = whatever_happens(|| judged(options, &event, &world, left));
    if answered.swap(true, Ordering::SeqCst) {
        // The other thread answers, and ends the process.
        loop {
            thread::park();
        }
    }
    match done {
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

/// Judges an event by the policy in force.
fn judged(
    options: &Options,
    event: &HostEvent,
    world: &World,
    limit: Duration,
) -> anyhow::Result<(Judgement, InForce)> {
    let mut in_force = InForce::read(options.config.as_deref(), event, world)?;
    if options.recorded && options.config.is_none() {
        in_force = in_force.recorded(world);
    }
    let services = Services {
        folder: in_force.base.clone(),
        variables: world.variables.clone(),
        seals: in_force.seals.clone(),
        ..Services::default()
    };
    let point = event.happened.point.row().name;
    let (policy, error) = Policy::as_far_as_possible(&in_force.settings, &services, Some(point))?;
    if let Some(error) = error {
        in_force = in_force.only_refusing(&error.to_string());
    }
    let here = |hook: &Said<Arc<HookSettings>>| hook.value.stand.point == event.happened.point;
    let starts_something =
        in_force.settings.hooks.iter().any(|hook| here(hook) && matches!(hook.value.action, Action::Run(_)));
    let mut judgement = at_once(policy.judge(&event.happened), starts_something, limit)?;
    let missing = in_force.missing.as_deref().filter(|_| !(in_force.is_broken && options.fail_open));
    own::ask(missing, event, &in_force.folder, world, &mut judgement);
    in_force.notices.extend(policy.notices().iter().cloned());
    // Ignored settings are reported once, when a session starts. Missing trusted settings are reported at every call, because
    // the agent itself may have removed them.
    if point == "SessionStart" || in_force.missing.is_some() {
        judgement.warnings.append(&mut in_force.notices.clone());
    }
    if !starts_something {
        // The process is about to exit, and freeing its memory takes longer than a judgement. Only hooks that started a process
        // must be dropped, because dropping them ends the process.
        std::mem::forget(policy);
    }
    Ok((judgement, in_force))
}

/// Turns a panic into an error: an agent would let the call pass on the exit code of a panic.
fn whatever_happens<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| anyhow::bail!("internal error: vertebra panicked; please report this bug"))
}

/// Runs a future to its end. If hooks may start processes, it also handles signals from the beginning and enforces the time
/// limit, so that those processes are ended too.
fn at_once<T>(work: impl Future<Output = T>, starts_something: bool, limit: Duration) -> anyhow::Result<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // Hooks without processes need timers only.
    let runtime = if starts_something { runtime.enable_all() } else { runtime.enable_time() }.build()?;
    runtime.block_on(async {
        if !starts_something {
            return Ok(work.await);
        }
        tokio::select! {
            done = unless_interrupted(work) => done,
            () = tokio::time::sleep(limit) => {
                anyhow::bail!("the hooks took too long to answer")
            }
        }
    })
}

impl Options {
    /// Answers in place of a judgement that does not end in time, whatever it is busy with, and ends the process: an agent
    /// lets a call pass when it gives up. The thread that sets the flag first answers.
    fn watch(&self, event: &HostEvent, limit: Duration) -> Arc<AtomicBool> {
        let answered = Arc::new(AtomicBool::new(false));
        let (first, host, moment, fail_open) =
            (answered.clone(), event.host, event.moment.name.to_owned(), self.fail_open);
        let until = Instant::now() + limit;
        let watching = thread::Builder::new().spawn(move || {
            while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                thread::park_timeout(left);
            }
            if !first.swap(true, Ordering::SeqCst) {
                let answer = host::unread(Some(host), Some(&moment), "the call could not be judged in time");
                let answer = if fail_open { passed(Some(host), answer) } else { answer };
                give(&answer);
                std::process::exit(answer.exit_code.into());
            }
        });
        // Without a thread, the limits inside the judgement hold alone.
        drop(watching);
        answered
    }

    /// Answers an event that could not be judged.
    fn unjudged(&self, host: Option<&'static Host>, why: &str, began: Instant) -> ExitCode {
        let answer = host::unread(host, self.event.as_deref(), why);
        let answer = if self.fail_open { passed(host, answer) } else { answer };
        self.told(host, self.event.as_deref(), why, &answer, began)
    }

    /// Writes the answer to an event that could not be read, and logs it.
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

    /// Returns the name of the event, from the event itself or from the command line.
    fn named(&self, host: Option<&'static Host>, event: &Value) -> Option<String> {
        let told = self.event.as_deref();
        host.map_or(told, |host| host::named(host, event, told)).map(str::to_owned)
    }
}

/// Returns the judgement to log for an event that could not be judged.
fn unjudged(why: &str, answer: &HostAnswer) -> Judgement {
    let decision = answer.refuses.then_some(Decision::Deny);
    Judgement { decision, reason: Some(why.to_owned()), goes_on: true, ..Judgement::default() }
}

/// Writes an answer. Errors are ignored: the agent has gone.
fn give(answer: &HostAnswer) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    if !answer.stdout.is_empty() {
        let _ = writeln!(stdout, "{}", answer.stdout);
    }
    let _ = stdout.flush();
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.exit_code)
}

/// Turns a denial into a warning that lets the call pass.
fn passed(host: Option<&'static Host>, answer: HostAnswer) -> HostAnswer {
    let said = if answer.stderr.is_empty() { answer.stdout + "\n" } else { answer.stderr };
    let quiet = host.map_or("", |host| host.quiet).to_owned();
    HostAnswer { stdout: quiet, stderr: said, exit_code: 0, refuses: false, lost: answer.lost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_take_longer_than_the_agent_waits_are_cancelled() {
        let given_up = at_once(std::future::pending::<()>(), true, Duration::from_millis(10));
        assert!(given_up.is_err_and(|error| error.to_string().contains("too long")));
        // An agent that sends its event slowly still gets an answer.
        assert!(host::HOSTS.iter().all(|host| PATIENCE < host.deadline()));
    }

    #[test]
    fn a_panic_becomes_an_error() {
        let ended = whatever_happens::<()>(|| panic!("a mistake"));
        assert!(ended.is_err_and(|error| error.to_string().contains("vertebra panicked")));
    }
}
