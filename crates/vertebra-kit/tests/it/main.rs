//! Every capability, tried through whole agents on scripted models.

mod sheet;
mod support;

mod bash;
mod bash_policy;
mod bundle;
mod critique;
mod denied;
mod files;
mod laws;
#[cfg(feature = "mcp")]
mod mcp;
mod metadata;
mod permissions;
mod planning;
mod races;
mod redaction;
mod refusals;
mod registry;
mod resilience;
mod skills;
mod steering;
mod structured;
mod subagents;
mod summary;
mod together;
