//! A record of what a person trusts, with a sum by which it is noticed that another program emptied, cut or edited it.
//!
//! The sum has no secret: it is no seal against somebody who calculates a new one. It tells a record that this program wrote
//! from one that it did not, so that an empty record cannot pass for "nothing was ever trusted".

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::TrustError;
use crate::kept::{keep, open};

/// How large a record may be.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The version of the format.
const VERSION: u32 = 2;

/// What is recorded of folders and of the user's own settings.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record<V> {
    /// What is known of each folder.
    pub(super) folders: BTreeMap<String, V>,
    /// The fingerprint of the user's own settings, as they were when they last set something.
    pub(super) own: Option<String>,
    /// Whether the policy was installed into another agent, which counts on this record.
    pub(super) installed: bool,
}

impl<V> Default for Record<V> {
    fn default() -> Self {
        Self { folders: BTreeMap::new(), own: None, installed: false }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    version: u32,
    sum: String,
    record: T,
}

impl<V: Serialize + DeserializeOwned> Record<V> {
    /// Reads a record. A missing file is an empty record.
    pub(super) fn read(path: &Path) -> Result<Self, TrustError> {
        let told = |source: io::Error| TrustError::Io { path: path.to_owned(), source };
        let wrong = |message: String| TrustError::Content { path: path.to_owned(), message };
        let Some(file) = open(path).map_err(told)? else { return Ok(Self::default()) };
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(told)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("it is larger than {MAX_BYTES} bytes")));
        }
        if text.is_empty() {
            return Err(wrong("it was emptied".to_owned()));
        }
        let File { version, sum, record }: File<Self> = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("another program or another version of vertebra wrote it ({error})")))?;
        if version != VERSION {
            return Err(wrong(format!("unknown version {version}")));
        }
        if sum != sum_of(path, &record).map_err(told)? {
            return Err(wrong("another program changed it".to_owned()));
        }
        Ok(record)
    }

    /// Reads a record, and starts a new one in place of one that somebody damaged.
    pub(super) fn read_or_new(path: &Path) -> Result<Self, TrustError> {
        match Self::read(path) {
            Err(TrustError::Content { .. }) => Ok(Self::default()),
            read => read,
        }
    }

    /// Replaces the file with this record.
    pub(super) fn keep(&self, path: &Path) -> Result<(), TrustError> {
        let told = |source: io::Error| TrustError::Io { path: path.to_owned(), source };
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(told)?;
        let sum = sum_of(path, self).map_err(told)?;
        keep(path, &File { version: VERSION, sum, record: self }).map_err(told)
    }
}

/// Returns the sum of a record in its place. A copy from elsewhere has another one.
fn sum_of(path: &Path, record: &impl Serialize) -> io::Result<String> {
    let folder: PathBuf = path.parent().unwrap_or(Path::new(".")).canonicalize()?;
    let place = folder.join(path.file_name().unwrap_or_default());
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"vertebra record\0").update(place.as_os_str().as_bytes()).update(&[0]);
    hasher.update(&serde_json::to_vec(record)?);
    Ok(hasher.finalize().to_hex().to_string())
}
