//! The proxies that the person has set up: where there is one, connections go through it.

use std::{fmt::Write as _, io};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::head::{Head, Target};

/// How long the answer of a proxy may be.
const ANSWER: usize = 16 * 1024;

/// The proxies of the person, as their environment names them.
#[derive(Debug, Clone, Default)]
pub(in crate::bash) struct Upstream {
    /// For tunnels.
    https: Option<Proxy>,
    /// For pages.
    http: Option<Proxy>,
    /// Hosts that are reached without a proxy.
    without: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    at: Target,
    /// A name and a password, as they stand in a head.
    credentials: Option<String>,
}

impl Upstream {
    /// Reads the usual variables. `variable` gives the value of one.
    pub(in crate::bash) fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| variable(&name.to_ascii_lowercase()).or_else(|| variable(name));
        let named = |name: &str| {
            let value = either(name).or_else(|| either("ALL_PROXY"))?;
            Proxy::parse(value.trim())
        };
        let without = either("NO_PROXY").unwrap_or_default();
        let without = without.split(',').map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty());
        Self { https: named("HTTPS_PROXY"), http: named("HTTP_PROXY"), without: without.collect() }
    }

    /// The proxy for a connection, if there is one.
    pub(super) fn of(&self, target: &Target, is_tunnel: bool) -> Option<&Proxy> {
        let is_without = self.without.iter().any(|name| {
            let name = name.trim_start_matches("*.").trim_start_matches('.');
            name == "*" || target.host == name || target.host.strip_suffix(name).is_some_and(|sub| sub.ends_with('.'))
        });
        let proxy = if is_tunnel { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !is_without)
    }

    /// The head of a request for a page, as the server or the proxy before it reads it.
    pub(super) fn forwarded(&self, head: &Head) -> Vec<u8> {
        let Head { target, method, path, fields, .. } = head;
        let proxy = self.of(target, false);
        let mut text = match proxy {
            Some(_) => format!("{method} http://{target}{path} HTTP/1.1\r\n"),
            None => format!("{method} {path} HTTP/1.1\r\n"),
        };
        let host = if target.port == 80 { target.host.clone() } else { target.to_string() };
        _ = write!(text, "Host: {host}\r\nConnection: close\r\n");
        if let Some(credentials) = proxy.and_then(|proxy| proxy.credentials.as_ref()) {
            _ = write!(text, "Proxy-Authorization: Basic {credentials}\r\n");
        }
        for field in fields {
            _ = write!(text, "{field}\r\n");
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

impl Proxy {
    /// `http://user:password@host:port`. Other kinds are not understood.
    fn parse(text: &str) -> Option<Self> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let rest = rest.split('/').next().unwrap_or(rest);
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let credentials = user.map(|user| base64(&unescaped(user)));
        Some(Self { at: Target::parse(host, Some(80))?, credentials })
    }

    /// Connects to the proxy, and through it to a host if a tunnel is wanted.
    pub(super) async fn connect(&self, target: &Target, is_tunnel: bool) -> io::Result<TcpStream> {
        let mut proxy = TcpStream::connect((&*self.at.host, self.at.port)).await?;
        if !is_tunnel {
            return Ok(proxy);
        }
        let credentials = self.credentials.as_ref();
        let credentials = credentials.map(|text| format!("Proxy-Authorization: Basic {text}\r\n")).unwrap_or_default();
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n");
        proxy.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        // Byte by byte: what follows belongs to the tunnel.
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() > ANSWER {
                return Err(io::Error::other("the answer of your proxy is too long"));
            }
            answer.push(proxy.read_u8().await?);
        }
        let answer = String::from_utf8_lossy(&answer);
        let first = answer.lines().next().unwrap_or_default();
        match first.split(' ').nth(1) {
            Some("200") => Ok(proxy),
            _ => Err(io::Error::other(format!("your proxy answered `{first}`"))),
        }
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        if let Some(escaped) = escaped.filter(|_| *byte == b'%') {
            bytes.push(escaped);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let number =
            piece.iter().chain([&0, &0]).take(3).fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        for at in 0..4 {
            let letter = LETTERS[number >> (18 - 6 * at) & 63];
            text.push(if at <= piece.len() { letter.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxies_of_the_person_are_read_from_the_usual_variables() {
        let upstream = Upstream::new(|name| match name {
            "HTTPS_PROXY" => Some("http://me:a%40b@proxy.corp:3128/".to_owned()),
            "http_proxy" => Some("proxy.corp".to_owned()),
            "no_proxy" => Some("corp, .internal".to_owned()),
            _ => None,
        });
        let target = |host: &str| Target { host: host.to_owned(), port: 443 };
        let https = upstream.of(&target("example.org"), true).expect("a proxy");
        assert_eq!(
            (https.at.to_string(), https.credentials.as_deref()),
            ("proxy.corp:3128".to_owned(), Some("bWU6YUBi"))
        );
        assert_eq!(upstream.of(&target("example.org"), false).expect("a proxy").at.port, 80);
        for host in ["corp", "git.corp", "a.internal"] {
            assert_eq!(upstream.of(&target(host), true), None, "{host}");
        }
        assert!(upstream.of(&target("notcorp"), true).is_some());
        assert_eq!(Proxy::parse("socks5://x:1"), None);
    }

    #[test]
    fn credentials_are_written_as_heads_have_them() {
        for (plain, written) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(plain.as_bytes()), written);
        }
    }
}
