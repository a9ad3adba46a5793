//! `list_dir`: the names in one folder.

use std::fmt::Write as _;

use rustix::fs::{AtFlags, FileType, statat};
use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Target},
    place::{Entry, entries},
    show,
};

/// The arguments of `list_dir`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDir {
    /// The folder; the one the agent works in unless said otherwise.
    #[serde(default = "here")]
    path: String,
    /// How many names to pass over.
    #[serde(default)]
    offset: usize,
    /// How many names, 200 unless said otherwise.
    limit: Option<usize>,
}

pub(super) fn here() -> String {
    ".".to_owned()
}

pub(super) fn list_dir(job: &Job, input: ListDir) -> Result<ToolOutput, ToolError> {
    let bounds = job.bounds();
    let Target { root, place } = job.target(&input.path)?;
    let folder = place.open_folder()?;
    let (mut found, more) = entries(&folder, bounds.walk_entries).map_err(|errno| place.failed("read", errno))?;
    found.retain(|entry| !job.access.denied.hold(&place.path().join(&entry.name)));
    found.sort_by_key(|entry| entry.kind != FileType::Directory);
    let limit = input.limit.unwrap_or(bounds.list_entries).clamp(1, bounds.max_read_lines);
    let mut text = String::new();
    let mut shown = 0;
    for Entry { name, kind } in found.iter().skip(input.offset).take(limit) {
        let name_shown = show(name);
        match kind {
            FileType::Directory => writeln!(text, "{name_shown}/"),
            FileType::RegularFile => {
                let size = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_size);
                writeln!(text, "{name_shown} ({size} bytes)")
            }
            FileType::Symlink => writeln!(text, "{name_shown} (link)"),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => writeln!(text, "{name_shown} (not a file)"),
        }
        .expect("a string takes everything");
        shown += 1;
        if text.len() > bounds.output_bytes {
            break;
        }
    }
    let next = input.offset + shown;
    if found.is_empty() {
        text = "(empty folder)".to_owned();
    } else if shown == 0 {
        let (path, names) = (job.shown(root, place.path()), found.len());
        return Err(ToolError::new(format!("`{path}` has {names} names: offset {} is behind the last", input.offset)));
    } else if next < found.len() {
        writeln!(text, "[{shown} of {} names; read on with offset={next}]", found.len()).expect("a string");
    }
    if more {
        writeln!(text, "[there are more than {} names]", bounds.walk_entries).expect("a string");
    }
    Ok(text.into())
}
