//! The built-in agent for a replay: its hooks are real; its model, tools and approvals come from the journal.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use anyhow::{Context as _, ensure};
use vertebra::{
    Agent, Approval, Approver, Args, Decision, Deltas, Entry, Invocation, Model, ModelError, ModelId, Request,
    Response, SharedModel, Tool, ToolError, ToolOutput, ToolSpec, What,
};
use vertebra_bridge::{
    policy::Files,
    settings::{self, Level, PermissionSettings},
};
use vertebra_kit::{bash::sandbox::Fixed, permissions::Rules};

use super::{Brought, Parts, Settled, Trust, World, build, folder, from_options, policy, rights};
use crate::{chat::ModelSwitch, options::AgentOptions};

/// The properties of a recorded session that its replay needs.
pub(crate) struct Recorded<'l> {
    model: ModelId,
    /// The MCP tools that were used.
    tools: BTreeSet<Arc<str>>,
    /// Whether the session was a chat, in which `/model` can switch the model.
    chat: bool,
    /// What people granted at questions, such as rules.
    grants: BTreeSet<String>,
    lines: &'l [Entry],
}

impl<'l> Recorded<'l> {
    /// Reads them from the facts of the session.
    pub(crate) fn of(lines: &'l [Entry]) -> anyhow::Result<Self> {
        let model = lines.iter().find_map(|line| match &line.what {
            What::SessionBegan { model, .. } => Some(model.clone()),
            _ => None,
        });
        let model = model.context("the start of this session is no longer in the journal")?;
        let (mut tools, mut chat, mut grants) = (BTreeSet::new(), false, BTreeSet::new());
        for line in lines {
            match &line.what {
                What::ToolIntended { tool, .. } if tool.starts_with("mcp__") => drop(tools.insert(tool.clone())),
                What::Dispatched { record, .. } => {
                    chat |= record.hooks.iter().any(|trace| &*trace.hook == ModelSwitch::HOOK);
                }
                What::Answered { decision: Decision::Approve { grants: more, .. }, .. } => {
                    grants.extend(more.iter().cloned());
                }
                _ => {}
            }
        }
        Ok(Self { model, tools, chat, grants, lines })
    }
}

/// Assembles the agent as `run` does, or with the policy of one file instead of all levels. It looks for no model and starts
/// no server.
pub(crate) fn replayed(
    recorded: Recorded<'_>,
    options: &AgentOptions,
    file: Option<&Path>,
    world: &World,
) -> anyhow::Result<Agent> {
    let world = World { is_interactive: false, ..world.clone() };
    let (folder, nearest) = (folder(options)?, from_options(options)?);
    let (mut settled, files) = match file {
        None => {
            let trust = if options.policy.trust { Trust::Once } else { Trust::OnlyRemembered };
            let mut files = policy::files(&folder, &world);
            if trust == Trust::Once {
                // As in a run.
                files.store = None;
            }
            (Settled::read(&folder, trust, nearest, &world)?, files)
        }
        Some(file) => {
            ensure!(file.is_file(), "{}: no such file", file.display());
            let said = settings::read(file, Level::User)?.settings;
            let settings = settings::merge(settings::Settings::default(), [said, nearest]).0;
            let (project, notices, warnings) = (Vec::new(), Vec::new(), Vec::new());
            let (fixed, brought) = (Fixed::default(), Brought::default());
            let settled = Settled { settings, fixed, project, brought, broken: None, notices, warnings };
            // No other file is read, now or on a reload.
            let files = Files { managed: "".into(), user: Some(file.into()), folder: folder.clone(), store: None };
            (settled, files)
        }
    };
    let Recorded { model, tools, chat, grants, lines } = recorded;
    let PermissionSettings { allow, folders, .. } = &mut settled.settings.permissions;
    // A rule that was saved during the session was not in force before: it takes effect where it was added.
    for rules in std::iter::once(allow).chain(folders.iter_mut().map(|(_, allow)| allow)) {
        rules.retain(|said| said.origin.level != Level::User || !grants.contains(&said.value));
    }
    let own = world.user_settings().filter(|_| file.is_none());
    let parts = Parts {
        folder,
        // As in a run. No one is asked here, so nothing is written.
        permissions: rights::permissions(&settled.settings, own.as_deref())?,
        settled,
        files,
        with_claude: file.is_none(),
        model: SharedModel::new(Silent(model)),
        servers: Vec::new(),
        stand_ins: tools.into_iter().map(StandIn).collect(),
        journal: None,
        outputs: None,
    };
    let assembled = build(parts, options, &world, |rules, _, _| Some(Nobody(rules.clone())))?;
    assembled.rules.recall_modes(lines);
    if chat {
        ModelSwitch::new(&assembled.agent, assembled.models)?;
    }
    Ok(assembled.agent)
}

/// A model that is never called.
struct Silent(ModelId);

impl Model for Silent {
    fn id(&self) -> ModelId {
        self.0.clone()
    }

    async fn infer(&self, _: &Request, _: &mut Deltas<'_>) -> Result<Response, ModelError> {
        Err(ModelError::Broken { message: "no model is called in a replay".to_owned() })
    }
}

/// Never answers: the recorded answers are used, and what they granted is in force from there on.
struct Nobody(Rules);

impl Approver for Nobody {
    async fn decide(&self, _: &Approval) -> Decision {
        Decision::Later
    }

    async fn recall(&self, approval: &Approval, decision: &Decision) {
        if let Decision::Approve { grants, .. } = decision {
            self.0.recall(&approval.at.run.session_id, grants);
        }
    }
}

/// A stand-in for a tool of an MCP server that is not started. It never runs.
pub(super) struct StandIn(Arc<str>);

impl Tool for StandIn {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0.clone(), "a tool of an MCP server, in a replay")
    }

    async fn call(&self, _: Args, _: Invocation) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new("no tool runs in a replay"))
    }
}
