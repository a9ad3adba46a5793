//! One call to the kernel that no crate offers without `unsafe`, as a safe function. Nothing else belongs here.
#![cfg(target_os = "linux")]

use std::{
    io,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h`, which `libc` does not have yet.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Asks the kernel to wake whoever waits at a seccomp listener on the processor of the process whose call is handed over,
/// and that process where its call was answered. The two take turns, so that waking another processor only costs time.
///
/// Fails where the kernel does not know it (before Linux 6.6), and if the file is no listener. Nothing has changed then.
pub fn wake_on_same_processor(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: The file is open, because it is borrowed. The third argument is a number and not an address, so that the
    // kernel reads and writes no memory of this process. The number of the request contains the letter of seccomp and the
    // size of its argument; a file of another kind that took it for an address would find nothing at 1, and fail.
    #[expect(unsafe_code, reason = "no crate offers this request as a safe function")]
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::AsFd as _, thread};

    use seccompy::{FilterWithListenerFlags, bpf::BpfInstruction, set_filter_with_listener, set_no_new_privileges};

    use super::*;

    #[test]
    fn a_listener_takes_the_flag_and_no_other_file_does() {
        let is_known = |error: io::Error| assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "before Linux 6.6");
        let allow_all = BpfInstruction { code: 0x06, jt: 0, jf: 0, k: 0x7FFF_0000 };
        let listened = thread::spawn(move || {
            set_no_new_privileges().expect("no new privileges");
            let listener = set_filter_with_listener(FilterWithListenerFlags::default(), &[allow_all]);
            listener.map(|listener| wake_on_same_processor(listener.as_fd()))
        });
        // Where somebody listens to this process already, it gets no listener.
        if let Ok(answer) = listened.join().expect("a thread") {
            answer.unwrap_or_else(is_known);
        }
        let file = File::open("/dev/null").expect("a file");
        let refused = wake_on_same_processor(file.as_fd()).expect_err("no listener");
        assert_eq!(refused.raw_os_error(), Some(libc::ENOTTY));
    }
}
