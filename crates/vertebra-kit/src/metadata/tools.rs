//! The tools. They say what is wanted; the hook does it, in the order of the calls.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use vertebra::{Args, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{MetadataTools, store::Operation};

/// What the model reads if nobody does what was wanted.
const NOT_DONE: &str = "nothing happened: the hook `metadata/persist` did not run";

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read by the model as a schema; the arguments are parsed as an operation")]
struct Store {
    /// The name of the value: letters, digits, `_`, `-`, `.` and `:`.
    key: String,
    /// Any JSON value. It replaces what was there; `null` forgets the key.
    value: Value,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read by the model as a schema; the arguments are parsed as an operation")]
struct Read {
    /// The name of the value.
    key: String,
}

#[derive(Deserialize, JsonSchema)]
struct List {}

/// One of the three tools.
pub(super) struct MetadataTool {
    spec: ToolSpec,
    operation: fn(&Args) -> Result<Operation, serde_json::Error>,
    limits: Arc<MetadataTools>,
}

pub(super) fn all(limits: &Arc<MetadataTools>) -> [MetadataTool; 3] {
    let tool = |spec, operation| MetadataTool { spec, operation, limits: limits.clone() };
    let store = ToolSpec::new("store_metadata", "Stores a value under a key, for later steps and later prompts.");
    let read = ToolSpec::new("read_metadata", "Reads the value stored under a key.");
    let list = ToolSpec::new("list_metadata", "Lists the keys that values are stored under.");
    [
        tool(store.input::<Store>(), |args| args.parse().map(Operation::Store)),
        tool(read.input::<Read>().read_only(), |args| args.parse().map(Operation::Read)),
        tool(list.input::<List>().read_only(), |_| Ok(Operation::List)),
    ]
}

impl Tool for MetadataTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, _invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let operation = (self.operation)(&args)?;
        operation.check(&self.limits).map_err(ToolError::new)?;
        Ok(ToolOutput { text: NOT_DONE.to_owned(), exit_code: None, data: serde_json::to_value(operation)? })
    }
}
