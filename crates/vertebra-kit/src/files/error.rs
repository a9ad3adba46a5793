//! What can be wrong about the folders and patterns a host gives.

use std::{io, path::PathBuf};

/// [`Files`](super::Files) cannot be set up like this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// The folder cannot be opened.
    #[error("cannot open the folder {}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder's path is not UTF-8, so no model could write it.
    #[error("the path {} is not UTF-8", path.display())]
    NotUnicode {
        /// The folder.
        path: PathBuf,
    },
    /// The pattern says nothing about the folder: it would never hold.
    #[error("invalid pattern `{pattern}`: write it relative to the folder, such as `secrets/**`")]
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// The pattern does not parse.
    #[error("`{pattern}` is not a glob")]
    Glob {
        /// The pattern.
        pattern: String,
        /// Why.
        source: globset::Error,
    },
}
