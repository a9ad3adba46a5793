//! Hundreds of tools, of which the model sees the ones it needs.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::registry::ToolRegistry;
//!
//! let registry = ToolRegistry::default().always("bash").always("read_*");
//! let agent = Agent::builder(Script::new()).with(registry).build()?;
//! # Ok::<(), vertebra::BuildError>(())
//! ```

mod catalogue;
mod hooks;
mod search;

use vertebra::prelude::*;

use catalogue::Catalogue;

/// The metadata key that the names of the tools in the context are kept under, the latest used first.
pub const ACTIVE: &str = "registry/active";

/// Keeps tools out of the context until the model has looked them up.
///
/// The model is offered a tool called `tools` and those that [`always`](Self::always) are. What it finds through
/// `tools`, and what it uses, is offered too, until so many others were found or used since. A call to a tool that is
/// not in the context works all the same: what is offered is a matter of space, what may be done is for guards to say.
/// Tools that a prompt speaks of belong among those that are always offered, such as `todo_write` and `load_skill`.
#[derive(Debug, Clone)]
pub struct ToolRegistry {
    /// How many tools are offered besides those that always are.
    pub max_active: usize,
    /// The names, or patterns of names, of the tools that are always offered: see [`MatchAttribute::tool`](vertebra::MatchAttribute::tool).
    pub always: Vec<String>,
}

impl Default for ToolRegistry {
    fn default() -> Self {
        Self { max_active: 20, always: Vec::new() }
    }
}

impl ToolRegistry {
    /// Always offers the tools of this name, or whose names match this pattern.
    #[must_use]
    pub fn always(mut self, pattern: impl Into<String>) -> Self {
        self.always.push(pattern.into());
        self
    }
}

impl Capability for ToolRegistry {
    fn install(self, kit: &mut Kit) {
        let catalogue = Catalogue::default();
        let name = catalogue.spec().name;
        kit.tool(catalogue);
        hooks::attach(kit, &name, self);
    }
}
