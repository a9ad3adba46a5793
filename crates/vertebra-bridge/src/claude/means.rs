//! Models for handlers that ask one. Whoever assembles provides them.

use crate::handler::BoxFuture;

/// A way to a model.
pub trait AskModel: Send + Sync {
    /// Asks the model of this name, or the one that is there. Whoever calls keeps the time.
    fn ask<'a>(&'a self, model: Option<&'a str>, prompt: String) -> BoxFuture<'a, Result<String, String>>;
}
