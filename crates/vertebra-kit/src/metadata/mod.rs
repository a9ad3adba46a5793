//! What a model wants to remember: named values in the state.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::metadata::MetadataTools;
//!
//! let agent = Agent::builder(Script::new()).with(MetadataTools::default()).build()?;
//! # Ok::<(), vertebra::BuildError>(())
//! ```

mod store;
mod tools;

use std::sync::Arc;

use vertebra::{ToolStatus, prelude::*};

use crate::own::has_tool;
use store::Operation;

/// Lets a model store, read and list values that last as long as the session.
///
/// Keys with a slash belong to hooks: a model can neither write nor read nor list them. Calls of one answer take effect
/// in the order the model wrote them, although tools run at the same time.
#[derive(Debug, Clone)]
pub struct MetadataTools {
    /// How many keys there may be.
    pub max_keys: usize,
    /// How long a key may be.
    pub max_key_bytes: usize,
    /// How long one value may be, written as JSON.
    pub max_value_bytes: usize,
    /// How long all values together may be, written as JSON.
    pub max_total_bytes: usize,
}

impl Default for MetadataTools {
    fn default() -> Self {
        Self { max_keys: 50, max_key_bytes: 128, max_value_bytes: 64 * 1024, max_total_bytes: 1024 * 1024 }
    }
}

impl Capability for MetadataTools {
    fn install(self, kit: &mut Kit) {
        let limits = Arc::new(self);
        let tools = tools::all(&limits);
        let names: Arc<[Arc<str>]> = tools.iter().map(|tool| tool.spec().name).collect();
        for tool in tools {
            kit.tool(tool);
        }
        let listens = names.join("|");
        // First, so that whoever changes or hides results sees the real one.
        kit.on(AfterToolUse.tool(listens).named("metadata/persist").priority(1).fail_open(), async move |cx| {
            let ours = names.iter().any(|name| **name == *cx.tool && has_tool(cx.scope(), name));
            if !ours || cx.result.data.is_null() {
                return proceed();
            }
            // Taken out: what is done once must not be done again by a copy of this hook.
            let operation: Operation = serde_json::from_value(std::mem::take(&mut cx.result.data))?;
            let answer = operation.perform(&limits, cx.state_mut().metadata_mut());
            cx.result.output = match answer {
                Ok(text) => text,
                Err(problem) => {
                    cx.result.status = ToolStatus::Failed;
                    cx.result.success = false;
                    problem
                }
            };
            proceed()
        });
    }
}
