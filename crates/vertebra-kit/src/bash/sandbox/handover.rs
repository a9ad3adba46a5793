//! How rules reach a process that is started for them: over the connection that is its input. On its command line every
//! user of the machine could read what is denied and hidden.

#[cfg(target_os = "linux")]
use std::{fs, os::fd::AsFd};
use std::{
    io::{self, Write},
    time::Duration,
};

#[cfg(target_os = "linux")]
use rustix::io::{Errno, read};

#[cfg(target_os = "linux")]
use super::launch::LaunchError;

/// How long the agent waits for a launcher that does not take its rules. They fit into the buffer of a connection.
pub(in crate::bash) const PATIENCE: Duration = Duration::from_secs(5);

/// How many bytes say how long the rules are.
#[cfg(target_os = "linux")]
const HEAD: usize = size_of::<u32>();

/// The longest rules that are taken.
#[cfg(target_os = "linux")]
const MOST_BYTES: usize = 1024 * 1024;

/// Sends a text, with its length before it.
pub(in crate::bash) fn give(mut to: impl Write, text: &[u8]) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_ne_bytes(), text].concat())
}

/// Reads a text that was sent by [`give`], and nothing behind it.
#[cfg(target_os = "linux")]
pub(super) fn take(from: impl AsFd) -> Result<Vec<u8>, LaunchError> {
    let head = exactly(&from, HEAD)?;
    let length = head.try_into().map(u32::from_ne_bytes).ok().and_then(|length| usize::try_from(length).ok());
    exactly(&from, length.filter(|length| *length <= MOST_BYTES).ok_or(LaunchError::NotAsked)?)
}

#[cfg(target_os = "linux")]
fn exactly(from: impl AsFd, count: usize) -> Result<Vec<u8>, LaunchError> {
    let mut bytes = vec![0; count];
    let mut begin = 0;
    while begin < count {
        match read(&from, &mut bytes[begin..]) {
            Ok(0) => return Err(LaunchError::NotAsked),
            Ok(more) => begin += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// Reads the whole of a file that this process inherited under a number.
#[cfg(target_os = "linux")]
pub(super) fn inherited(number: &str) -> Result<Vec<u8>, LaunchError> {
    number.parse::<u32>().map_err(|_| LaunchError::NotAsked)?;
    fs::read(format!("/proc/self/fd/{number}")).map_err(LaunchError::Inherited)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_given_is_taken_whole_and_what_follows_stays() {
        let (mut ours, theirs) = UnixStream::pair().expect("a connection");
        let text = "rules ".repeat(10_000);
        give(&ours, text.as_bytes()).expect("it is sent");
        ours.write_all(b"!").expect("it is sent");
        assert_eq!(take(&theirs).expect("rules"), text.as_bytes());
        assert_eq!(exactly(&theirs, 1).expect("the rest"), b"!");
    }

    #[test]
    fn rules_that_are_cut_off_or_too_long_are_none() {
        for sent in [&[][..], &[9, 0, 0], &[9, 0, 0, 0, b'x'], &u32::MAX.to_ne_bytes()] {
            let (mut ours, theirs) = UnixStream::pair().expect("a connection");
            ours.write_all(sent).expect("it is sent");
            drop(ours);
            assert!(matches!(take(&theirs), Err(LaunchError::NotAsked)), "{sent:?}");
        }
    }
}
