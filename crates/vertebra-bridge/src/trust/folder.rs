//! A folder that holds a trusted script, read as a whole: its hash, and a private copy of exactly the bytes that were hashed.
//!
//! A script loads more than itself: helper modules, a library that it sources, a list of words beside it. So trust covers the
//! whole folder, and what runs is a copy that no command of an agent can reach.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Component, Path, PathBuf},
};

use rustix::fs::OFlags;

/// How many files a folder may hold.
pub(super) const MAX_FILES: usize = 256;

/// How many bytes its files may have together.
pub(super) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How deeply folders may be nested in it.
const MAX_DEPTH: usize = 16;

/// Folders that hold nothing but hooks, wherever a script lies in them.
const OF_HOOKS: &[[&str; 2]] = &[[".vertebra", "hooks"], [".claude", "hooks"]];

/// Folders that an agent works in, so that they cannot be read-only for it.
const OF_WORK: &[&str] = &[
    ".git",
    "app",
    "build",
    "dist",
    "lib",
    "node_modules",
    "out",
    "packages",
    "src",
    "target",
    "test",
    "tests",
    "vendor",
];

/// Compiled modules, which an interpreter would load instead of the text that a person reads. They are not copied, so they
/// are not hashed either.
const NOT_COPIED: &str = "__pycache__";

/// What a folder holds.
pub(super) struct Folder {
    files: BTreeMap<PathBuf, File>,
    bytes: u64,
}

struct File {
    bytes: Vec<u8>,
    can_be_started: bool,
}

/// Returns the folder that trust in this script covers, or why the script cannot be trusted where it is.
pub(super) fn of_script(script: &Path, root: &Path, working: &Path) -> Result<PathBuf, String> {
    let folder = script.parent().unwrap_or(root);
    let Ok(inner) = folder.strip_prefix(root) else { return Err("it is outside the project".to_owned()) };
    let parts: Vec<_> = inner.components().map(Component::as_os_str).collect();
    let is = |at: usize, name: &str| parts.get(at).is_some_and(|part| *part == name);
    let of_hooks = |at: &usize| OF_HOOKS.iter().any(|[above, hooks]| is(*at, above) && is(at + 1, hooks));
    if let Some(at) = (0..parts.len()).find(of_hooks) {
        return Ok(root.join(parts[..at + 2].iter().collect::<PathBuf>()));
    }
    let is_work = working.starts_with(folder) || parts.iter().any(|part| OF_WORK.iter().any(|name| *part == *name));
    if is_work {
        return Err("it lies among work files, which an agent may change".to_owned());
    }
    Ok(folder.to_owned())
}

impl Folder {
    /// Reads a folder within the limits.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut folder = Self { files: BTreeMap::new(), bytes: 0 };
        folder.add(path, Path::new(""), MAX_DEPTH)?;
        Ok(folder)
    }

    fn add(&mut self, root: &Path, inner: &Path, depth: usize) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        let shown = |path: &Path| crate::shown(&path.to_string_lossy());
        let too_many = || format!("it has more than {MAX_FILES} files; move the hook to a folder of its own");
        let listed = fs::read_dir(root.join(inner)).map_err(told)?;
        for (count, entry) in listed.enumerate() {
            if count > MAX_FILES {
                return Err(too_many());
            }
            let entry = entry.map_err(told)?;
            let inner = inner.join(entry.file_name());
            let path = root.join(&inner);
            let kind = entry.file_type().map_err(told)?;
            if kind.is_dir() {
                if entry.file_name() == NOT_COPIED {
                    continue;
                }
                if depth == 0 {
                    return Err(format!("its folders are nested more than {MAX_DEPTH} deep"));
                }
                self.add(root, &inner, depth - 1)?;
                continue;
            }
            // A special file may never end, or may block the process that opens it.
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let opened = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&path);
            let file = match opened {
                Ok(file) => file,
                // A link that leads nowhere loads nothing.
                Err(error) if kind.is_symlink() && error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{}: {error}", shown(&inner))),
            };
            let about = file.metadata().map_err(told)?;
            if !about.is_file() {
                return Err(format!("{} is neither a file nor a folder", shown(&inner)));
            }
            let left = MAX_BYTES - self.bytes;
            let mut bytes = Vec::new();
            file.take(left + 1).read_to_end(&mut bytes).map_err(told)?;
            if bytes.len() as u64 > left {
                return Err(format!(
                    "its files have more than {MAX_BYTES} bytes; move the hook to a folder of its own"
                ));
            }
            self.bytes += bytes.len() as u64;
            let can_be_started = about.permissions().mode() & 0o111 != 0;
            self.files.insert(inner, File { bytes, can_be_started });
            if self.files.len() > MAX_FILES {
                return Err(too_many());
            }
        }
        Ok(())
    }

    /// Returns the hash of names, executable bits and contents.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"folder\0");
        for (name, file) in &self.files {
            let name = name.as_os_str().as_bytes();
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name);
            hasher.update(&[u8::from(file.can_be_started)]);
            hasher.update(&(file.bytes.len() as u64).to_le_bytes()).update(&file.bytes);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Returns the size of all files together.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the files with their names in the folder.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files.iter().map(|(name, file)| (&**name, &*file.bytes))
    }

    /// Returns a read-only copy of what was read, below `copies`. An earlier copy is used again if it is as it was written.
    pub(super) fn copied(&self, copies: &Path, name: &Path) -> io::Result<PathBuf> {
        let print = self.fingerprint();
        let place = copies.join(&print);
        let copy = place.join(name);
        let is_whole = |copy: &Path| Self::read(copy).is_ok_and(|folder| folder.fingerprint() == print);
        if is_whole(&copy) {
            return Ok(copy);
        }
        fs::create_dir_all(copies)?;
        fs::set_permissions(copies, fs::Permissions::from_mode(0o700))?;
        let new = tempfile::Builder::new().prefix(".new-").tempdir_in(copies)?;
        // Without this, node would look for the kind of a module in the folders above.
        write(&new.path().join("package.json"), b"{}\n", 0o400)?;
        let into = new.path().join(name);
        fs::create_dir(&into)?;
        for (inner, file) in &self.files {
            let path = into.join(inner);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            write(&path, &file.bytes, if file.can_be_started { 0o500 } else { 0o400 })?;
        }
        set_mode(&into, 0o500)?;
        remove(&place)?;
        match fs::rename(new.path(), &place) {
            Ok(()) => std::mem::drop(new.keep()),
            // Another process wrote the same copy at the same time.
            Err(_) if is_whole(&copy) => set_mode(&into, 0o700)?,
            Err(error) => return Err(error),
        }
        Ok(copy)
    }
}

/// Deletes the copies that no trusted folder needs any more.
pub(super) fn prune(copies: &Path, is_needed: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(copies).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| !name.starts_with('.') && !is_needed(name)) {
            // What cannot be deleted is not used either.
            let _ = remove(&entry.path());
        }
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Gives a folder and the folders in it this mode.
fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    let set = || fs::set_permissions(folder, fs::Permissions::from_mode(mode));
    if mode & 0o200 != 0 {
        set()?;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            set_mode(&entry.path(), mode)?;
        }
    }
    if mode & 0o200 == 0 { set() } else { Ok(()) }
}

fn remove(place: &Path) -> io::Result<()> {
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(about) if !about.is_dir() => return fs::remove_file(place),
        Ok(_) => {}
    }
    set_mode(place, 0o700)?;
    fs::remove_dir_all(place)
}
