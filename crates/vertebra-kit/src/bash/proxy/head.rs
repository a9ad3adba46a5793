//! The head of a request to the proxy: where it wants to go, and how.

use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How long a head may be.
const BYTES: usize = 64 * 1024;

/// The longest name of a host.
const HOST: usize = 255;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// A name in lower case without a dot at its end, or an address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Target {
    /// Parses `host:port`, `host` and `[address]:port`.
    pub(super) fn parse(text: &str, default: Option<u16>) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':'))
            }
            None => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().ok()?,
            None => default?,
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
        (!host.is_empty() && host.len() <= HOST && host.bytes().all(plain)).then_some(Self { host, port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) target: Target,
    /// Whether it asks for a tunnel (`CONNECT`) and not for a page.
    pub(super) is_tunnel: bool,
    pub(super) method: String,
    /// What is asked for, without the host.
    pub(super) path: String,
    /// The lines that go on to the server.
    pub(super) fields: Vec<String>,
    /// How long the body is.
    pub(super) body: u64,
    /// What came after the head.
    pub(super) rest: Vec<u8>,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Head {
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = bytes.split_off(end + 4);
                return Self::parse(&bytes[..end], rest);
            }
            if bytes.len() > BYTES {
                return Err(wrong("the head of the request is too long"));
            }
            if from.read_buf(&mut bytes).await? == 0 {
                return Err(wrong("the request ends in its head"));
            }
        }
    }

    fn parse(head: &[u8], rest: Vec<u8>) -> io::Result<Self> {
        let text = std::str::from_utf8(head).map_err(|_| wrong("the head of the request is not text"))?;
        if text.bytes().any(|byte| byte == 0) || text.replace("\r\n", "").contains(['\r', '\n']) {
            return Err(wrong("the head of the request contains control characters"));
        }
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(asked), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(wrong("the first line is not that of a request"));
        };
        if !version.starts_with("HTTP/1.")
            || method.is_empty()
            || !method.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            return Err(wrong("the first line is not that of a request"));
        }
        let is_tunnel = method == "CONNECT";
        let (target, path) = if is_tunnel {
            (Target::parse(asked, None), String::new())
        } else {
            let rest = asked.strip_prefix("http://").ok_or_else(|| wrong("this is a proxy: name a whole URL"))?;
            let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            (Target::parse(authority, Some(80)), path)
        };
        let target = target.ok_or_else(|| wrong("the host of the request cannot be understood"))?;
        let (mut fields, mut body) = (Vec::new(), None);
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| wrong("a line of the head has no colon"))?;
            match &*name.to_ascii_lowercase() {
                // The body has to have an end that is known.
                "transfer-encoding" if !is_tunnel => return Err(wrong("the body of the request has no length")),
                "content-length" => {
                    let length = value.trim().parse().map_err(|_| wrong("the length of the body is no number"))?;
                    if body.replace(length).is_some_and(|before| before != length) {
                        return Err(wrong("the body has two lengths"));
                    }
                    fields.push(line.to_owned());
                }
                "connection" | "keep-alive" | "proxy-connection" | "proxy-authorization" | "upgrade" | "host" => {}
                _ => fields.push(line.to_owned()),
            }
        }
        let body = body.unwrap_or(0);
        Ok(Self { target, is_tunnel, method: method.to_owned(), path, fields, body, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn head(text: &str) -> Result<Head, String> {
        Head::read(&mut text.as_bytes()).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn tunnels_and_pages_are_understood() {
        let tunnel = head("CONNECT Example.org.:443 HTTP/1.1\r\nHost: other.org\r\n\r\nrest").await.expect("a head");
        assert_eq!(
            (tunnel.target.to_string(), tunnel.is_tunnel, &*tunnel.rest),
            ("example.org:443".to_owned(), true, &b"rest"[..])
        );
        let page =
            "POST http://example.org?q HTTP/1.1\r\nContent-Length: 2\r\nProxy-Authorization: x\r\nA: b\r\n\r\nok";
        let page = head(page).await.expect("a head");
        assert_eq!((page.target.to_string(), &*page.path, page.body), ("example.org:80".to_owned(), "/?q", 2));
        assert_eq!(page.fields, ["Content-Length: 2", "A: b"]);
    }

    #[tokio::test]
    async fn what_two_programs_could_read_differently_is_refused() {
        for text in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT good.org@evil.org:443 HTTP/1.1\r\n\r\n",
            "GET http://good.org@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\nHost: b\r\n\r\n",
            "GET http://a.org/ x HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://a.org/",
        ] {
            assert!(head(text).await.is_err(), "{text}");
        }
        assert!(head(&"x".repeat(BYTES * 2)).await.is_err());
    }
}
