//! The checks, one function each.

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use vertebra::{Agent, Message, testing::Script};
use vertebra_bridge::{
    settings::{self, FILE_NAME, LOCAL_NAME, Level, Settings},
    shown,
    trust::{Kind, Project, Standing},
};
use vertebra_journal::{Store as Journal, Wanted};
use vertebra_kit::bash::Bash;

use super::Finding;
use crate::{
    assembly::{Places, Settled, Trust, World, journal_path, journal_settings, telemetry_settings},
    view::text::counted,
};

/// Runs all checks.
pub(super) async fn all(folder: &Path, world: &World) -> Vec<Finding> {
    let mut findings = vec![version(), terminal(world)];
    findings.extend([sandbox().await, program(world, "bash"), program(world, "git"), state(world)]);
    findings.push(settings("managed settings", Some(world.managed.clone()), Level::Managed));
    findings.push(settings("your settings", world.user_settings(), Level::User));
    findings.push(journal(world));
    findings.extend(project(folder, world));
    findings.push(telemetry(world));
    findings.extend(models(folder, world).await);
    findings
}

fn version() -> Finding {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    Finding::good("version", format!("vertebra {} on {system}, {machine}", env!("CARGO_PKG_VERSION")))
}

fn terminal(world: &World) -> Finding {
    let named = world.variables.get("TERM").map_or("", String::as_str);
    match (std::io::stdout().is_terminal(), named) {
        (false, _) => Finding::good("terminal", "none: output goes to a file or a pipe, as plain text"),
        (true, "" | "dumb") => Finding::lacking(
            "terminal",
            "no colours and no live updates, because TERM is empty or `dumb`",
            "set TERM to the type of your terminal, such as xterm-256color",
        ),
        (true, name) => Finding::good("terminal", shown(name)),
    }
}

/// Runs a command in the sandbox and reports which parts of the sandbox were active.
async fn sandbox() -> Finding {
    const ADVICE: &str = "commands run with reduced protection; see docs/sandbox.md. To refuse to run them instead, \
                          set `need = \"required\"` under `[sandbox]`";
    let failed = |why: String| Finding::broken("sandbox", why, "fix this first: the agent cannot run commands");
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return failed(format!("cannot create a temporary folder: {error}")),
    };
    let model = Script::new().call("bash", r#"{"command": "true"}"#).say("done");
    let agent = match Agent::builder(model).with(Bash::in_dir(folder.path())).build() {
        Ok(agent) => agent,
        Err(error) => return failed(error.to_string()),
    };
    let mut session = match agent.session().await {
        Ok(session) => session,
        Err(error) => return failed(error.to_string()),
    };
    if let Err(error) = session.prompt("run it").await {
        return failed(error.to_string());
    }
    let state = session.state().await;
    let mut results = state.messages().iter().filter_map(|message| match message {
        Message::Tool { result, .. } => Some(result.clone()),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    });
    let Some(result) = results.next_back() else { return failed("no command was run".to_owned()) };
    if !result.success {
        return failed(result.output);
    }
    match result.data["sandbox"].as_str().unwrap_or_default() {
        whole @ ("landlock and seccomp" | "landlock, seccomp and mounts" | "bubblewrap, landlock and seccomp") => {
            Finding::good("sandbox", whole)
        }
        part => Finding::lacking("sandbox", part, ADVICE),
    }
}

fn program(world: &World, name: &'static str) -> Finding {
    let path = world.variables.get("PATH").map(String::as_str).unwrap_or_default();
    let found = std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| path.is_file());
    match (found, name) {
        (Some(path), _) => Finding::good(name, path.display().to_string()),
        (None, "bash") => Finding::broken(name, "not on the PATH", "install bash: the agent runs commands with it"),
        (None, _) => Finding::lacking(name, "not on the PATH", "install git if your projects use it"),
    }
}

fn state(world: &World) -> Finding {
    const WHAT: &str = "state";
    let Some(folder) = &world.state else {
        return Finding::lacking(
            WHAT,
            "no folder",
            "set HOME or XDG_STATE_HOME, so that trust and journals can be stored",
        );
    };
    let mut there = folder.as_path();
    while !there.exists() {
        let Some(above) = there.parent() else { break };
        there = above;
    }
    match tempfile::NamedTempFile::new_in(there) {
        Ok(_) => Finding::good(WHAT, format!("{} is writable", folder.display())),
        Err(error) => Finding::broken(WHAT, format!("{}: {error}", folder.display()), "make the folder writable"),
    }
}

fn settings(what: &'static str, path: Option<PathBuf>, level: Level) -> Finding {
    let Some(path) = path else {
        return Finding::lacking(what, "no folder", "set HOME or XDG_CONFIG_HOME");
    };
    match settings::read(&path, level) {
        _ if !path.exists() => Finding::good(what, format!("none ({} does not exist)", path.display())),
        Ok(sheet) => Finding::good(what, format!("{}: {}", path.display(), counted(sheet.entries.len(), "value"))),
        Err(error) => Finding::broken(what, error.to_string(), "fix that line"),
    }
}

/// Checks that runs can be recorded. Reads every page of the journal and writes nothing.
fn journal(world: &World) -> Finding {
    const WHAT: &str = "journal";
    // The check of that file reports the line.
    let Ok(settings) = journal_settings(world) else {
        return Finding::broken(WHAT, "unknown, because your settings cannot be read", "fix your settings (see above)");
    };
    if settings.enabled.as_ref().is_some_and(|said| !said.value) {
        return Finding::good(WHAT, "off (`enabled = false` under `[journal]`)");
    }
    let path = match journal_path(&settings, world) {
        Ok(path) => path,
        Err(error) => return Finding::broken(WHAT, format!("{error:#}"), "set it, or run with --no-journal"),
    };
    if !path.exists() {
        return Finding::good(WHAT, format!("{} will be created by the first run", path.display()));
    }
    let looked = Journal::read_only(&path).and_then(|journal| {
        journal.check()?;
        Ok(journal.sessions(&Wanted::default())?.len())
    });
    match looked {
        Ok(count) => Finding::good(WHAT, format!("{}: {}", path.display(), counted(count, "session"))),
        Err(error) => {
            Finding::broken(WHAT, error.to_string(), "repair or move the file; until then, run with --no-journal")
        }
    }
}

/// Checks the configuration of the folder, and whether it is trusted.
fn project(folder: &Path, world: &World) -> Vec<Finding> {
    const WHAT: &str = "this folder";
    let project = match Project::look(folder) {
        Ok(project) => project,
        Err(error) => return vec![Finding::broken(WHAT, error.to_string(), "name an existing folder")],
    };
    let mut findings = Vec::new();
    if project.of(Kind::Settings).next().is_some()
        && let Err(error) = project.settings()
    {
        findings.push(Finding::broken(WHAT, error.to_string(), "fix that line"));
    }
    for problem in &project.problems {
        findings.push(Finding::lacking(WHAT, format!("ignored: {problem}"), "fix it to make it apply"));
    }
    let names: Vec<String> = project.files.iter().map(|file| shown(&file.name)).collect();
    let names = names.join(", ");
    let store = world.store();
    findings.push(match store.map_or(Ok(Standing::Unknown), |store| store.standing(&project)) {
        _ if project.files.is_empty() => Finding::good(WHAT, no_files(&project)),
        Ok(Standing::Empty | Standing::Trusted) => Finding::good(WHAT, format!("trusted: {names}")),
        Ok(Standing::Unknown) => {
            Finding::lacking(WHAT, format!("not trusted, so these are ignored: {names}"), "vertebra trust")
        }
        Ok(Standing::Changed(_)) => Finding::lacking(
            WHAT,
            format!("changed since you trusted it, so these are ignored: {names}"),
            "vertebra trust",
        ),
        Err(error) => Finding::broken(WHAT, error.to_string(), "remove that file"),
    });
    findings
}

/// Says that a project has no configuration in effect.
fn no_files(project: &Project) -> String {
    match [FILE_NAME, LOCAL_NAME].into_iter().find_map(|name| settings::project_file(&project.folder, name)) {
        Some(path) => {
            let name = path.strip_prefix(&project.root).unwrap_or(&path);
            format!("{} sets nothing: all settings are commented out", shown(&name.to_string_lossy()))
        }
        None => "no settings and no instructions".to_owned(),
    }
}

/// Checks whether the environment enables telemetry. Sends nothing.
fn telemetry(world: &World) -> Finding {
    const WHAT: &str = "telemetry";
    match telemetry_settings(None, world) {
        Ok(None) => Finding::good(WHAT, "off (enable it with --otlp or OTEL_EXPORTER_OTLP_ENDPOINT)"),
        Ok(Some(settings)) => {
            let to = [("traces", settings.traces), ("metrics", settings.metrics)].into_iter();
            let to: Vec<_> = to.filter_map(|(what, url)| Some(format!("{what} to {}", url?))).collect();
            let contents = if settings.contents { ", with message contents" } else { ", without message contents" };
            Finding::good(WHAT, format!("on: {}{contents}", to.join(", ")))
        }
        Err(error) => Finding::lacking(WHAT, format!("off: {error}"), "correct the variable, or unset it"),
    }
}

/// Checks which models can be used, and which one would be. Shows the names of key variables, never keys.
async fn models(folder: &Path, world: &World) -> Vec<Finding> {
    const WHAT: &str = "model";
    let world = World { is_interactive: false, ..world.clone() };
    // Errors in the files are reported by the checks above.
    let Ok(settled) = Settled::read(folder, Trust::OnlyRemembered, Settings::default(), &world) else {
        return Vec::new();
    };
    let places = match Places::new(&settled.settings.model, &world) {
        Ok(places) => places,
        Err(error) => return vec![Finding::broken(WHAT, format!("{error:#}"), "set the variable, or fix that line")],
    };
    let found = places.look().await;
    let usable = found.iter().filter_map(|finding| Some((finding.provider, finding.usable.as_ref().ok()?)));
    let mut findings: Vec<Finding> = usable
        .map(|(provider, usable)| {
            Finding::good("provider", format!("{}: {}", provider.label, places.why(provider, &usable.why)))
        })
        .collect();
    findings.push(match places.pick(Some(&found)).await {
        Ok(picked) => Finding::good(WHAT, format!("{}: {}", picked.pick, picked.reason)),
        Err(error) if settled.settings.model.name.is_some() => Finding::broken(
            WHAT,
            format!("{error:#}"),
            "vertebra models --all lists all providers and what each one needs",
        ),
        Err(_) => Finding::broken(WHAT, "none: no API key is set and no local server answers", "vertebra models"),
    });
    findings
}
