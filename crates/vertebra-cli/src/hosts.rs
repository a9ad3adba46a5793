//! `vertebra hosts`: lists the agents, whether the policy is installed in them, and what each one can enforce.

use std::{
    io::{self, IsTerminal as _, Write},
    path::Path,
    process::ExitCode,
};

use serde_json::{Value, json};
use vertebra_bridge::{
    host::{
        Host,
        install::{self, Place, Scope, Standing},
        matrix::{self, Held, Row, WISHES},
    },
    shown,
};

use crate::assembly::World;

/// The options of `vertebra hosts`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
    /// List only the agents found on this machine
    #[arg(long)]
    here: bool,
}

/// An agent and its state on this machine.
struct Found {
    row: Row,
    program: Option<String>,
    configured: bool,
    user: Result<Standing, String>,
    project: Result<Standing, String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let variable = |name: &str| world.variables.get(name).cloned();
    let place = crate::install::place(&world, &variable)?;
    let program = std::env::current_exe()?;
    let found = matrix::rows()?.into_iter().map(|row| found(row, &place, &program));
    let found: Vec<Found> = found.filter(|found| !options.here || found.is_here()).collect();
    let mut out = io::stdout().lock();
    if options.json || !out.is_terminal() {
        writeln!(out, "{}", found.iter().map(Found::json).collect::<Value>())?;
    } else {
        table(&mut out, &found)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn found(row: Row, place: &Place<'_>, program: &Path) -> Found {
    let host = row.host;
    let path = (place.environment)("PATH").unwrap_or_default();
    let on_path = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let standing = |scope| install::standing(host, scope, place, program).map_err(|error| error.to_string());
    let folder =
        install::files(host, Scope::User, place).ok().and_then(|files| Some(files.first()?.parent()?.is_dir()));
    Found {
        program: host.programs.iter().find(on_path).map(|name| (*name).to_owned()),
        configured: folder.unwrap_or(false),
        user: standing(Scope::User),
        project: standing(Scope::Project),
        row,
    }
}

impl Found {
    fn is_here(&self) -> bool {
        self.program.is_some() || self.configured
    }

    fn json(&self) -> Value {
        let Host { name, title, failing, remark, .. } = self.row.host;
        let standing = |standing: &Result<Standing, String>| match standing {
            Ok(Standing::Installed) => json!("installed"),
            Ok(Standing::Outdated) => json!("outdated"),
            Ok(Standing::Off) => json!("off"),
            Ok(Standing::Not) => json!("no"),
            Err(error) => json!({ "error": error }),
        };
        let held = |held: Held| match held {
            Held::Yes => "yes",
            Held::Denied => "denies",
            Held::Told => "tells",
            Held::No => "no",
            Held::Uncalled => "uncalled",
        };
        let can = WISHES.iter().zip(&self.row.held).map(|(wish, it)| (wish.cell.to_owned(), held(*it).into()));
        json!({
            "host": name, "title": title, "here": self.is_here(), "program": self.program,
            "user": standing(&self.user), "project": standing(&self.project),
            "can": can.collect::<serde_json::Map<_, _>>(), "if_a_hook_fails": failing, "remark": remark,
        })
    }
}

fn table(out: &mut impl Write, found: &[Found]) -> io::Result<()> {
    let word = |standing: &Result<Standing, String>| match standing {
        Ok(Standing::Installed) => "yes",
        Ok(Standing::Outdated) => "outdated",
        Ok(Standing::Off) => "off",
        Ok(Standing::Not) => "no",
        Err(_) => "error",
    };
    writeln!(
        out,
        "{:<14} {:<6} {:<9} {:<9} {:<7} {:<7} {:<7} {:<7} if a hook fails",
        "agent", "found", "user", "project", "deny", "ask", "rewrite", "context"
    )?;
    for one in found {
        let can = |cell: &str| WISHES.iter().position(|wish| wish.cell == cell).map_or(Held::No, |at| one.row.held[at]);
        let here = if one.is_here() { "yes" } else { "no" };
        writeln!(
            out,
            "{:<14} {here:<6} {:<9} {:<9} {:<7} {:<7} {:<7} {:<7} {}",
            one.row.host.name,
            word(&one.user),
            word(&one.project),
            can("tool.deny"),
            can("tool.ask"),
            can("tool.rewrite"),
            can("tool.context"),
            one.row.host.failing,
        )?;
    }
    for (one, error) in found.iter().flat_map(|one| [(one, &one.user), (one, &one.project)]) {
        if let Err(error) = error {
            writeln!(out, "{}: {}", one.row.host.name, shown(error))?;
        }
    }
    writeln!(
        out,
        "\nfound: the agent is on this machine. user, project: the policy is installed there.\n\
         deny, ask, rewrite, context: what the agent lets a policy do with a tool call. `denies`: the agent cannot do it, so\n\
         the call is denied. For everything else that an agent can enforce, run: vertebra hosts --json"
    )
}
