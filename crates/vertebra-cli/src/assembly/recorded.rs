//! The built-in agent once more, for a session that was recorded: its hooks are real, and nothing else of it is.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use anyhow::{Context as _, ensure};
use vertebra::{
    Agent, Approval, Approver, Args, Decision, Deltas, Entry, Invocation, Model, ModelError, ModelId, Request,
    Response, SharedModel, Tool, ToolError, ToolOutput, ToolSpec, What,
};
use vertebra_bridge::{
    policy::Files,
    settings::{self, Level},
};

use super::{Brought, Parts, Settled, Trust, World, build, folder, from_options, policy, rights};
use crate::{chat::ModelSwitch, options::AgentOptions};

/// What an agent needs to have for a session to be done again.
pub(crate) struct Recorded {
    model: ModelId,
    /// The tools of servers that were used.
    tools: BTreeSet<Arc<str>>,
    /// Whether it was a chat, in which another model can be chosen.
    chat: bool,
}

impl Recorded {
    /// Reads it from the session's lines.
    pub(crate) fn of(lines: &[Entry]) -> anyhow::Result<Self> {
        let model = lines.iter().find_map(|line| match &line.what {
            What::SessionBegan { model, .. } => Some(model.clone()),
            _ => None,
        });
        let model = model.context("the beginning of the session is not there any more")?;
        let (mut tools, mut chat) = (BTreeSet::new(), false);
        for line in lines {
            match &line.what {
                What::ToolIntended { tool, .. } if tool.starts_with("mcp__") => drop(tools.insert(tool.clone())),
                What::Dispatched { record, .. } => {
                    chat |= record.hooks.iter().any(|trace| &*trace.hook == ModelSwitch::HOOK);
                }
                _ => {}
            }
        }
        Ok(Self { model, tools, chat })
    }
}

/// The agent as `run` makes it, or with the policy of one file in place of all levels. No model is looked for and no server
/// is started.
pub(crate) fn replayed(
    recorded: Recorded,
    options: &AgentOptions,
    file: Option<&Path>,
    world: &World,
) -> anyhow::Result<Agent> {
    let world = World { is_interactive: false, ..world.clone() };
    let (folder, nearest) = (folder(options)?, from_options(options));
    let (settled, files) = match file {
        None => {
            let trust = if options.trust { Trust::Once } else { Trust::OnlyRemembered };
            (Settled::read(&folder, trust, nearest, &world)?, policy::files(&folder, &world))
        }
        Some(file) => {
            ensure!(file.is_file(), "{}: there is no such file", file.display());
            let said = settings::read(file, Level::User)?.settings;
            let settings = settings::merge(settings::Settings::default(), [said, nearest]).0;
            let (project, notices, warnings) = (Vec::new(), Vec::new(), Vec::new());
            let settled = Settled { settings, project, brought: Brought::default(), notices, warnings };
            // Nothing else is looked at, also not later.
            let files = Files { managed: "".into(), user: Some(file.into()), folder: folder.clone(), store: None };
            (settled, files)
        }
    };
    let Recorded { model, tools, chat } = recorded;
    let own = world.user_settings().filter(|_| file.is_none());
    let parts = Parts {
        folder,
        // As in a run, where a person's own rules can be added to; nobody is asked here.
        permissions: rights::permissions(&settled.settings, own.as_deref())?,
        settled,
        files,
        with_claude: file.is_none(),
        model: SharedModel::new(Silent(model)),
        servers: Vec::new(),
        stand_ins: tools.into_iter().map(StandIn).collect(),
        journal: None,
    };
    let assembled = build(parts, options, &world, |_, _| Some(Nobody))?;
    if chat {
        ModelSwitch::new(&assembled.agent, assembled.models)?;
    }
    Ok(assembled.agent)
}

/// A model that is never asked.
struct Silent(ModelId);

impl Model for Silent {
    fn id(&self) -> ModelId {
        self.0.clone()
    }

    async fn infer(&self, _: &Request, _: &mut Deltas<'_>) -> Result<Response, ModelError> {
        Err(ModelError::Broken { message: "no model is asked in a replay".to_owned() })
    }
}

/// Whoever answered then answers again.
struct Nobody;

impl Approver for Nobody {
    async fn decide(&self, _: &Approval) -> Decision {
        Decision::Later
    }
}

/// A tool of a server that is not started. It is never run.
pub(super) struct StandIn(Arc<str>);

impl Tool for StandIn {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0.clone(), "a tool of a server, in a replay")
    }

    async fn call(&self, _: Args, _: Invocation) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new("no tool runs in a replay"))
    }
}
