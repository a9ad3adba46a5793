//! Hooks that travel together.
//!
//! A bundle is a policy as a value: a crate makes one, an agent installs it, and whoever runs the agent can switch it
//! off or take it out as one.
//!
//! ```
//! use vertebra::{Agent, prelude::*, testing::Script};
//! use vertebra_kit::bundle::{UseHooks, events::*};
//!
//! /// What our house never allows.
//! pub fn house_rules() -> UseHooks {
//!     let mut rules = UseHooks::new("house-rules");
//!     rules.guard(PreToolUse.command(r"\brm\b").named("no-rm"), async |_cx| deny("deletions are for humans"));
//!     rules.watch(StepEnd.named("times"), async |cx| Ok(println!("step {} took {} ms", cx.at.step, cx.duration_ms)));
//!     rules
//! }
//!
//! let agent = Agent::builder(Script::new()).with(house_rules()).build()?;
//! assert!(agent.hooks().get("house-rules/no-rm").is_some());
//! agent.hooks().disable("house-rules")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use vertebra::{Capability, HookSet, Kit, Name, prelude::Attach};

/// A bundle of hooks, installed as one. Hooks are attached to it as to a builder.
///
/// The name of the bundle and a slash stand before the names of its hooks, so two bundles do not collide. A second
/// bundle of the same name is an error when the agent is built.
/// [`Hooks::disable`](vertebra::Hooks::disable), [`enable`](vertebra::Hooks::enable),
/// [`replace`](vertebra::Hooks::replace) and [`remove`](vertebra::Hooks::remove) take the name of the bundle for all of
/// its hooks, in one stroke. To add a bundle to an agent that runs: `agent.hooks().install(bundle.into())`.
pub struct UseHooks {
    name: Name,
    hooks: HookSet,
}

impl UseHooks {
    /// A bundle without hooks yet.
    pub fn new(name: impl Into<Name>) -> Self {
        Self { name: name.into(), hooks: HookSet::new() }
    }
}

impl Attach for UseHooks {
    fn hook_set(&mut self) -> &mut HookSet {
        &mut self.hooks
    }
}

impl Capability for UseHooks {
    fn install(self, kit: &mut Kit) {
        kit.hook_set().append(self.into());
    }
}

impl From<UseHooks> for HookSet {
    fn from(bundle: UseHooks) -> Self {
        bundle.hooks.bundled(bundle.name)
    }
}

/// The points that most policies listen at, under the names that other agents have for them.
pub mod events {
    pub use vertebra::{
        AfterStep as StepEnd, AfterToolUse as PostToolUse, BeforeStep as StepStart, BeforeToolUse as PreToolUse,
        ExecutionStart, OnError as AgentFailed, PromptSubmit as InputSubmitted, ShouldContinue as Stop,
    };
}
