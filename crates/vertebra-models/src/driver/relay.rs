//! The relay: `genai` speaks to it on loopback, and it speaks to the provider.
//!
//! `genai` opens its connections itself and shows neither bytes nor headers of an answer: it reads an error or a line
//! of any size, loses events whose line ends are cut apart, and puts the key where it likes. So each request gets a
//! listener of its own that takes one connection, knows it by a random path, adds the key on the way out, and gives
//! back whole, bounded events. It lives in the driver's future: when that is dropped, everything is closed.

use std::{io, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use reqwest::{
    Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT},
};
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use vertebra::ModelError;

use super::{
    Bounds,
    failure::{self, broken, network},
    frames::{Format, Frames},
    http::Http,
    sniff::Seen,
};
use crate::Secret;

/// What `genai` has for a key.
pub(super) const PLACEHOLDER: &str = "the-key-is-added-on-the-way-out";

/// How much of an error is read.
const ERROR_BYTES: usize = 64 << 10;

/// How long the head of a request of `genai` may be: its headers are few.
const HEAD_BYTES: usize = 64 << 10;

/// How long a connection may take to say what it wants, and how many are heard at once. Anybody on this machine can
/// connect, so that strangers must hold up nobody.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CALLERS: usize = 64;

/// Headers that belong to one connection.
const OF_THE_CONNECTION: [&str; 5] = ["host", "connection", "content-length", "accept-encoding", "user-agent"];

/// One request on its way.
pub(super) struct Relay<'d> {
    listener: TcpListener,
    address: String,
    secret_path: String,
    http: &'d Http,
    base: &'d Url,
    key: Option<&'d Secret>,
    bounds: Bounds,
    patch: Map<String, Value>,
    seen: Arc<Seen>,
}

/// What `genai` wants sent.
struct Asked {
    target: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl<'d> Relay<'d> {
    pub(super) async fn open(
        http: &'d Http,
        base: &'d Url,
        key: Option<&'d Secret>,
        bounds: Bounds,
        patch: Map<String, Value>,
    ) -> Result<Self, ModelError> {
        let local = |error: io::Error| network(format!("no connection within this machine: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(local)?;
        let port = listener.local_addr().map_err(local)?.port();
        let secret_path = format!("/{}", random()?);
        let address = format!("http://127.0.0.1:{port}{secret_path}{}", base.path());
        Ok(Self { listener, address, secret_path, http, base, key, bounds, patch, seen: Arc::default() })
    }

    /// The base URL for `genai`.
    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    /// What will have been seen of the answer.
    pub(super) fn seen(&self) -> Arc<Seen> {
        self.seen.clone()
    }

    /// Passes on the request and its answer.
    pub(super) async fn run(self) -> Result<(), ModelError> {
        let (mut socket, asked) = self.accept().await?;
        let response = self.send(asked).await?;
        self.pass_on(response, &mut socket).await
    }

    /// Waits for the one who knows the path.
    async fn accept(&self) -> Result<(TcpStream, Asked), ModelError> {
        let mut callers = FuturesUnordered::new();
        loop {
            tokio::select! {
                connected = self.listener.accept(), if callers.len() < MAX_CALLERS => {
                    let (socket, _) = connected.map_err(|error| network(error.to_string()))?;
                    callers.push(self.hear(socket));
                }
                Some(heard) = callers.next() => {
                    if let Ok(known) = heard {
                        return Ok(known);
                    }
                }
            }
        }
    }

    async fn hear(&self, mut socket: TcpStream) -> io::Result<(TcpStream, Asked)> {
        let (mut asked, length) = timeout(HEAD_TIMEOUT, self.read_head(&mut socket)).await??;
        let rest = length - asked.body.len().min(length);
        let read = (&mut socket).take(rest as u64).read_to_end(&mut asked.body).await?;
        if read < rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Small pieces must not wait for each other.
        let _ = socket.set_nodelay(true);
        Ok((socket, asked))
    }

    /// What is asked with as much of its body as has come, and how long that is.
    async fn read_head(&self, socket: &mut TcpStream) -> io::Result<(Asked, usize)> {
        let mut bytes = Vec::with_capacity(8 << 10);
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if bytes.len() > HEAD_BYTES || socket.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let target = lines.next().and_then(|line| line.split(' ').nth(1)?.strip_prefix(&*self.secret_path));
        let target = target.ok_or(io::ErrorKind::PermissionDenied)?.to_owned();
        let mut headers = HeaderMap::new();
        let mut length = 0;
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().map_err(io::Error::other)?;
            }
            if let (Ok(name), Some(value)) = (HeaderName::try_from(name), self.outbound(name, value)) {
                headers.append(name, value);
            }
        }
        Ok((Asked { target, headers, body: bytes.split_off(end + 4) }, length))
    }

    /// The header as it goes out: with the key, if it is to hold one. Without a key there is no such header.
    fn outbound(&self, name: &str, value: &str) -> Option<HeaderValue> {
        if OF_THE_CONNECTION.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            return None;
        }
        if !value.contains(PLACEHOLDER) {
            return HeaderValue::from_str(value).ok();
        }
        let mut value = HeaderValue::from_str(&value.replace(PLACEHOLDER, self.key?.reveal())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    async fn send(&self, asked: Asked) -> Result<Response, ModelError> {
        let Asked { target, headers, body } = asked;
        let body = self.patched(body);
        let url = format!("{}{target}", self.base.origin().ascii_serialization());
        let client = self.http.client(self.base.scheme()).map_err(network)?;
        let request = client.post(url).headers(headers).body(body);
        let request = request.header(USER_AGENT, concat!("vertebra/", env!("CARGO_PKG_VERSION")));
        let response = timeout(self.bounds.first, request.send()).await.map_err(|_| self.nothing_came())?;
        let response = response.map_err(|error| failure::of_network(&error, self.key))?;
        if let Some(id) = failure::request_id(response.headers()) {
            self.seen.name(id);
        }
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.read_some(response).await;
        Err(failure::of_status(status, &headers, &body, self.key))
    }

    /// The body with what `genai` has no word for.
    fn patched(&self, body: Vec<u8>) -> Vec<u8> {
        if self.patch.is_empty() {
            return body;
        }
        let patched = serde_json::from_slice::<Map<String, Value>>(&body).ok().and_then(|mut whole| {
            whole.extend(self.patch.clone());
            serde_json::to_vec(&whole).ok()
        });
        patched.unwrap_or(body)
    }

    fn nothing_came(&self) -> ModelError {
        network(format!("no answer for {}", spoken(self.bounds.first)))
    }

    /// The beginning of a body. What is lost of it is not missed.
    async fn read_some(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BYTES {
            match timeout(self.bounds.idle.min(HEAD_TIMEOUT), response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                _ => break,
            }
        }
        body.truncate(ERROR_BYTES);
        body
    }

    async fn pass_on(&self, response: Response, socket: &mut TcpStream) -> Result<(), ModelError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let format = Format::of(kind);
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            return Err(self.not_a_stream(response).await);
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n\r\n", format.content_type());
        let mut frames = Frames::new(format, self.bounds.frame_bytes);
        let mut bytes = response.bytes_stream();
        let (mut size, mut limit) = (0_usize, self.bounds.first);
        let mut whole = head.into_bytes();
        loop {
            // Nobody reads any more: the answer is over for `genai`.
            if socket.write_all(&whole).await.is_err() {
                return Ok(());
            }
            whole.clear();
            let Ok(next) = timeout(limit, bytes.next()).await else {
                let stalled = || broken(format!("no piece of it came for {}", spoken(limit)));
                return Err(if size == 0 { self.nothing_came() } else { stalled() });
            };
            limit = self.bounds.idle;
            let Some(piece) = next else { break };
            let piece = piece.map_err(|error| failure::of_body(&error, self.key))?;
            size += piece.len();
            if size > self.bounds.answer_bytes {
                return Err(broken(format!("it has more than {} bytes", self.bounds.answer_bytes)));
            }
            if format == Format::Raw {
                self.seen.unread();
                whole.extend_from_slice(&piece);
                continue;
            }
            for mut frame in frames.push(&piece)? {
                self.seen.look(&mut frame, self.key)?;
                whole.extend_from_slice(frame.encode(format).as_bytes());
            }
        }
        if let Some(mut frame) = frames.end()? {
            self.seen.look(&mut frame, self.key)?;
            // If nobody reads any more, nobody misses it.
            let _ = socket.write_all(frame.encode(format).as_bytes()).await;
        }
        Ok(())
    }

    /// A success that is none: an error with the wrong status, a page of a proxy, a server that cannot stream.
    async fn not_a_stream(&self, response: Response) -> ModelError {
        let body = self.read_some(response).await;
        match serde_json::from_slice::<Value>(&body) {
            Ok(said) if said.get("error").is_some_and(|error| !error.is_null()) => {
                failure::of_event(&said["error"], self.key)
            }
            _ => ModelError::Rejected { message: "the server sent no stream; is the base URL right?".to_owned() },
        }
    }
}

/// A path that nobody guesses.
/// A time limit as people say it.
fn spoken(limit: Duration) -> String {
    match limit.as_secs() {
        minutes if minutes >= 120 && minutes % 60 == 0 => format!("{} minutes", minutes / 60),
        _ => format!("{} seconds", limit.as_secs_f64()),
    }
}

fn random() -> Result<String, ModelError> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    random.map_err(|_| network("no random numbers".to_owned()))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn connect(relay: &Relay<'_>, says: &str) -> TcpStream {
        let mut socket = TcpStream::connect(relay.listener.local_addr().expect("an address")).await.expect("a socket");
        socket.write_all(says.as_bytes()).await.expect("words");
        socket
    }

    #[tokio::test]
    async fn strangers_who_say_nothing_or_do_not_know_the_path_hold_up_nobody() {
        let (http, base) = (Http::default(), Url::parse("http://127.0.0.1:1/v1/").expect("a URL"));
        let relay = Relay::open(&http, &base, None, Bounds::default(), Map::new()).await.expect("a relay");
        let mut strangers = Vec::new();
        for says in
            ["", "POST /", "GET /v1/ HTTP/1.1\r\n\r\n", "POST /guessed/v1/ HTTP/1.1\r\ncontent-length: 9\r\n\r\n"]
        {
            strangers.push(connect(&relay, says).await);
        }
        let path = relay.secret_path.clone();
        let known = format!("POST {path}/v1/chat HTTP/1.1\r\nx-of: genai\r\ncontent-length: 4\r\n\r\nbody");
        let _known = connect(&relay, &known).await;
        let (_, asked) =
            timeout(HEAD_TIMEOUT, relay.accept()).await.expect("no stranger's time is waited for").expect("it");
        assert_eq!((&*asked.target, &*asked.body), ("/v1/chat", &b"body"[..]));
        assert_eq!(asked.headers.get("x-of").map(HeaderValue::as_bytes), Some(&b"genai"[..]));
    }
}
