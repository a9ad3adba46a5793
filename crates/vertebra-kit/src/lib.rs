//! The kit: the tools and capabilities people expect of an agent, safe by construction.
//!
//! Each capability is a bundle of tools and hooks on the one mechanism of [`vertebra`]; the loop knows none of them.

#![warn(missing_docs)]

pub mod bash;
pub mod bundle;
pub mod critique;
pub mod files;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod metadata;
pub mod permissions;
pub mod planning;
pub mod process;
pub mod redaction;
pub mod registry;
pub mod resilience;
pub mod skills;
pub mod steering;
pub mod structured;
pub mod subagents;
pub mod summary;

mod address;
mod denied;
mod front_matter;
mod invisible;
mod own;
mod protected;
mod tool_list;

pub use address::is_public;
pub use front_matter::{Brought, Problem, hooks_in};
pub use invisible::{Detail, is_invisible, is_visible, spelled_out, visible};
pub use protected::{GitPaths, PROTECTED, git_dir, is_policy, is_protected, plain};
