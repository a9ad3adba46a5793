//! On which named sockets the commands of a session listen, as the kernel tells it. A socket belongs to the network namespace
//! that it was made in, and only commands of the session are in its private network. So nothing has to be remembered from
//! one command to the next, and a number that is used again deceives nobody: a socket holds its file while it is listed.

use rustix::{
    fs::{Stat, major, minor},
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SOCK_DIAG, recv, send, socket_with},
};

/// `SOCK_DIAG_BY_FAMILY`, the kind of the question and of its answers; all others end the list.
const BY_FAMILY: u16 = 20;

/// `NLM_F_REQUEST | NLM_F_DUMP`: all there are.
const ALL: u16 = 0x301;

/// `TCP_LISTEN` as a bit: those that listen.
const LISTENING: u32 = 1 << 10;

/// `UDIAG_SHOW_VFS` asks for the file, and `UNIX_DIAG_VFS` is the part of an answer that has it.
const SHOW_FILE: u32 = 2;
const FILE: u16 = 1;

/// The length of the head of a message, and of what comes before the parts of an answer.
const HEAD: usize = 16;
const FIXED: usize = 16;

/// How many packets are read.
const MOST: usize = 1000;

/// Whether somebody in the network namespace of this process listens on a socket file.
pub(super) fn listens_here(found: &Stat) -> bool {
    // The kernel tells 32 bits of the number of a file.
    let Ok(inode) = u32::try_from(found.st_ino) else { return false };
    let device = major(found.st_dev) << 20 | minor(found.st_dev);
    has(inode, device).unwrap_or(false)
}

fn has(inode: u32, device: u32) -> Result<bool, Errno> {
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    let mut question = Vec::new();
    // The length, the kind, a number and the sender; then the family, which states, any socket, what of it, no cookie.
    question.extend(40_u32.to_ne_bytes());
    question.extend([BY_FAMILY.to_ne_bytes(), ALL.to_ne_bytes()].concat());
    let family = u32::from_ne_bytes([1, 0, 0, 0]);
    question.extend([1, 0, family, LISTENING, 0, SHOW_FILE, u32::MAX, u32::MAX].map(u32::to_ne_bytes).concat());
    send(&kernel, &question, SendFlags::empty())?;
    let mut packet = vec![0; 32 * 1024];
    for _ in 0..MOST {
        let (length, _) = recv(&kernel, packet.as_mut_slice(), RecvFlags::DONTWAIT)?;
        let mut rest = &packet[..length];
        while let Some((kind, message)) = first(&mut rest, 4, HEAD) {
            if kind != BY_FAMILY {
                return Ok(false);
            }
            let mut parts = message.get(FIXED..).unwrap_or_default();
            while let Some((kind, part)) = first(&mut parts, 2, 4) {
                if kind == FILE && part == [inode.to_ne_bytes(), device.to_ne_bytes()].concat() {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The kind and the content of the first of several parts, which is taken off. Each begins with its length, of 4 or 2 bytes,
/// and with its kind, and the next one at a multiple of four.
fn first<'b>(bytes: &mut &'b [u8], length: usize, head: usize) -> Option<(u16, &'b [u8])> {
    let number = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let whole = match length {
        4 => usize::try_from(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?)).ok()?,
        _ => number(0)?.into(),
    };
    let part = (number(length)?, bytes.get(head..whole)?);
    *bytes = bytes.get(whole.next_multiple_of(4)..).unwrap_or_default();
    Some(part)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::stat;

    use super::*;

    #[test]
    fn a_socket_is_known_as_long_as_somebody_listens_on_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let others: Vec<_> = (0..300)
            .map(|other| UnixListener::bind(folder.path().join(format!("{other}"))).expect("a socket"))
            .collect();
        let listener = UnixListener::bind(&path).expect("a socket");
        let found = stat(&path).expect("a file");
        assert!(listens_here(&found), "{found:?}");
        drop(listener);
        assert!(!listens_here(&found));
        drop(others);
    }
}
