//! Keys of this machine, created on first use and readable only by their owner.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Reads the key in this file, and creates it if the file does not exist.
pub(crate) fn machine_key(path: &Path) -> io::Result<[u8; 32]> {
    match fs::read(path) {
        Ok(bytes) => {
            return bytes
                .try_into()
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "this is not a key file (expected 32 bytes)"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut key = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}
