//! A provider that only waits to be asked.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;

/// How long a program may take to ask.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Listener(TcpListener);

impl Listener {
    pub(crate) fn open() -> anyhow::Result<Self> {
        Ok(Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?))
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().map_or(0, |address| address.port())
    }

    /// Waits until a model is asked.
    pub(crate) fn first_request(self) -> anyhow::Result<()> {
        let (asked, first) = mpsc::channel();
        // If nobody ever asks, it waits on until this program ends, and the caller does not.
        std::thread::spawn(move || {
            while let Ok((stream, _)) = self.0.accept() {
                if is_asked(stream) {
                    return asked.send(());
                }
            }
            Ok(())
        });
        first.recv_timeout(PATIENCE).with_context(|| format!("no model was asked within {PATIENCE:?}"))
    }
}

/// Whether a connection asks a model. Other requests, with which some look around first, find nothing.
fn is_asked(mut stream: std::net::TcpStream) -> bool {
    let mut head = [0; 5];
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    if stream.read_exact(&mut head).is_ok() && &head == b"POST " {
        return true;
    }
    let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    false
}
