//! An agent from options: the model, the tools, the rules.

mod choice;
mod prompt;
mod rights;
mod script;
mod world;

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use vertebra::{Agent, Approver, Limits, Model as _, ModelId};
use vertebra_bridge::settings::{
    self, Driver, LimitSettings, Mode, ModelSettings, Origin, PermissionSettings, Settings,
};
use vertebra_kit::{
    bash::Bash, files::Files, permissions::Rules, planning::TaskPlanning, redaction::Redaction, resilience::ModelRetry,
    skills::Skills, steering::Steering, subagents::Subagents, summary::Summarisation,
};

pub(crate) use self::world::World;
use crate::options::{AgentOptions, DriverChoice, ModeChoice};

/// How many steps a run takes at most, unless told otherwise.
const STEPS: u64 = 100;

/// How long a run works at most, unless told otherwise.
const TIME: Duration = Duration::from_hours(1);

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_hours(24);

/// An agent ready to work, and the handles a front end needs.
pub(crate) struct Assembled {
    /// The agent.
    pub(crate) agent: Agent,
    /// The model it asks.
    pub(crate) model: ModelId,
    /// Where a person's words go while it works.
    pub(crate) steering: Steering,
    /// The permission rules, to which an "always" is added.
    pub(crate) rules: Rules,
    /// What a person should know before it begins: what was found, what is missing.
    pub(crate) notices: Vec<String>,
}

/// Makes the built-in agent. Whoever approves is made from the rules, which an "always" is added to; without one, nobody
/// says yes.
pub(crate) async fn assemble<A: Approver>(
    options: &AgentOptions,
    world: &World,
    approver: impl FnOnce(&Rules) -> Option<A>,
) -> anyhow::Result<Assembled> {
    let folder = std::fs::canonicalize(&options.dir).with_context(|| format!("--dir {}", options.dir.display()))?;
    let (settings, mut notices) = settled(options, world)?;
    let chosen = choice::choose(&settings.model, world).await?;
    let (model, steering) = (chosen.model.id(), Steering::default());
    let permissions = rights::permissions(&settings.permissions, world.user_settings().as_deref())?;
    let rules = permissions.rules();
    let skills = world.config.iter().fold(Skills::new(), |skills, config| skills.folder(config.join("skills")));
    let agents = world.config.iter().fold(Subagents::new(), |agents, config| agents.folder(config.join("agents")));
    let agents = agents.skills(&skills);
    let skills = skills.agents(&agents);
    notices.extend(skills.problems().iter().chain(agents.problems()).map(ToString::to_string));

    let mut builder = Agent::builder(chosen.model);
    builder
        .name("vertebra")
        .system_prompt(told(&folder, &settings, options))
        .limits(limits(&settings.limits))
        .approval_timeout(PATIENCE)
        .with(permissions)
        .with(Files::new(&folder)?)
        .with(Bash { sandbox: rights::sandbox(&settings.sandbox), ..Bash::in_dir(&folder) })
        .with(TaskPlanning::default())
        .with(skills)
        .with(agents)
        .with(Redaction::default())
        .with(ModelRetry::default())
        .with(Summarisation::default())
        .with(steering.clone());
    if let Some(approver) = approver(&rules) {
        builder.approver(approver);
    }
    Ok(Assembled { agent: builder.build()?, model, steering, rules, notices })
}

/// What all levels say together, and what does not count.
fn settled(options: &AgentOptions, world: &World) -> anyhow::Result<(Settings, Vec<String>)> {
    let managed = settings::read(&world.managed, settings::Level::Managed)?.settings;
    let user = match world.user_settings() {
        Some(path) => settings::read(&path, settings::Level::User)?.settings,
        None => Settings::default(),
    };
    Ok(settings::merge(managed, [user, from_options(options)]))
}

/// What the command line says, as settings.
fn from_options(options: &AgentOptions) -> Settings {
    let origin = Origin::command_line();
    let rules = |rules: &[String]| rules.iter().map(|rule| origin.said(rule.clone())).collect();
    let mode = |mode| match mode {
        ModeChoice::Ask => Mode::Ask,
        ModeChoice::AcceptEdits => Mode::AcceptEdits,
        ModeChoice::Plan => Mode::Plan,
        ModeChoice::Bypass => Mode::Bypass,
    };
    let driver = |driver| match driver {
        DriverChoice::Auto => Driver::Auto,
        DriverChoice::Native => Driver::Native,
        DriverChoice::React => Driver::React,
    };
    Settings {
        model: ModelSettings {
            name: options.model.clone().map(|name| origin.said(name)),
            driver: options.driver.map(|choice| origin.said(driver(choice))),
            ..ModelSettings::default()
        },
        permissions: PermissionSettings {
            mode: options.mode.map(|choice| origin.said(mode(choice))),
            allow: rules(&options.allow),
            deny: rules(&options.deny),
            ..PermissionSettings::default()
        },
        limits: LimitSettings {
            steps: options.max_steps.map(|steps| origin.said(steps)),
            time: options.timeout.map(|time| origin.said(time)),
            cost_micros: options.max_cost.map(|cost| origin.said(cost)),
            tokens: None,
        },
        ..Settings::default()
    }
}

/// All that the model is told before the conversation.
fn told(folder: &Path, settings: &Settings, options: &AgentOptions) -> String {
    let texts = settings.instructions.text.iter().map(|said| said.value.as_str()).chain(options.system.as_deref());
    std::iter::once(prompt::prompt(folder).as_str()).chain(texts).collect::<Vec<_>>().join("\n\n")
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
