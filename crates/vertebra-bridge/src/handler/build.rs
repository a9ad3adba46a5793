//! A handler from what a file says.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::Handler;
use crate::settings::RunSettings;

/// What handlers need from whoever assembles.
#[derive(Clone, Default)]
pub struct Services {
    /// The folder that programs run in.
    pub folder: PathBuf,
    /// The environment to choose from.
    pub variables: BTreeMap<String, String>,
}

/// Why there is no handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this kind of handler is not there yet")]
pub struct HandlerError;

/// The handler that a file describes.
pub fn build(_: &RunSettings, _: &Services) -> Result<Arc<dyn Handler>, HandlerError> {
    Err(HandlerError)
}
