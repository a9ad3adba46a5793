//! The supervisor of a command: it makes every change of files on the command's behalf, and the command itself can make
//! none. So names that do not exist yet are protected without anything being put in their place.
//!
//! The kernel hands each changing call to this one thread, and the process that made it waits. A path is read once,
//! resolved once to the handle of a folder and a name, judged, and used by that handle. Everything that is not understood
//! goes back to the kernel, where Landlock refuses it: which calls are handed over decides what works, not what is safe.

mod act;
mod address;
mod attributes;
mod checked;
mod detach;
mod guard;
mod links;
mod listening;
mod outside;
mod place;
mod sending;
mod settle;
mod signals;
mod sockets;
mod task;

use std::{
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
    rc::Rc,
};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
};
use seccompy::{
    AddDescriptorError, AddDescriptorOptions, ReceiveNotificationError, SeccompNotif, add_descriptor_to_target,
    check_validity, continue_syscall, fail_syscall, receive_notification, return_syscall, send_response,
};

use self::{
    checked::{Checked, Finished},
    guard::Guard,
    outside::{Connecting, Reachable},
    signals::Signals,
    task::{Call, Identities, Processes},
};
use super::{
    calls::UnixSockets,
    files::unix_sockets,
    refusal::{Refusal, Refusals},
    rules::{Reach, Rules},
};

/// A path that nothing is made at: the supervisor answers it with an error that the kernel never gives there.
pub(super) const PROBE: &str = "/proc/vertebra sandbox: probe";

/// The error.
pub(super) const PROBED: Errno = Errno::XFULL;

/// What is answered to a call.
enum Answer {
    /// The kernel makes the call. It changes nothing: Landlock holds it.
    Kernel,
    Done,
    Failed(Errno),
    /// A file that was opened; and whether it is closed when the process becomes another program.
    Opened(OwnedFd, bool),
    /// What the call returns.
    Returned(i64),
    /// Not yet: the other end of a pipe is not open, or it is full.
    Later,
    /// Somebody else answers, once it is known.
    Pending,
}

/// Makes the calls of a command.
pub(super) struct Minder {
    listener: OwnedFd,
    guard: Guard,
    identities: Identities,
    processes: Rc<Processes>,
    /// Calls that wait for the other end of a pipe.
    waiting: Vec<SeccompNotif>,
    /// Files whose content is judged when it has been written.
    checked: Vec<Checked>,
    /// What the command was refused.
    refusals: Refusals,
    /// What the command reaches, if it uses the network of this machine.
    reachable: Option<Reachable>,
    /// Connections that are being made.
    connecting: Vec<Connecting>,
    unix_sockets: UnixSockets,
    /// Whether only commands of the same session are in its network.
    is_private: bool,
    /// Whether the pseudo-terminals that there are belong to the command.
    has_terminals: bool,
    /// Signals to processes that are not the command's.
    signals: Signals,
    /// The named sockets that the command has made. They are held open, so that no other socket gets their number.
    named: Vec<OwnedFd>,
}

impl Minder {
    /// The handles are those of the writable folders in the rules.
    pub(super) fn new(listener: OwnedFd, rules: &Rules, folders: Vec<OwnedFd>) -> Self {
        // Older kernels do without, and are slower.
        _ = vertebra_wake::wake_on_same_processor(listener.as_fd());
        Self {
            listener,
            guard: Guard::new(rules, folders),
            identities: Identities::new(),
            processes: Rc::default(),
            waiting: Vec::new(),
            checked: Vec::new(),
            refusals: Refusals::default(),
            reachable: match &rules.network {
                Reach::Machine(outside) => Some(Reachable::new(outside)),
                Reach::Closed | Reach::Private(_) => None,
            },
            connecting: Vec::new(),
            unix_sockets: unix_sockets(rules),
            is_private: matches!(rules.network, Reach::Private(_)),
            has_terminals: rules.terminals,
            signals: Signals::default(),
            named: Vec::new(),
        }
    }

    /// What there is to wait for.
    pub(super) fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        let files = self.checked.iter().map(|checked| PollFd::from_borrowed_fd(checked.as_fd(), PollFlags::IN));
        let connecting = self.connecting.iter().map(Connecting::polled);
        std::iter::once(PollFd::new(&self.listener, PollFlags::IN)).chain(files).chain(connecting)
    }

    /// Whether a call has to be tried again soon.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Answers the call that is there, and those that waited.
    pub(super) fn serve(&mut self, has_call: bool) {
        self.finish_checked();
        self.finish_connecting();
        for notification in std::mem::take(&mut self.waiting) {
            if self.is_valid(&notification) {
                self.answer(notification);
            }
        }
        if !has_call {
            return;
        }
        match receive_notification(self.listener.as_raw_fd()) {
            Ok(notification) => self.answer(notification),
            // The process was killed meanwhile.
            Err(ReceiveNotificationError::Interrupted | ReceiveNotificationError::Unknown(_)) => {}
        }
    }

    /// Writes the files whose content is complete.
    pub(super) fn finish_checked(&mut self) {
        self.checked.retain_mut(|checked| {
            let outcome = checked.finish();
            if outcome == Finished::Refused {
                self.refusals.tell_path(checked.path(), Refusal::Protected);
            }
            outcome == Finished::NotYet
        });
    }

    fn is_valid(&self, notification: &SeccompNotif) -> bool {
        check_validity(self.listener.as_raw_fd(), notification).unwrap_or(false)
    }

    fn answer(&mut self, notification: SeccompNotif) {
        match self.act(&Call { notification, processes: self.processes.clone() }) {
            Answer::Later => self.waiting.push(notification),
            answer => self.respond(notification, answer),
        }
    }

    fn respond(&self, notification: SeccompNotif, answer: Answer) {
        let listener = self.listener.as_raw_fd();
        let fail = |errno: Errno| fail_syscall(notification, u16::try_from(errno.raw_os_error()).unwrap_or(u16::MAX));
        let response = match answer {
            Answer::Later | Answer::Pending => return,
            Answer::Kernel => continue_syscall(notification),
            Answer::Done => return_syscall(notification, 0),
            Answer::Returned(value) => return_syscall(notification, value),
            Answer::Failed(errno) => fail(errno),
            Answer::Opened(file, close_on_exec) => {
                let options = AddDescriptorOptions {
                    target_descriptor_number: None,
                    add_and_respond: true,
                    set_descriptor_close_on_exec: close_on_exec,
                };
                match add_descriptor_to_target(listener, &notification, file.as_raw_fd(), options) {
                    Ok(_) | Err(AddDescriptorError::Interrupted) => return,
                    Err(AddDescriptorError::InvalidTargetDescriptor) => fail(Errno::MFILE),
                    Err(AddDescriptorError::Unknown(errno)) => fail(Errno::from_raw_os_error(errno)),
                    Err(_) => fail(Errno::IO),
                }
            }
        };
        // Who is gone needs no answer.
        _ = send_response(listener, response);
    }
}

impl AsFd for Minder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
