//! `vertebra trust`: shows the configuration of a folder, and records whether a person trusts it.

mod moving;

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use vertebra_bridge::{
    shown,
    trust::{Project, Standing, Store},
};

use crate::assembly::{World, agrees, agrees_to, show};

/// The options of `vertebra trust`.
#[derive(clap::Args)]
#[command(after_help = "\
A folder can contain settings and hooks (vertebra.toml, .claude/settings.json), instructions (AGENTS.md, CLAUDE.md), skills
and agents. They are ignored until you trust the folder, because they could run or allow commands, or send your requests
elsewhere. Trust covers the files as they are now, and the folders of the scripts that hooks start. If one changes, you are
asked again. A script among work files cannot be trusted: --move-scripts moves it to .vertebra/hooks. A hook that starts a
build tool runs whatever the tool loads, so it needs --accept-open.

Examples:
  vertebra trust                    show what would take effect, and ask
  vertebra trust --show             show it, with the hash of each script
  vertebra trust --yes              trust the folder as it is now
  vertebra trust --move-scripts     move scripts of hooks out of the work files first
  vertebra trust --list             list all trusted folders and whether they changed
  vertebra trust --revoke           stop trusting this folder")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that people type")]
pub(crate) struct Options {
    /// Folder to trust
    #[arg(long, short = 'C', value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Trust the folder without a question
    #[arg(long, conflicts_with_all = ["revoke", "show", "list"])]
    yes: bool,
    /// Accept hooks that run whatever their tool loads
    #[arg(long, conflicts_with_all = ["revoke", "show", "list"])]
    accept_open: bool,
    /// Move scripts of hooks to .vertebra/hooks first
    #[arg(long, conflicts_with_all = ["revoke", "show", "list"])]
    move_scripts: bool,
    /// Show what would take effect, and change nothing
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    show: bool,
    /// List the trusted folders
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Stop trusting a folder
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".")]
    revoke: Option<PathBuf>,
    /// Print JSON and never ask
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let world = World::of_process();
    let store = world.store().context("cannot record trust without a state folder: set HOME or XDG_STATE_HOME")?;
    if options.list {
        return list(&store, options.json);
    }
    if !options.show && world.own_settings_are_gone() && store.forget_own_settings()? {
        let gone = world.user_settings().map(|path| shown(&path.to_string_lossy())).unwrap_or_default();
        eprintln!("Your settings {gone} set nothing any more. From now on, nothing of them applies.");
    }
    if let Some(folder) = &options.revoke {
        let folder = if folder == Path::new(".") { &options.dir } else { folder };
        return revoke(&store, folder, options.json);
    }
    let look = || Project::look(&options.dir).with_context(|| options.dir.display().to_string());
    let mut project = look()?;
    if !options.show && !project.misplaced.is_empty() && wants_to_move(options, &project)? {
        for line in moving::scripts(&project)? {
            eprintln!("{line}");
        }
        project = look()?;
    }
    let mut standing = store.standing(&project)?;
    let settled = matches!(standing, Standing::Empty | Standing::Trusted);
    if !options.show && !settled {
        if let Some(why) = refusal(options, &project) {
            if options.json {
                writeln!(std::io::stdout(), "{:#}", object(&project, &standing))?;
            } else {
                show(&mut std::io::stderr().lock(), &project, &standing)?;
            }
            bail!("not trusted: {why}");
        }
        let agreed = if options.yes {
            true
        } else if options.json {
            false
        } else if std::io::stdin().is_terminal() {
            agrees(&project, &standing)?
        } else {
            show(&mut std::io::stderr().lock(), &project, &standing)?;
            bail!("cannot ask without a terminal; to trust all of this, run: vertebra trust --yes");
        };
        if agreed {
            store.trust(&project)?;
            standing = store.standing(&project)?;
        }
        if !options.json {
            if options.yes {
                show(&mut std::io::stdout().lock(), &project, &standing)?;
            }
            // Whether anyone reads it or not, the exit code says it.
            let _ = writeln!(std::io::stdout(), "{}", if agreed { "Trusted as it is now." } else { "Not trusted." });
            return Ok(if agreed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    if options.json {
        writeln!(std::io::stdout(), "{:#}", object(&project, &standing))?;
    } else {
        show(&mut std::io::stdout().lock(), &project, &standing)?;
    }
    let failed = options.yes && !matches!(standing, Standing::Empty | Standing::Trusted);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns whether the person wants scripts of hooks moved out of the work files.
fn wants_to_move(options: &Options, project: &Project) -> anyhow::Result<bool> {
    if options.move_scripts {
        return Ok(true);
    }
    if options.yes || options.json || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    for problem in &project.problems {
        eprintln!("{problem}");
    }
    Ok(agrees_to("Move these scripts to .vertebra/hooks, and change the commands that name them?")?)
}

/// Returns why a folder cannot be trusted as it is, and what to do.
fn refusal(options: &Options, project: &Project) -> Option<String> {
    if !project.misplaced.is_empty() {
        let problems = project.problems.join("; ");
        return Some(format!(
            "{problems}. To move such scripts to .vertebra/hooks, run: vertebra trust --move-scripts"
        ));
    }
    if !project.can_be_trusted() {
        return Some(format!("a script cannot be read: {}", project.problems.join("; ")));
    }
    let open: Vec<String> = project.hooks.iter().flat_map(|hook| hook.open.iter().map(|why| shown(why))).collect();
    (!open.is_empty() && !options.accept_open).then(|| {
        let open = open.join("; ");
        format!("a hook trusts whatever its tool loads ({open}). To accept that, run: vertebra trust --accept-open")
    })
}

fn revoke(store: &Store, folder: &Path, json: bool) -> anyhow::Result<ExitCode> {
    // A deleted folder may still be recorded as trusted.
    let spelled = std::path::absolute(folder)?;
    let root = Project::look(folder).map_or_else(|_| spelled.clone(), |project| project.root);
    // A trusted folder may have become a link to another one.
    let known = [&root, &spelled].map(|root| store.forget(root));
    let known = known.into_iter().collect::<Result<Vec<bool>, _>>()?.contains(&true);
    if json {
        writeln!(std::io::stdout(), "{:#}", json!({ "root": root, "was_trusted": known }))?;
    } else {
        let root = shown(&root.to_string_lossy());
        writeln!(std::io::stdout(), "{root} {}", if known { "is no longer trusted." } else { "was not trusted." })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists all trusted folders and whether they changed.
fn list(store: &Store, json: bool) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for (root, files) in store.folders()? {
        let standing = match Project::look(&root) {
            Ok(project) => word(&store.standing(&project)?),
            Err(_) => "gone",
        };
        rows.push((root, files, standing));
    }
    let mut out = std::io::stdout().lock();
    if json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(root, files, standing)| json!({ "root": root, "files": files, "standing": standing }))
            .collect();
        writeln!(out, "{:#}", Value::from(rows))?;
    } else if rows.is_empty() {
        writeln!(out, "No folder is trusted.")?;
    } else {
        for (root, files, standing) in rows {
            writeln!(out, "{standing:8} {files:3} files  {}", shown(&root.to_string_lossy()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Empty => "empty",
        Standing::Trusted => "trusted",
        Standing::Unknown => "unknown",
        Standing::Changed(_) => "changed",
    }
}

fn object(project: &Project, standing: &Standing) -> Value {
    let changed: &[String] = if let Standing::Changed(files) = standing { files } else { &[] };
    let hooks = project.hooks.iter().map(|hook| {
        json!({
            "file": hook.file, "line": hook.line, "name": hook.name, "point": hook.point, "does": hook.does,
            "scripts": hook.scripts, "folders": hook.folders, "open": hook.open,
        })
    });
    let files = project.files.iter().map(|file| {
        json!({ "name": file.name, "kind": file.kind.name(), "bytes": file.bytes, "fingerprint": file.fingerprint })
    });
    json!({
        "root": project.root, "standing": word(standing), "changed": changed, "problems": project.problems,
        "hooks": hooks.collect::<Vec<_>>(), "files": files.collect::<Vec<_>>(),
    })
}
