//! `list_dir`: the names in one folder.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, statat};
use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Target},
    judge::HiddenNames,
    place::{Entry, entries},
    push_line, show,
    walk::Aliases,
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

/// Finds out whether a person has to be asked.
pub(super) fn look(job: &Job, input: &ListDir) -> Result<Option<String>, ToolError> {
    job.target(&input.path).map(|_| None)
}

pub(super) fn list_dir(job: &Job, input: &ListDir) -> Result<ToolOutput, ToolError> {
    let bounds = job.bounds();
    let target = job.target(&input.path)?;
    let folder = target.open_folder(job)?;
    let Target { root, place, .. } = target;
    let (mut found, more) = entries(&folder, bounds.walk_entries).map_err(|errno| place.failed("read", errno))?;
    let mut hidden = HiddenNames::default();
    if job.has_denials() {
        let aliases = Aliases::of(&folder).ok_or_else(|| place.says("is nowhere any more"))?;
        found.retain(|entry| !job.hides(&aliases.of_entry(&folder, &entry.name), &mut hidden));
    }
    found.sort_by_key(|entry| entry.kind != FileType::Directory);
    let limit = input.limit.unwrap_or(bounds.list_entries).min(bounds.max_read_lines).max(1);
    let mut text = String::new();
    let mut shown = 0;
    for entry in found.iter().skip(input.offset).take(limit) {
        push_line(&mut text, format_args!("{}", line(&folder, entry)));
        shown += 1;
        if text.len() > bounds.output_bytes {
            break;
        }
    }
    let next = input.offset.saturating_add(shown);
    if found.is_empty() {
        push_line(&mut text, format_args!("(empty folder)"));
    } else if shown == 0 {
        let (path, names) = (job.shown(&root, place.path()), found.len());
        return Err(ToolError::new(format!("`{path}` has {names} names: offset {} is behind the last", input.offset)));
    } else if next < found.len() {
        push_line(&mut text, format_args!("[{shown} of {} names; read on with offset={next}]", found.len()));
    }
    if let Some(notice) = hidden.notice() {
        push_line(&mut text, format_args!("{notice}"));
    }
    if more {
        push_line(&mut text, format_args!("[there are more than {} names]", bounds.walk_entries));
    }
    Ok(text.into())
}

fn line(folder: &OwnedFd, Entry { name, kind }: &Entry) -> String {
    let shown = show(name);
    match kind {
        FileType::Directory => format!("{shown}/"),
        FileType::RegularFile => match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => format!("{shown} ({} bytes)", stat.st_size),
            Err(_gone) => shown,
        },
        FileType::Symlink => format!("{shown} (link)"),
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            format!("{shown} (not a file)")
        }
    }
}
