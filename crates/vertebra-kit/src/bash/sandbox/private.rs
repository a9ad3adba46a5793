//! The private networks of sessions, from the agent's side: each is kept by a process, which ends with the agent.

use std::{
    collections::VecDeque,
    io,
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::rules::Space;

/// How many private networks are kept, over all sessions. One that was given up is made anew when it is needed.
const KEPT: usize = 64;

/// The private networks of all sessions.
#[derive(Debug, Default)]
pub(in crate::bash) struct Networks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<(String, Arc<Private>)>,
    /// Why this system gives none.
    none: Option<String>,
}

impl Networks {
    /// The private network of a session; if there is none, why. `launcher` starts the process that keeps it.
    pub(in crate::bash) async fn of(&self, session: &str, launcher: &Path) -> Result<Arc<Private>, String> {
        if let Some(known) = self.known(session) {
            return known;
        }
        match Private::start(launcher).await {
            Ok(private) => {
                let private = Arc::new(private);
                let mut state = self.state();
                state.kept.push_back((session.to_owned(), private.clone()));
                if state.kept.len() > KEPT {
                    state.kept.pop_front();
                }
                Ok(private)
            }
            Err(error) => {
                let why = error.to_string();
                self.state().none = Some(why.clone());
                Err(why)
            }
        }
    }

    /// Gives up the private network of a session that has ended.
    pub(in crate::bash) fn forget(&self, session: &str) {
        self.state().kept.retain(|(of, _)| of != session);
    }

    fn known(&self, session: &str) -> Option<Result<Arc<Private>, String>> {
        let mut state = self.state();
        state.kept.retain(|(_, private)| private.is_kept());
        let found = state.kept.iter().find(|(of, _)| of == session).map(|(_, private)| Ok(private.clone()));
        found.or_else(|| state.none.clone().map(Err))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A private network. When this is dropped, its keeper ends.
#[derive(Debug)]
pub(in crate::bash) struct Private {
    keeper: Mutex<tokio::process::Child>,
    #[cfg(target_os = "linux")]
    connection: Arc<Mutex<std::os::fd::OwnedFd>>,
    pub(super) space: Space,
}

impl Private {
    /// Whether its keeper is there. As long as nobody has waited for it, its number is nobody else's.
    fn is_kept(&self) -> bool {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

#[cfg(not(target_os = "linux"))]
impl Private {
    async fn start(_: &Path) -> io::Result<Self> {
        Err(io::Error::other("there is none for this system, only for Linux"))
    }

    pub(in crate::bash) async fn listen(&self, _: u16) -> io::Result<TcpListener> {
        Err(io::Error::other("there is none for this system, only for Linux"))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{io::IoSliceMut, mem::MaybeUninit, os::fd::OwnedFd, process::Stdio, time::Duration};

    use rustix::net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
        recvmsg, send, socketpair,
        sockopt::{Timeout, set_socket_timeout},
    };

    use super::{
        super::{
            KEEP,
            keeper::{LISTENS, MESSAGE, READY, READY_AS_USER},
        },
        Arc, Mutex, Path, PoisonError, Private, Space, TcpListener, io,
    };

    /// How long a keeper may take to answer.
    const PATIENCE: Duration = Duration::from_secs(10);

    impl Private {
        pub(super) async fn start(launcher: &Path) -> io::Result<Self> {
            let kind = SocketType::SEQPACKET;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
            set_socket_timeout(&ours, Timeout::Recv, Some(PATIENCE))?;
            let mut command = tokio::process::Command::new(launcher);
            command.arg(KEEP).env_clear().current_dir("/").stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
            let keeper = command.process_group(0).kill_on_drop(true).spawn()?;
            // It holds the other end, which has to close when the keeper ends.
            drop(command);
            let id = keeper.id().ok_or_else(|| io::Error::other("its keeper has ended"))?;
            let connection = Arc::new(Mutex::new(ours));
            let (word, _) = Self::ask(&connection, None).await?;
            let user = match &*word {
                READY => false,
                READY_AS_USER => true,
                "" => return Err(io::Error::other("the launcher cannot keep one")),
                why => return Err(io::Error::other(why.to_owned())),
            };
            let space = Space::kept_by(id, user)?;
            Ok(Self { keeper: Mutex::new(keeper), connection, space })
        }

        /// A socket that listens on a port of the private network's loopback interface; on any, if the port is 0.
        pub(in crate::bash) async fn listen(&self, port: u16) -> io::Result<TcpListener> {
            match Self::ask(&self.connection, Some(port)).await? {
                (word, Some(handle)) if word == LISTENS => Ok(TcpListener::from(handle)),
                (word, _) if word.is_empty() => Err(io::Error::other("its keeper has ended")),
                (word, _) => Err(io::Error::other(word)),
            }
        }

        /// Asks the keeper for something, if there is something to ask, and gives its answer.
        async fn ask(connection: &Arc<Mutex<OwnedFd>>, request: Option<u16>) -> io::Result<(String, Option<OwnedFd>)> {
            let connection = connection.clone();
            let asking = move || {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(port) = request {
                    send(&*connection, &port.to_be_bytes(), SendFlags::NOSIGNAL)?;
                }
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut control = RecvAncillaryBuffer::new(&mut space);
                let mut bytes = [0; MESSAGE];
                let mut buffers = [IoSliceMut::new(&mut bytes)];
                let read = recvmsg(&*connection, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
                let handles = control.drain().filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(handles) => Some(handles),
                    _ => None,
                });
                let handle = handles.flatten().next();
                Ok((String::from_utf8_lossy(&bytes[..read]).into_owned(), handle))
            };
            tokio::task::spawn_blocking(asking).await?
        }
    }
}
