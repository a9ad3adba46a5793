//! The `vertebra` command: its subcommands, and the start of the program.
//!
//! This is a library so that Cargo can compile it before the machine code of its dependencies is ready.

// `println!` panics when its reader is gone: write with `writeln!(stdout)?`, which `told` understands.
#![warn(clippy::print_stdout)]

mod above;
mod assembly;
mod backtest;
mod bridge;
mod chat;
mod completions;
mod demo;
mod doctor;
mod drive;
mod explain;
mod hook;
mod hooks;
mod hosts;
mod init;
mod install;
mod interrupt;
mod key;
mod markdown;
mod models;
mod options;
mod own;
mod programs;
mod replay;
mod run;
mod serve;
mod sessions;
mod since;
mod surface;
mod terminal;
mod tree;
mod trust;
mod view;

use std::{
    io::{self, IsTerminal as _},
    pin::Pin,
    process::ExitCode,
};

use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use vertebra::nearest;

/// Run AI agents, and control every step they take with hooks.
#[derive(Parser)]
#[command(
    name = "vertebra",
    version,
    arg_required_else_help = true,
    after_help = "\
Without a command, `vertebra` starts a chat on a terminal.

Examples:
  vertebra demo                              See an agent at work (no API key)
  vertebra run \"make the failing test pass\"  Run an agent in this folder
  vertebra install --host claude-code        Put your policy into Claude Code"
)]
#[expect(clippy::enum_variant_names, reason = "one of the commands explains commands")]
enum Command {
    /// Run an agent on a task
    Run(Box<run::Options>),
    /// Start an interactive conversation with an agent
    Chat(Box<chat::Options>),
    /// List, inspect, resume, fork and export recorded sessions
    Sessions(Box<sessions::Options>),
    /// Start the gRPC server that runs sessions for clients
    Serve(Box<serve::Options>),
    /// Forward a local socket to a server inside a VM
    Bridge(bridge::Options),
    /// Replay a recorded session with the current hooks and compare
    Replay(Box<replay::Options>),
    /// Show an agent at work under a hook, a guard and a watch
    Demo(demo::Options),
    /// Explain how the policy judges a shell command
    ExplainCommand(explain::Options),
    /// List the models available on this machine
    Models(models::Options),
    /// Create a commented vertebra.toml
    Init(init::Options),
    /// Review and trust a project's configuration
    Trust(trust::Options),
    /// List, explain, test and create hooks
    Hooks(hooks::Options),
    /// Run recorded events through a policy and show the changes
    Backtest(Box<backtest::Options>),
    /// Check the installation and suggest fixes
    Doctor(doctor::Options),
    /// Judge one event from another agent (called by that agent)
    Hook(hook::Options),
    /// Install the policy into another coding agent
    #[command(after_help = install::INSTALL_HELP)]
    Install(install::Options),
    /// Remove the policy from another coding agent
    #[command(after_help = install::UNINSTALL_HELP)]
    Uninstall(install::Options),
    /// List supported coding agents and what each can enforce
    Hosts(hosts::Options),
    /// Print a completion script for a shell
    Completions(completions::Options),
}

/// Returns the description of the command line, for the manual pages.
#[doc(hidden)]
pub fn command() -> clap::Command {
    <Command as CommandFactory>::command()
}

/// Runs the program on the arguments of this process.
pub fn main() -> ExitCode {
    // The sandbox starts shell commands through a copy of this program. That copy becomes the command here.
    vertebra_kit::bash::sandbox::launch_if_asked();
    let words: Vec<String> = std::env::args_os().skip(1).map_while(|word| word.into_string().ok()).collect();
    if let Some(options) =
        words.split_first().filter(|(first, _)| *first == "hook").and_then(|(_, rest)| hook::quickly(rest))
    {
        return hook::run(&options).unwrap_or_else(|error| told(&error));
    }
    any_command().unwrap_or_else(|error| told(&error))
}

/// Runs the command of the command line.
///
/// All commands together need a large stack frame. `vertebra hook` is called often and does not wait for it.
#[inline(never)]
fn any_command() -> anyhow::Result<ExitCode> {
    // Without arguments: a person wants to talk, a program gets the help.
    let alone = std::env::args_os().nth(1).is_none() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let parsed = if alone { Command::try_parse_from(["vertebra", "chat"]) } else { Command::try_parse() };
    match parsed.unwrap_or_else(|error| leave(&suggested(error))) {
        Command::Run(options) => asynchronously(run::run(*options)),
        Command::Chat(options) => asynchronously(chat::run(*options)),
        Command::Sessions(options) => asynchronously(sessions::run(*options)),
        Command::Serve(options) => asynchronously(serve::run(*options)),
        Command::Bridge(options) => asynchronously(bridge::run(options)),
        Command::Replay(options) => asynchronously(replay::run(*options)),
        Command::Demo(options) => asynchronously(demo::run(options)),
        Command::ExplainCommand(options) => asynchronously(explain::run(options)),
        Command::Models(options) => asynchronously(models::run(options)),
        Command::Init(options) => init::run(&options),
        Command::Trust(options) => trust::run(&options),
        Command::Hooks(options) => asynchronously(hooks::run(options)),
        Command::Backtest(options) => asynchronously(backtest::run(*options)),
        Command::Doctor(options) => asynchronously(doctor::run(options)),
        Command::Hook(options) => hook::run(&options),
        Command::Install(options) => install::install(&options),
        Command::Uninstall(options) => install::uninstall(&options),
        Command::Hosts(options) => hosts::run(&options),
        Command::Completions(options) => completions::run(&options, command()),
    }
}

/// Reports an error about the command line and ends. Its words may come from anyone, as in [`complain`].
fn leave(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if text.chars().all(view::text::is_plain) {
        error.exit();
    }
    eprint!("{}", view::text::visible(&text));
    std::process::exit(error.exit_code());
}

/// Adds the command that was probably meant to an error about the command line.
fn suggested(mut error: clap::Error) -> clap::Error {
    // `--help` and `--version` come here too, and need not wait for a second description of the command line.
    if !matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) {
        return error;
    }
    let mut command = Command::command();
    for word in std::env::args().skip(1) {
        let Some(inner) = command.find_subcommand(&word).cloned() else { break };
        command = inner;
    }
    match (error.kind(), error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::InvalidArg)) {
        // clap compares letters without their order, so it finds nothing for a word as short as `rnu`.
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word)), _)
            if error.get(ContextKind::SuggestedSubcommand).is_none() =>
        {
            let names = command.get_subcommands().map(clap::Command::get_name);
            if let Some(name) = nearest(word, names) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name.to_owned()]));
            }
        }
        (ErrorKind::UnknownArgument, _, Some(ContextValue::String(word))) if command.get_name() == "hook" => {
            let hooks = Command::command().find_subcommand("hooks").cloned().unwrap_or_default();
            if hooks.find_subcommand(word).is_some() {
                let tip = format!("did you mean 'vertebra hooks {word}'?");
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
        }
        _ => {}
    }
    error
}

/// Reports an error to the user and returns the exit code.
fn told(error: &anyhow::Error) -> ExitCode {
    // A reader that stops early, such as `head`, is not an error.
    let unread = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(unread) {
        return ExitCode::SUCCESS;
    }
    complain(error);
    ExitCode::FAILURE
}

/// Writes an error, with control characters made visible: file names and contents may come from anyone.
fn complain(error: &anyhow::Error) {
    eprintln!("error: {}", view::text::visible(&format!("{error:#}")));
}

/// Runs a command on an async runtime. The future is boxed, so that the runtime is compiled once.
fn asynchronously(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    block_on(Box::pin(work))
}

fn block_on(work: Pin<Box<dyn Future<Output = anyhow::Result<ExitCode>> + '_>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    // Do not wait for threads that are blocked on a disk or a keyboard.
    runtime.shutdown_background();
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        clap_mangen::generate_to(command(), folder.path())?;
        let page = |name: &str| std::fs::read_to_string(folder.path().join(format!("{name}.1")));

        let first = page("vertebra")?;
        assert!(first.contains(".TH vertebra 1"), "{first}");
        for command in command().get_subcommands() {
            let name = format!("vertebra-{}", command.get_name());
            assert!(first.contains(&format!("{}(1)", name.replace('-', "\\-"))), "{name} is not on the first page");
            assert!(page(&name)?.contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(page("vertebra-run")?.contains("max\\-cost"));
        Ok(())
    }

    #[test]
    fn the_list_of_commands_fits_into_80_columns() {
        let help = Command::command().term_width(200).render_help().to_string();
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new());
    }
}
