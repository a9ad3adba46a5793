//! The `vertebra` command: a table of contents.
//!
//! A library, so that Cargo can start on it before the machine code of its dependencies is ready.

mod assembly;
mod backtest;
mod bridge;
mod chat;
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
mod manual;
mod markdown;
mod models;
mod options;
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

use std::{pin::Pin, process::ExitCode};

use clap::{CommandFactory as _, Parser};

/// An agent runtime whose skeleton is hooks.
#[derive(Parser)]
#[command(name = "vertebra", version, arg_required_else_help = true)]
#[expect(clippy::enum_variant_names, reason = "one of the commands explains commands")]
enum Command {
    /// Do a task: in the terminal with questions, in a pipe without
    Run(Box<run::Options>),
    /// Talk to an agent: one prompt after another
    Chat(Box<chat::Options>),
    /// List, show, resume, fork, export, verify and delete what was recorded, and answer what waits
    Sessions(Box<sessions::Options>),
    /// Serve sessions to clients over gRPC, governed by the hooks that live in them
    Serve(Box<serve::Options>),
    /// Carry a socket of yours to a server in a virtual machine
    Bridge(bridge::Options),
    /// Do a recorded session again with the hooks there are now: nothing else happens, and the first difference is told
    Replay(Box<replay::Options>),
    /// Show an agent at work under three hooks: one rewrites, one denies, one watches
    Demo(demo::Options),
    /// Explain how the policy judges a shell command
    ExplainCommand(explain::Options),
    /// List the models you can use here and now
    Models(models::Options),
    /// Write a commented vertebra.toml
    Init(init::Options),
    /// Review and trust a project's configuration
    Trust(trust::Options),
    /// See, try, test and write the hooks of a policy
    Hooks(hooks::Options),
    /// Say what a policy would have changed about what has happened: denied, allowed, asked
    Backtest(Box<backtest::Options>),
    /// Check the whole set-up, and say what to do about what is missing
    Doctor(doctor::Options),
    /// Judge one event from another coding agent (called by that agent)
    Hook(hook::Options),
    /// Install the policy into another coding agent
    #[command(after_help = install::INSTALL_HELP)]
    Install(install::Options),
    /// Remove the policy from another coding agent
    #[command(after_help = install::UNINSTALL_HELP)]
    Uninstall(install::Options),
    /// List supported coding agents and what each can enforce
    Hosts(hosts::Options),
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Print the manual page
    Man(manual::Man),
}

/// Runs the program on the arguments of this process.
pub fn main() -> ExitCode {
    // Shell commands are launched by a copy of this very program, which becomes the command here.
    vertebra_kit::bash::sandbox::launch_if_asked();
    let words: Vec<String> = std::env::args_os().skip(1).map_while(|word| word.into_string().ok()).collect();
    if let Some(options) =
        words.split_first().filter(|(first, _)| *first == "hook").and_then(|(_, rest)| hook::quickly(rest))
    {
        return hook::run(&options).unwrap_or_else(|error| told(&error));
    }
    any_command().unwrap_or_else(|error| told(&error))
}

/// Does what the command line says. All commands together need a stack of many pages, which a hook need not wait for.
#[inline(never)]
fn any_command() -> anyhow::Result<ExitCode> {
    let command = Command::try_parse().unwrap_or_else(|error| hook::with_hint(error, &Command::command()).exit());
    match command {
        Command::Run(options) => asynchronously(run::run(*options)),
        Command::Chat(options) => asynchronously(chat::run(*options)),
        Command::Sessions(options) => asynchronously(sessions::run(*options)),
        Command::Serve(options) => asynchronously(serve::run(*options)),
        Command::Bridge(options) => asynchronously(bridge::run(options)),
        Command::Replay(options) => asynchronously(replay::run(*options)),
        Command::Demo(options) => asynchronously(demo::run(options)),
        Command::ExplainCommand(options) => explain::run(&options),
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
        Command::Completions(options) => manual::completions(&options, Command::command()),
        Command::Man(options) => manual::man(&options, Command::command()),
    }
}

/// Says what went wrong, to people: where in our code is nothing they could use.
fn told(error: &anyhow::Error) -> ExitCode {
    // Whoever stops reading has seen enough.
    let unread = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(unread) {
        return ExitCode::SUCCESS;
    }
    complain(error);
    ExitCode::FAILURE
}

/// Writes an error. Names of files and what stands in them may be anybody's.
fn complain(error: &anyhow::Error) {
    eprintln!("error: {}", view::text::visible(&format!("{error:#}")));
}

/// Runs a command on an async runtime. Boxed, so that the runtime is compiled once and not for each command.
fn asynchronously(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    block_on(Box::pin(work))
}

fn block_on(work: Pin<Box<dyn Future<Output = anyhow::Result<ExitCode>> + '_>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    // A thread that waits for a disk or a keyboard does not keep a person from leaving.
    runtime.shutdown_background();
    code
}
