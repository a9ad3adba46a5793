//! Assembles the built-in agent from options and settings: its model, tools, hooks and permissions.

mod choice;
mod claude;
mod journal;
mod models;
mod names;
mod policy;
mod project;
mod prompt;
mod reading;
mod recorded;
mod rights;
mod script;
mod servers;
mod telemetry;
mod world;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use vertebra::{Agent, Approver, Limits, SharedModel};
use vertebra_bridge::{
    policy::{Files as PolicyFiles, Reload},
    settings::{
        Driver, InstructionSettings, JournalSettings, LimitSettings, Mode, ModelSettings, Origin, PermissionSettings,
        Said, SandboxSettings, Settings,
    },
};
use vertebra_journal::{Inbox, Store, telemetry::Telemetry};
use vertebra_kit::{
    bash::{Bash, Lift, Outputs, Sandbox, policy::Ground, sandbox::Fixed},
    files::{Files, Undo},
    mcp::Mcp,
    permissions::{Permissions, Rules},
    planning::TaskPlanning,
    resilience::ModelRetry,
    skills::Skills,
    steering::Steering,
    subagents::Subagents,
    summary::{Summarisation, Trigger},
};

pub(crate) use self::{
    choice::{NoModel, Picked, Places},
    claude::settings as claude_settings,
    journal::{journal_options, journal_path, journal_settings, retention},
    models::Models,
    names::aliases,
    project::{Brought, Trust, agrees, agrees_to, show},
    recorded::{Recorded, replayed},
    rights::outputs_folder,
    telemetry::settings as telemetry_settings,
    world::World,
};
use crate::{
    options::{AgentOptions, DriverChoice, ModeChoice},
    own::OwnCommands,
};

/// The default limit of steps per run.
const STEPS: u64 = 100;

/// The default time limit of a run.
const TIME: Duration = Duration::from_hours(1);

/// The share of the model's window that a conversation may fill.
const FULL: f64 = 0.8;

/// How long an approval may take in a terminal.
const PATIENCE: Duration = Duration::from_hours(24);

/// How long a suspended run waits for an answer by default.
pub(crate) const WAIT: Duration = Duration::from_hours(7 * 24);

/// An agent ready to run, with the handles that a front end needs.
pub(crate) struct Assembled {
    /// The agent.
    pub(crate) agent: Agent,
    /// The model that it uses, and others that it can switch to.
    pub(crate) models: Models,
    /// Takes messages of the user while a run is under way.
    pub(crate) steering: Steering,
    /// Undoes changes of the file tools.
    pub(crate) undo: Undo,
    /// The permission rules. An "always" answer adds to them.
    pub(crate) rules: Rules,
    /// What the sandbox forbids to commands, and how a person lifts it.
    pub(crate) lift: Lift,
    /// The hooks from settings files, which are reloaded when the files change.
    pub(crate) policy: Reload,
    /// The telemetry exporter, if telemetry is on.
    pub(crate) telemetry: Option<Telemetry>,
    /// The journal, unless recording is off.
    pub(crate) journal: Option<Store>,
    /// Notices for the user before the first run.
    pub(crate) notices: Vec<String>,
    /// Warnings: protections that were configured and are not in force.
    pub(crate) warnings: Vec<String>,
}

/// Assembles the built-in agent. `approver` receives the rules, which an "always" answer adds to, and the inbox of the
/// journal. If it returns `None`, every call that needs approval is denied.
pub(crate) async fn assemble<A: Approver>(
    options: &AgentOptions,
    world: &World,
    approver: impl FnOnce(&Rules, &Lift, Option<Inbox>) -> Option<A>,
) -> anyhow::Result<Assembled> {
    assemble_on(options, world, Journal::Opened, approver).await
}

/// The journal that an agent records to.
pub(crate) enum Journal {
    /// The one in the settings.
    Opened,
    /// One that other agents use too, if any.
    Shared(Option<Store>),
}

/// Opens the journal that several agents share. Returns warnings with it.
pub(crate) fn open_journal(options: &AgentOptions, world: &World) -> anyhow::Result<(Option<Store>, Vec<String>)> {
    let mut warnings = Vec::new();
    let settled = Settled::read(&folder(options)?, Trust::Remembered, from_options(options)?, world)?;
    let journal = journal::open(&settled.settings.journal, world, &mut warnings)?;
    Ok((journal, warnings))
}

/// Assembles the built-in agent on this journal.
pub(crate) async fn assemble_on<A: Approver>(
    options: &AgentOptions,
    world: &World,
    journal: Journal,
    approver: impl FnOnce(&Rules, &Lift, Option<Inbox>) -> Option<A>,
) -> anyhow::Result<Assembled> {
    let folder = folder(options)?;
    let trust = if options.policy.trust { Trust::Once } else { Trust::Remembered };
    let mut settled = Settled::read(&folder, trust, from_options(options)?, world)?;
    let settings = &settled.settings;
    let permissions = rights::permissions(settings, world.user_settings().as_deref())?;
    let places = Places::new(&settings.model, world)?;
    let picked = places.pick(None).await?;
    let model = places.open(&picked.pick, &folder, options.record.as_deref())?;
    if settings.model.name.is_none() {
        settled.notices.push(format!("model: {} ({})", picked.pick, picked.reason));
    }
    let (servers, left_out) = servers::connect(&settings.mcp, world).await?;
    settled.notices.extend(left_out);
    let journal = match journal {
        Journal::Opened => journal::open(&settings.journal, world, &mut settled.warnings)?,
        Journal::Shared(store) => store,
    };
    if journal.is_none() && options.wait.is_some() {
        bail!("--wait needs a journal, but `[journal]` in the settings turns it off");
    }
    let mut files = policy::files(&folder, world);
    if trust == Trust::Once {
        // What counts is what was read, and not what is recorded.
        files.store = None;
    }
    let outputs = rights::outputs(world, journal.is_some(), &mut settled.warnings);
    let (with_claude, stand_ins) = (true, Vec::new());
    let parts = Parts { folder, settled, permissions, files, with_claude, model, servers, stand_ins, journal, outputs };
    build(parts, options, world, approver)
}

/// Returns the canonical working folder.
fn folder(options: &AgentOptions) -> anyhow::Result<PathBuf> {
    let folder = options.folder();
    std::fs::canonicalize(folder).with_context(|| format!("--dir {}", folder.display()))
}

/// The parts of an agent that differ between a run and a replay.
struct Parts {
    folder: PathBuf,
    settled: Settled,
    permissions: Permissions,
    /// The settings files that its hooks are reloaded from.
    files: PolicyFiles,
    /// Whether Claude Code's settings apply too.
    with_claude: bool,
    model: SharedModel,
    servers: Vec<Mcp>,
    /// Stand-ins for tools of MCP servers.
    stand_ins: Vec<recorded::StandIn>,
    journal: Option<Store>,
    /// Where the whole output of commands is kept.
    outputs: Option<Outputs>,
}

fn build<A: Approver>(
    parts: Parts,
    options: &AgentOptions,
    world: &World,
    approver: impl FnOnce(&Rules, &Lift, Option<Inbox>) -> Option<A>,
) -> anyhow::Result<Assembled> {
    let Parts { folder, settled, permissions, with_claude, model, servers, stand_ins, journal, outputs, .. } = parts;
    let policy_files = parts.files;
    let Settled { settings, fixed, project, brought, broken, mut notices, mut warnings } = settled;
    let rules = permissions.rules();
    let models = Models::new(model, &settings.model, world, &folder);
    let (steering, undo) = (Steering::default(), Undo::default());
    // The user's own come first: of two with the same name the first wins.
    let own = |name: &str| world.config.iter().map(move |config| config.join(name)).collect::<Vec<_>>();
    let skills = own("skills").iter().chain(&brought.skills).fold(Skills::new(), Skills::folder);
    let agents = own("agents").iter().chain(&brought.agents).fold(Subagents::new(), Subagents::folder);
    let agents = agents.skills(&skills);
    let skills = skills.agents(&agents);
    notices.extend(skills.problems().iter().chain(agents.problems()).map(ToString::to_string));

    let services = policy::services(&folder, &brought, servers.iter(), world);
    let policy = Reload::new(policy_files, &settings, project, services.clone())?;
    let policy = policy.missing(brought.missing.clone()).broken(broken);
    warnings.extend(policy.unusable());
    notices.extend(policy.policy().notices().iter().cloned());
    let claude = claude::hooks(&folder, &brought, services.servers.clone(), &rules, world);
    notices.extend(claude.notices);
    warnings.extend(claude.broken);
    let mut own = rights::own_folders(&folder, world)?;
    own.extend(rights::hook_folders(&folder, &brought));
    let below = |own: &PathBuf| format!("{}/**", rights::glob(own));
    let redaction = rights::redaction(&settings.model, world)?;
    let files = Files::new(&folder)?.undo(&undo).redaction(&redaction).ask_people();
    let closed = rights::closed(&folder, &settings, &brought, world);
    let files = closed.iter().fold(files, Files::close);
    let mut files = own.iter().try_fold(files, |files, own| files.protect(below(own)))?;
    if let Some(outputs) = &outputs {
        files = files.outputs(&outputs.folder)?;
    }
    let mut sandbox = rights::sandbox(&settings.sandbox, fixed, closed);
    sandbox.protect.extend(own);
    let home = world.variables.get("HOME").map_or("/", String::as_str);
    let ground = Ground::new(folder.to_string_lossy(), home);
    let bash = Bash { sandbox, outputs, reading: Some(reading::reading(&ground)), ..Bash::in_dir(&folder) };
    let lift = bash.lift();
    rules.sandboxed(&lift);
    let files = files.granted_by(&lift);

    let mut builder = Agent::builder(models.clone());
    builder
        .name("vertebra")
        .system_prompt(told(&folder, &settings, &brought.instructions, options.system.as_deref()))
        .limits(limits(&settings.limits))
        .approval_timeout(PATIENCE)
        .wait_limit(options.wait.unwrap_or(WAIT))
        .with(permissions)
        .with(policy.clone())
        .with(files)
        .with(bash)
        .with(reading::FreeReading { ground })
        .with(OwnCommands { ground: Ground::new(folder.to_string_lossy(), home) })
        .with(TaskPlanning::default())
        .with(skills)
        .with(agents)
        .with(redaction)
        .with(retry(&settings.model))
        .with(Summarisation { trigger: fills(&models), ..Summarisation::default() })
        .with(steering.clone());
    for server in servers {
        builder.with(server);
    }
    for tool in stand_ins {
        builder.tool(tool);
    }
    if let Some(claude) = claude.hooks.filter(|_| with_claude) {
        builder.with(claude.beside(policy.clone()));
    }
    let telemetry = telemetry::start(options.otlp.as_deref(), world, &mut warnings)?;
    journal::keep(&mut builder, journal.as_ref(), telemetry.as_ref());
    if let Some(approver) = approver(&rules, &lift, journal.as_ref().map(Store::inbox)) {
        builder.approver(approver);
    }
    let agent = builder.build()?;
    policy.follow(&agent);
    notices.extend(policy::unknown_tools(&policy.policy(), &agent));
    Ok(Assembled { agent, models, steering, undo, rules, lift, policy, telemetry, journal, notices, warnings })
}

/// Shortens the conversation when it fills most of what the model in use can read.
fn fills(models: &Models) -> Trigger {
    Trigger::InUse { window: models.window().clone(), share: FULL }
}

/// The merged settings of all levels.
pub(crate) struct Settled {
    /// The settings.
    pub(crate) settings: Settings,
    /// What the managed settings fix for everyone.
    pub(crate) fixed: Fixed,
    /// The settings of the project, if it is trusted.
    pub(crate) project: Vec<Settings>,
    /// Everything else from the folder, if it is trusted.
    pub(crate) brought: Brought,
    /// Why the settings of the administrator or the user are not whole, if they are not. Calls that may change something then
    /// need approval.
    pub(crate) broken: Option<String>,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
    /// Warnings: protections that are not in force.
    pub(crate) warnings: Vec<String>,
}

impl Settled {
    /// Returns why calls that may change something need approval, if the policy is not whole.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.broken.as_deref().or(self.brought.missing.as_deref())
    }

    /// Reads and merges all levels for this folder. What cannot be read of the administrator's settings and the user's is
    /// reported, and does not stop a run: see [`Own`](vertebra_bridge::trust::Own).
    pub(crate) fn read(folder: &Path, trust: Trust, nearest: Settings, world: &World) -> anyhow::Result<Self> {
        let own = world.own_settings();
        let fixed = own.fixed();
        let mut brought = Brought::look(folder, trust, world)?;
        let project = std::mem::take(&mut brought.settings);
        let (broken, warnings) = (own.missing(), own.warnings());
        let (settings, overruled) = own.merge(project.iter().cloned().chain([nearest]));
        let notices = [overruled, std::mem::take(&mut brought.notices)].concat();
        let warnings = [warnings, std::mem::take(&mut brought.warnings)].concat();
        Ok(Self { settings, fixed, project, brought, broken, notices, warnings })
    }
}

/// What applies to a command in a folder: the permission rules and the sandbox.
pub(crate) struct InForce {
    /// The rules and the mode.
    pub(crate) rules: Rules,
    /// The sandbox.
    pub(crate) sandbox: Sandbox,
}

impl InForce {
    /// Reads the settings of all levels, without asking for trust.
    pub(crate) fn read(folder: &Path, world: &World) -> anyhow::Result<Self> {
        let settled = Settled::read(folder, Trust::Remembered, Settings::default(), world)?;
        let Settled { settings, fixed, brought, .. } = settled;
        let rules = rights::permissions(&settings, world.user_settings().as_deref())?.rules();
        let closed = rights::closed(folder, &settings, &brought, world);
        let sandbox = rights::sandbox(&settings.sandbox, fixed, closed);
        rules.sandboxed(&Bash { sandbox: sandbox.clone(), ..Bash::in_dir(folder) }.lift());
        Ok(Self { rules, sandbox })
    }
}

/// Converts command-line options to settings.
fn from_options(options: &AgentOptions) -> anyhow::Result<Settings> {
    let origin = Origin::command_line();
    let rules = |rules: &[String]| rules.iter().map(|rule| origin.said(rule.clone())).collect();
    let mode = |mode| match mode {
        ModeChoice::Ask => Mode::Ask,
        ModeChoice::AcceptEdits => Mode::AcceptEdits,
        ModeChoice::Sandboxed => Mode::Sandboxed,
        ModeChoice::Plan => Mode::Plan,
        ModeChoice::Bypass => Mode::Bypass,
    };
    let driver = |driver| match driver {
        DriverChoice::Auto => Driver::Auto,
        DriverChoice::Native => Driver::Native,
        DriverChoice::React => Driver::React,
    };
    Ok(Settings {
        model: ModelSettings {
            name: options.model.clone().map(|name| origin.said(name)),
            driver: options.driver.map(|choice| origin.said(driver(choice))),
            ..ModelSettings::default()
        },
        permissions: PermissionSettings {
            mode: options.policy.mode.map(|choice| origin.said(mode(choice))),
            allow: rules(&options.policy.allow),
            deny: rules(&options.policy.deny),
            ..PermissionSettings::default()
        },
        limits: LimitSettings {
            steps: options.max_steps.map(|steps| origin.said(steps)),
            time: options.timeout.map(|time| origin.said(time)),
            cost_micros: options.max_cost.map(|cost| origin.said(cost)),
            tokens: None,
        },
        sandbox: SandboxSettings {
            network: options.policy.network().map_err(anyhow::Error::msg)?.map(|network| origin.said(network)),
            write: options
                .policy
                .add_dir
                .iter()
                .map(|folder| said_folder(folder, &origin))
                .collect::<Result<_, _>>()?,
            ..SandboxSettings::default()
        },
        journal: JournalSettings {
            enabled: options.no_journal.then(|| origin.said(false)),
            ..JournalSettings::default()
        },
        ..Settings::default()
    })
}

/// Returns a folder of `--add-dir` with its whole path.
fn said_folder(folder: &Path, origin: &Origin) -> anyhow::Result<Said<String>> {
    let whole = std::fs::canonicalize(folder).with_context(|| format!("--add-dir {}", folder.display()))?;
    if !whole.is_dir() {
        bail!("--add-dir {}: it is not a folder", folder.display());
    }
    let whole = whole.into_os_string().into_string();
    Ok(origin.said(whole.map_err(|_| anyhow!("--add-dir {}: its name is not text", folder.display()))?))
}

/// Builds the system prompt. Later parts are more specific.
fn told(folder: &Path, settings: &Settings, project: &[String], system: Option<&str>) -> String {
    let InstructionSettings { text, project: wanted } = &settings.instructions;
    let wanted = wanted.as_ref().is_none_or(|said| said.value);
    let of_settings = text.iter().map(|said| said.value.as_str());
    let of_project = project.iter().map(String::as_str).filter(|_| wanted);
    let prompt = prompt::prompt(folder);
    let parts = std::iter::once(&*prompt).chain(of_settings).chain(of_project).chain(system);
    parts.map(str::trim_end).collect::<Vec<_>>().join("\n\n")
}

fn retry(settings: &ModelSettings) -> ModelRetry {
    let patience = settings.retry.as_ref().map(|said| said.value);
    ModelRetry { patience: patience.unwrap_or(ModelRetry::default().patience), ..ModelRetry::default() }
}

fn limits(settings: &LimitSettings) -> Limits {
    Limits {
        steps: Some(settings.steps.as_ref().map_or(STEPS, |said| said.value)),
        tokens: settings.tokens.as_ref().map(|said| said.value),
        time: Some(settings.time.as_ref().map_or(TIME, |said| said.value)),
        cost_micros: settings.cost_micros.as_ref().map(|said| said.value),
        deadline: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::Parser as _;
    use vertebra::{Approval, Decision};

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: AgentOptions,
    }

    struct Nobody;

    impl Approver for Nobody {
        async fn decide(&self, _: &Approval) -> Decision {
            Decision::Deny { reason: "no one is here".to_owned() }
        }
    }

    fn alone(folder: &Path) -> World {
        let config = Some(folder.join("config"));
        World {
            variables: BTreeMap::new(),
            config,
            usual: Vec::new(),
            state: Some(folder.join("state")),
            managed: folder.join("managed.toml"),
            is_interactive: false,
        }
    }

    async fn assembled(folder: &Path, options: &[&str]) -> anyhow::Result<Assembled> {
        std::fs::write(folder.join("script.jsonl"), "{\"say\": \"done\"}\n").expect("a script");
        let model = format!("--model=script:{}", folder.join("script.jsonl").display());
        let dir = format!("--dir={}", folder.display());
        let line = Line::parse_from([&["vertebra", "--no-journal", &model, &dir], options].concat());
        assemble(&line.options, &alone(folder), |_, _, _| None::<Nobody>).await
    }

    #[tokio::test]
    async fn the_system_prompt_names_only_tools_that_exist() {
        let folder = tempfile::tempdir().expect("a folder");
        let agent = assembled(folder.path(), &[]).await.expect("an agent").agent;
        let tools: BTreeSet<String> = agent.tools().map(|tool| tool.name.to_string()).collect();
        let quoted = prompt::PROMPT.split('`').skip(1).step_by(2);
        let named: BTreeSet<String> = quoted
            .filter(|word| *word != "cd" && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'))
            .map(str::to_owned)
            .collect();
        assert!(named.len() > 5 && named.is_subset(&tools), "{named:?} of {tools:?}");
    }

    #[tokio::test]
    async fn tool_aliases_are_known_without_an_agent() {
        let folder = tempfile::tempdir().expect("a folder");
        let agent = assembled(folder.path(), &[]).await.expect("an agent").agent;
        for tool in agent.tools() {
            assert_eq!(*aliases(&tool.name), *tool.aliases, "{}", tool.name);
        }
    }

    #[tokio::test]
    async fn managed_settings_override_the_command_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let managed = "[permissions]\nmode = \"ask\"\ndeny = [\"Bash(rm *)\"]\n";
        std::fs::write(folder.path().join("managed.toml"), managed).expect("settings");
        let assembled =
            assembled(folder.path(), &["--mode", "bypass", "--allow", "Bash(rm *)"]).await.expect("an agent");
        assert_eq!(assembled.rules.mode("any"), vertebra_kit::permissions::Mode::Ask);
        assert!(assembled.notices.iter().any(|notice| notice.contains("permissions.mode")), "{:?}", assembled.notices);
        let rules: Vec<String> = assembled.rules.list().iter().map(ToString::to_string).collect();
        assert!(rules.iter().any(|rule| rule.contains("managed.toml, line 3")), "{rules:?}");
    }

    #[tokio::test]
    async fn with_broken_managed_settings_an_agent_starts_and_nothing_allows_more_than_by_default() {
        let folder = tempfile::tempdir().expect("a folder");
        let managed = "[permissions]\ndeny = [\"Bash(rm *)\"]\n[sandbox]\nneed = \"requird\"\n";
        std::fs::write(folder.path().join("managed.toml"), managed).expect("settings");
        let options = ["--mode", "bypass", "--allow", "Bash(touch *)", "--deny", "Bash(mv *)"];
        let assembled = assembled(folder.path(), &options).await.expect("an agent");
        assert_eq!(assembled.rules.mode("any"), vertebra_kit::permissions::Mode::Ask);
        let rules: Vec<String> = assembled.rules.list().iter().map(ToString::to_string).collect();
        let has = |text: &str| rules.iter().any(|rule| rule.contains(text));
        assert!(has("Bash(rm *)") && has("Bash(mv *)") && !has("Bash(touch *)"), "{rules:?}");
        assert!(
            assembled.warnings.iter().any(|told| told.contains("managed.toml, line 4")),
            "{:?}",
            assembled.warnings
        );
        assert!(assembled.policy.why_asked().is_some(), "changes need approval");
    }
}
