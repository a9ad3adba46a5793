//! A small HTTP server that says exactly the bytes it is told, in the pieces it is told.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// What the server answers.
#[derive(Clone)]
pub(crate) struct Reply {
    head: String,
    pieces: Vec<Vec<u8>>,
    then: Then,
}

/// What the server does behind the last piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    End,
    /// Closes the connection as if it broke: the body has no end.
    Cut,
    /// Says nothing more and waits until the other side goes.
    Wait,
    /// Says the last piece for ever.
    Repeat,
}

impl Reply {
    /// A status, headers and a whole body.
    pub(crate) fn status(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let mut head = format!("HTTP/1.1 {status} Whatever\r\ntransfer-encoding: chunked\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        head.push_str("\r\n");
        Self { head, pieces: vec![body.into()], then: Then::End }
    }

    /// A stream of this type in these pieces.
    pub(crate) fn stream(content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        let reply = Self::status(200, &[("content-type", content_type), ("x-request-id", "req-of-header")], "");
        Self { pieces, ..reply }
    }

    /// No answer at all: the connection is closed.
    pub(crate) fn nothing() -> Self {
        Self { head: String::new(), pieces: Vec::new(), then: Then::Cut }
    }

    pub(crate) fn then_cut(self) -> Self {
        Self { then: Then::Cut, ..self }
    }

    pub(crate) fn then_wait(self) -> Self {
        Self { then: Then::Wait, ..self }
    }

    pub(crate) fn then_repeat(self) -> Self {
        Self { then: Then::Repeat, ..self }
    }
}

/// A request as the server got it.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// The server. It answers with its replies in order, and with the last one again and again.
pub(crate) struct Server {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    gone: watch::Receiver<usize>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let (leaves, gone) = watch::channel(0);
        let (replies, seen) = (Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>())), received.clone());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, replies.clone(), seen.clone(), leaves.clone()));
            }
        });
        Self { address, received, gone, task }
    }

    /// Where it is, with a path as providers have one.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("requests").clone()
    }

    pub(crate) fn last(&self) -> Received {
        self.received().pop().expect("a request")
    }

    /// Waits until a client has closed its connection before the answer was over.
    pub(crate) async fn a_client_goes(&mut self) {
        self.gone.wait_for(|gone| *gone > 0).await.expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut socket: TcpStream,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    received: Arc<Mutex<Vec<Received>>>,
    leaves: watch::Sender<usize>,
) {
    let Some(request) = read(&mut socket).await else { return };
    received.lock().expect("requests").push(request);
    let reply = {
        let mut replies = replies.lock().expect("replies");
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }.expect("a reply")
    };
    if say(&mut socket, &reply).await.is_err() {
        leaves.send_modify(|gone| *gone += 1);
    }
}

async fn say(socket: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    socket.write_all(reply.head.as_bytes()).await?;
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        chunk(socket, piece).await?;
    }
    match reply.then {
        Then::End => {
            socket.write_all(b"0\r\n\r\n").await?;
            socket.shutdown().await
        }
        Then::Cut => Ok(()),
        Then::Wait => match socket.read(&mut [0; 16]).await {
            Ok(0) | Err(_) => Err(std::io::ErrorKind::ConnectionReset.into()),
            Ok(_) => Ok(()),
        },
        Then::Repeat => {
            let piece = reply.pieces.last().expect("a piece");
            loop {
                chunk(socket, piece).await?;
            }
        }
    }
}

/// A chunk of HTTP is what the other side reads at once, so that a cut is a cut.
async fn chunk(socket: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    socket.write_all(&bytes).await
}

async fn read(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(0, |(_, length)| length.parse().expect("a length"));
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if socket.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { path, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
