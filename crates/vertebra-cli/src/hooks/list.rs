//! `vertebra hooks list`: lists the hooks in force in order, and the others with the reason.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use serde::Serialize;
use vertebra::{HookInfo, Role};
use vertebra_bridge::{
    claude,
    policy::{Policy, PolicyHook, Standing},
    settings::Settings,
    trust::{Project, unreadable},
};

use super::{page, trial::services};
use crate::{
    assembly::{self, Settled, Trust, World},
    view::{
        rows::{BOLD, CYAN, DIM, YELLOW},
        text::{cut, on_one_line},
    },
};

/// The largest width of a description.
const WIDTH: usize = 100;

/// The options of `vertebra hooks list`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Use the settings of this folder
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
}

/// One hook.
#[derive(Serialize)]
struct Row {
    point: &'static str,
    /// The position at its point, starting at 1, if it is in force. Guards run at the same time; their verdicts are merged in
    /// this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    name: String,
    role: String,
    level: String,
    origin: String,
    when: String,
    does: String,
    priority: i32,
    shadow: bool,
    in_force: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    // Listing hooks never asks the person to trust the folder.
    let world = World { is_interactive: false, ..World::of_process() };
    let folder = options.dir.canonicalize().with_context(|| format!("--dir {}", options.dir.display()))?;
    let settled = Settled::read(&folder, Trust::OnlyRemembered, Settings::default(), &world)?;
    let claude = claude_rows(&assembly::claude_settings(&settled.brought, &world));
    let services = services(&folder, settled.brought.seals, &world);
    let (mut policy, error) = Policy::as_far_as_possible(&settled.settings, &services, None)?;
    let warnings = [settled.warnings, error.iter().map(|error| unreadable(&error.to_string())).collect()].concat();
    for sheet in Project::look(&folder)?.settings()? {
        policy = policy.with_untrusted(&sheet.settings);
    }
    let mut rows = rows(&policy);
    rows.extend(claude);
    page::warn(&[settled.notices, policy.notices().to_vec()].concat(), &warnings);
    if crate::programs::read_it(options.json) {
        crate::programs::print(&rows)?;
    } else {
        show(&mut anstream::stdout().lock(), &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(policy: &Policy) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for hook in policy.hooks() {
        let before = rows.iter().filter(|row| row.point == hook.settings.stand.point.name && row.in_force).count();
        rows.push(row(hook, before + 1));
    }
    rows
}

/// The hooks from settings of Claude Code that run in our own sessions. Their handlers run at the same time.
fn claude_rows(settings: &claude::Settings) -> Vec<Row> {
    let row = |listed: claude::Listed| Row {
        point: listed.event,
        order: Some(1),
        name: format!("claude-code/{}", listed.event),
        role: Role::Hook.to_string(),
        level: listed.origin.level.to_string(),
        origin: listed.origin.file.display().to_string(),
        when: {
            let matcher = (!listed.matcher.is_empty()).then(|| format!("matcher {}", listed.matcher));
            let during = listed.bringer.map(|bringer| format!("while {bringer} runs"));
            let when: Vec<String> = matcher.into_iter().chain(during).collect();
            if when.is_empty() { "always".to_owned() } else { when.join(", ") }
        },
        does: listed.does,
        priority: HookInfo::DEFAULT_PRIORITY,
        shadow: false,
        in_force: true,
        because: None,
    };
    settings.listed().into_iter().map(row).collect()
}

fn row(hook: &PolicyHook, order: usize) -> Row {
    let because = match &hook.standing {
        Standing::InForce => None,
        Standing::Off(why) => Some(why.to_string()),
    };
    Row {
        point: hook.settings.stand.point.row().name,
        order: because.is_none().then_some(order),
        name: hook.name.to_string(),
        role: hook.settings.stand.role.to_string(),
        level: hook.origin.level.to_string(),
        origin: hook.origin.spot(),
        when: hook.when(),
        does: hook.does(),
        priority: hook.settings.stand.priority,
        shadow: hook.settings.stand.shadow,
        in_force: because.is_none(),
        because,
    }
}

fn show(out: &mut impl std::io::Write, rows: &[Row]) -> std::io::Result<()> {
    if rows.is_empty() {
        return writeln!(
            out,
            "No hooks. Create one with `vertebra hooks new NAME --lang python`, or see `vertebra init`."
        );
    }
    let plain = |text: &str| cut(&on_one_line(text), WIDTH).into_owned();
    let mut point = "";
    for row in rows {
        if row.point != point {
            point = row.point;
            writeln!(out, "{BOLD}{point}{BOLD:#}")?;
        }
        let (name, when, does) = (plain(&row.name), plain(&row.when), plain(&row.does));
        let (role, level, origin) = (&row.role, &row.level, on_one_line(&row.origin));
        match (row.order, &row.because) {
            (Some(order), _) => writeln!(out, "  {order:>2}  {CYAN}{role:<5}{CYAN:#}  {BOLD}{name}{BOLD:#}  {does}")?,
            (None, why) => {
                let why = plain(why.as_deref().unwrap_or_default());
                writeln!(out, "   {YELLOW}-  {role:<5}  {name}  not in force: {why}{YELLOW:#}")?;
            }
        }
        writeln!(out, "      {DIM}{when} · {level} · {origin}{DIM:#}")?;
    }
    Ok(())
}
