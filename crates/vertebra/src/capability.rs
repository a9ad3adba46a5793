//! Capabilities: tools and hooks that belong together.

use std::{borrow::Cow, sync::Arc};

use vertebra_hooks::{Attach, HookSet};

use crate::{
    Approver, Compactor, Tool, approver::ErasedApprover, compact::ErasedCompactor, tool::ErasedTool, veil::Veils,
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
}

impl Kit {
    /// Adds a tool.
    pub fn tool(&mut self, tool: impl Tool) -> &mut Self {
        self.tools.push(Arc::new(tool));
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

    /// Puts a veil before everything that leaves a run: the texts of its journal, of what front ends are told and of its
    /// report, and those of its children. Hooks, tools and models, which are part of the run, see what there is.
    ///
    /// Each text is veiled alone: what a tool says in two pieces is two texts.
    pub fn veil(&mut self, veil: impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + 'static) -> &mut Self {
        self.veils.add(Arc::new(veil));
        self
    }
}

impl Attach for Kit {
    fn hook_set(&mut self) -> &mut HookSet {
        &mut self.hooks
    }
}
