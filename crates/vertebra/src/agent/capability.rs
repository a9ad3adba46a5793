//! Capabilities: tools and hooks that belong together.

use std::{borrow::Cow, sync::Arc};

use vertebra_hooks::{Attach, HookSet};

use crate::{
    AgentPoint, AnyPoint, Approver, Compactor, Model, Points, SharedModel, Tool, ToolError, ToolSpec,
    approval::ErasedApprover, conversation::compact::ErasedCompactor, points::events::ToolAsked,
    run::inference::ErasedModel, timeline::redaction::Veils, tool::ErasedTool, tool::check::Checks,
};

/// A bundle of tools and hooks, installed as one: `builder.with(TaskPlanning::default())`.
pub trait Capability {
    /// Puts the tools and hooks into the kit.
    fn install(self, kit: &mut Kit);
}

/// What capabilities have brought so far. Hooks are attached to it as to a builder.
#[derive(Default)]
pub struct Kit {
    pub(crate) tools: Vec<Arc<dyn ErasedTool>>,
    pub(crate) hooks: HookSet,
    pub(crate) instructions: Vec<String>,
    pub(crate) working_directory: Option<Arc<str>>,
    pub(crate) approver: Option<Arc<dyn ErasedApprover>>,
    pub(crate) compactor: Option<Arc<dyn ErasedCompactor>>,
    pub(crate) veils: Veils,
    pub(crate) checks: Checks,
    pub(crate) models: Vec<Replacement>,
    pub(crate) points: Vec<AnyPoint>,
}

/// What makes one model of another.
pub(crate) type Replacement = Box<dyn FnOnce(SharedModel) -> Arc<dyn ErasedModel> + Send>;

impl Kit {
    /// Adds a tool.
    pub fn tool(&mut self, tool: impl Tool) -> &mut Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Registers a point: see [`AgentBuilder::point`](crate::AgentBuilder::point).
    pub fn point<P: AgentPoint>(&mut self, point: P) -> &mut Self {
        self.points.push(AnyPoint::of(point));
        self
    }

    /// Registers points that were collected elsewhere: see [`AgentBuilder::points`](crate::AgentBuilder::points).
    pub fn points(&mut self, points: &Points) -> &mut Self {
        self.points.extend(points.own());
        self
    }

    /// Adds a paragraph to the system prompt.
    pub fn instruct(&mut self, text: impl Into<String>) -> &mut Self {
        self.instructions.push(text.into());
        self
    }

    /// Says where the agent works, unless somebody has said so already; what its builder says counts in any case.
    pub fn working_directory(&mut self, path: impl Into<Arc<str>>) -> &mut Self {
        self.working_directory.get_or_insert_with(|| path.into());
        self
    }

    /// Says who decides when a hook asks. There is one: the last that was named.
    pub fn approver(&mut self, approver: impl Approver) -> &mut Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Says who makes conversations shorter. There is one: the last that was named.
    pub fn compactor(&mut self, compactor: impl Compactor) -> &mut Self {
        self.compactor = Some(Arc::new(compactor));
        self
    }

    /// Puts another model in the place of the agent's: one that wraps it, or one that does without it. Capabilities that are
    /// installed later wrap the model of those before them.
    ///
    /// ```
    /// use vertebra::{Capability, Kit, testing::Script};
    ///
    /// /// Answers every question itself.
    /// struct Offline;
    ///
    /// impl Capability for Offline {
    ///     fn install(self, kit: &mut Kit) {
    ///         kit.model(|_agents_own| Script::new().say("I am offline."));
    ///     }
    /// }
    /// ```
    pub fn model<M: Model>(&mut self, replace: impl FnOnce(SharedModel) -> M + Send + 'static) -> &mut Self {
        self.models.push(Box::new(|model| Arc::new(replace(model))));
        self
    }

    /// Puts a veil before everything that leaves a run: the texts of its journal, of what front ends are told and of its
    /// report, and those of its children. Hooks, tools and models, which are part of the run, see what there is.
    ///
    /// Each text is veiled alone: what a tool says in two pieces is two texts.
    pub fn veil(&mut self, veil: impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + 'static) -> &mut Self {
        self.veils.add(Arc::new(veil));
        self
    }

    /// Checks, under this name, every call that hooks and guards let pass, before its tool [does](Tool::check) and before anyone is asked. The
    /// error says why the call cannot be made; the model reads it. Children are checked too.
    ///
    /// What it found is recorded, and a replay takes it from the record. Use it instead of a guard if the answer depends on
    /// text that a [veil](Self::veil) hides in the journal.
    pub fn check(
        &mut self,
        name: impl Into<Arc<str>>,
        check: impl Fn(&ToolAsked, Option<&ToolSpec>) -> Result<(), ToolError> + Send + Sync + 'static,
    ) -> &mut Self {
        self.checks.add(name.into(), Arc::new(check));
        self
    }
}

impl Attach for Kit {
    fn hook_set(&mut self) -> &mut HookSet {
        &mut self.hooks
    }
}
