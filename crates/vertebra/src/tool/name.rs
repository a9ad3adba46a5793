//! The name of a tool.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};

/// The name of a tool. A clone is cheap, and it is compared with plain text: `if cx.tool == "bash"`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// The name, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl Deref for ToolName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for ToolName {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for ToolName {
    fn eq(&self, other: &T) -> bool {
        *self.0 == *other.as_ref()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::call;

    #[test]
    fn a_tool_is_compared_with_plain_text() {
        let asked = call("bash", serde_json::json!({}));
        assert!(asked.tool == "bash" && asked.tool == *"bash");
        assert!(asked.tool != "cat" && asked.tool == asked.tool.shared());
    }
}
