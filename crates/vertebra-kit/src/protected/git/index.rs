//! Whether an index names only files in the work tree. Git does not check the names in its index when it writes files from
//! there: `git checkout .` would make a hook of an entry `.git/hooks/post-checkout`, and write outside for `../x`.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use super::{
    MAX_BYTES, Refused,
    deciding::bytes_of,
    parse::{Entry, parse},
};
use crate::protected::names::folded;

/// The largest index whose names are read.
pub(crate) const MAX_INDEX_BYTES: usize = 256 * 1024 * 1024;

/// The length of the fields before the object's name: times, device, mode, owner and size.
const STAT: usize = 40;

/// The length that stands for a name that is at least as long.
const LONG: usize = 0xfff;

/// Returns whether `bytes` may be the index at `path`, or the part of it that several share.
///
/// It is read as strictly as git writes it. A file that does not begin like an index passes, because git does not read it.
pub(crate) fn index(path: &Path, bytes: &[u8]) -> Result<(), Refused> {
    if !bytes.starts_with(b"DIRC") {
        return Ok(());
    }
    let hash = if is_sha256(path.parent().unwrap_or(path)) { 32 } else { 20 };
    if bytes.len() <= MAX_INDEX_BYTES && stays_in_work_tree(bytes, hash).is_some_and(|stays| stays) {
        Ok(())
    } else {
        Err(Refused::Index)
    }
}

/// Whether the names of objects in a git directory are longer than usual.
pub(super) fn is_sha256(git: &Path) -> bool {
    let common = bytes_of(&git.join("commondir"), 4096).and_then(|bytes| String::from_utf8(bytes).ok());
    let common = common.map_or_else(|| git.to_owned(), |text| git.join(text.trim_end_matches(['\n', '\r'])));
    let entries = bytes_of(&common.join("config"), MAX_BYTES as u64).and_then(|bytes| parse(&bytes).ok());
    let is_long = |entry: &Entry| {
        sets_format(entry) && entry.value.as_ref().is_some_and(|value| value.eq_ignore_ascii_case(b"sha256"))
    };
    entries.is_some_and(|entries| entries.iter().any(is_long))
}

/// Whether a value says how long the names of objects are.
pub(super) fn sets_format(entry: &Entry) -> bool {
    entry.section == "extensions" && entry.key == "objectformat"
}

/// Reads the names of all entries; nothing if git would not have written it like this.
fn stays_in_work_tree(bytes: &[u8], hash: usize) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize);
    let (version, count) = (number(4)?, number(8)?);
    let end = bytes.len().checked_sub(hash)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    // Where each entry begins, and whether it repeats nothing of the one before.
    let mut begins = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let from = at;
        at += STAT + hash;
        let flags = usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        at += if flags & 0x4000 == 0 { 2 } else { 4 };
        let kept = if version == 4 {
            let (dropped, used) = variable_length(bytes.get(at..end)?)?;
            at += used;
            name.len().checked_sub(dropped)?
        } else {
            0
        };
        name.truncate(kept);
        let length = memchr::memchr(0, bytes.get(at..end)?)?;
        name.extend(&bytes[at..at + length]);
        at += length + 1;
        // Git goes by this number where it is not the largest one.
        let said = flags & LONG;
        if said != LONG && said != name.len() {
            return None;
        }
        if version < 4 {
            // Entries are padded with zeros to a multiple of eight bytes.
            at = from + (at - from).next_multiple_of(8);
        }
        if leaves_work_tree(&name) {
            return Some(false);
        }
        begins.push((from, kept == 0));
    }
    (at <= end && is_read_in_order(bytes, at, end, hash, &begins)?).then_some(true)
}

/// Whether the tables by which several threads read an index lead to the same entries.
fn is_read_in_order(
    bytes: &[u8],
    entries_end: usize,
    end: usize,
    hash: usize,
    begins: &[(usize, bool)],
) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize);
    // Where the entries end is looked up from the end of the file.
    if let Some(table) = end.checked_sub(12 + hash)
        && bytes.get(table..table + 4) == Some(b"EOIE")
        && number(table + 8)? != entries_end
    {
        return Some(false);
    }
    let mut at = entries_end;
    while at + 8 <= end {
        let size = number(at + 4)?;
        if bytes.get(at..at + 4) == Some(b"IEOT") {
            let (mut entry, mut row) = (0, at + 12);
            while row + 8 <= (at + 8).checked_add(size)? {
                let (offset, count) = (number(row)?, number(row + 4)?);
                if begins.get(entry) != Some(&(offset, true)) {
                    return Some(false);
                }
                (entry, row) = (entry.checked_add(count)?, row + 8);
            }
            if entry != begins.len() {
                return Some(false);
            }
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    Some(true)
}

/// Whether a file of this name would not be one of the work tree.
fn leaves_work_tree(name: &[u8]) -> bool {
    let is_git = |part: &[u8]| {
        // Comparing is dear, and few names begin like this.
        (part.starts_with(b".") || !part.is_ascii()) && folded(OsStr::from_bytes(part)) == ".git"
    };
    // A folder that is not checked out ends with a slash, and an entry that replaces a shared one has no name.
    let path = name.strip_suffix(b"/").unwrap_or(name);
    !name.is_empty() && path.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b"..") || is_git(part))
}

/// Reads how many bytes of the name before are dropped, and how many bytes say so.
fn variable_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let status = Command::new("git").args(words).current_dir(folder).status();
        assert!(status.expect("git").success(), "{words:?}");
    }

    /// A repository whose index git has written in this way.
    fn repository(version: &str, format: &str) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        git(folder.path(), &["init", "-q", &format!("--object-format={format}"), "."]);
        git(folder.path(), &["config", "index.threads", "2"]);
        let hidden = ["xgit/hooks/post-checkout", "zz/outside"];
        for name in ["a", "dir/github", "dir/gitignore-like", "é/ö.txt", ".gitignore"].into_iter().chain(hidden) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, name).expect("a file");
        }
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["update-index", "--index-version", version]);
        let bytes = fs::read(folder.path().join(".git/index")).expect("an index");
        (folder, bytes)
    }

    #[test]
    fn an_index_with_a_name_outside_of_the_work_tree_is_refused_in_every_version() {
        for (version, format) in [("2", "sha1"), ("3", "sha1"), ("4", "sha1"), ("2", "sha256"), ("4", "sha256")] {
            let (folder, good) = repository(version, format);
            let path = folder.path().join(".git/index");
            assert_eq!(index(&path, &good), Ok(()), "{version} {format}");
            // The same length, so that nothing else changes.
            for (from, to) in [("xgit/hooks", ".git/hooks"), ("xgit/hooks", ".GiT/hooks"), ("zz/outside", "../outside")]
            {
                let at = memchr::memmem::find(&good, from.as_bytes()).expect("the name is there as a whole");
                let mut bad = good.clone();
                bad[at..at + to.len()].copy_from_slice(to.as_bytes());
                assert_eq!(index(&path, &bad), Err(Refused::Index), "{version} {format}: {to}");
            }
            assert!(index(&path, &good[..good.len() / 2]).is_err(), "{version} {format}, cut");
            // A table for several threads that leads to other entries.
            if let Some(at) = memchr::memmem::find(&good, b"IEOT") {
                let mut bad = good.clone();
                bad[at + 15] ^= 8;
                assert_eq!(index(&path, &bad), Err(Refused::Index), "{version} {format}, table");
            }
        }
        assert_eq!(index(Path::new("/x/.git/index"), b""), Ok(()));
    }

    #[test]
    fn a_length_that_hides_an_entry_is_refused() {
        let (folder, good) = repository("2", "sha1");
        let path = folder.path().join(".git/index");
        let mut bad = good.clone();
        // The flags of the first entry, whose name is `.gitignore`.
        bad[12 + STAT + 20 + 1] = 3;
        assert_eq!(index(&path, &bad), Err(Refused::Index));
    }
}
