//! Why a program was not started, in words that help.

use std::{ffi::OsStr, fs::File, io, io::Read as _, path::Path};

use super::Program;

/// How long the first line of a script is looked at, as in the kernel.
const FIRST_LINE: u64 = 256;

/// What is the matter with a program that could not be started.
pub(super) fn why(program: &Program, file: &OsStr, error: &io::Error) -> String {
    let (folder, file) = (&program.folder, Path::new(file));
    let shown = file.display();
    if !folder.is_dir() {
        return format!("the folder `{}` that it runs in is not there", folder.display());
    }
    if file.is_dir() {
        return format!("`{shown}` is a folder, not a program");
    }
    match error.kind() {
        io::ErrorKind::NotFound if !file.exists() => format!("there is no file `{shown}`"),
        io::ErrorKind::NotFound => match interpreter(file) {
            Some(name) if name.ends_with('\r') => format!(
                "the first line of `{shown}` ends with a carriage return, so that no interpreter is found: \
                 save it with Unix line ends"
            ),
            Some(name) => format!("the first line of `{shown}` asks for `{name}`, which is not there"),
            None => format!("`{shown}` needs a loader or a library that is not there"),
        },
        io::ErrorKind::PermissionDenied => format!("`{shown}` is not executable: `chmod +x` makes it so"),
        io::ErrorKind::ExecutableFileBusy => format!("`{shown}` is being written by somebody"),
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            format!("`{shown}` is neither a program for this machine nor a script: its first line has no `#!`")
        }
        _ => format!("`{shown}` cannot be started: {error}"),
    }
}

/// What the first line of a script asks for.
fn interpreter(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let name = line.trim_start_matches([' ', '\t']).split([' ', '\t']).next()?;
    Some(name.to_owned())
}
