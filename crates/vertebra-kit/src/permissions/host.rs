//! `WebFetch(domain:…)`: host patterns, and the host of a URL.

use super::rule::Wrong;

/// A host, or with `*.` all its subdomains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    host: String,
    below: bool,
}

impl HostPattern {
    pub(super) fn new(text: &str) -> Result<Self, Wrong> {
        let named = text.strip_prefix("domain:").map(str::trim);
        let (below, host) = match named.unwrap_or_default().strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, named.unwrap_or_default()),
        };
        if is_host(host) {
            return Ok(Self { host: host.to_ascii_lowercase(), below });
        }
        let bare = text.trim_start_matches("domain:").trim();
        let host = host_of(bare).or_else(|| is_host(bare).then(|| bare.to_owned()));
        let host = host.unwrap_or_else(|| "example.org".to_owned());
        Err(Wrong::new("a host needs the prefix `domain:`", format!("write `WebFetch(domain:{host})`")))
    }

    pub(super) fn holds(&self, host: &str) -> bool {
        if self.below {
            return host.strip_suffix(self.host.as_str()).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.'));
        }
        host == self.host
    }
}

fn is_host(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    !text.is_empty() && !text.contains("//") && text.bytes().all(allowed)
}

/// Returns the host of a URL in lower case, or `None` if two programs could parse it differently.
pub(super) fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(&*scheme.to_ascii_lowercase(), "http" | "https") || url.contains(['\\', '\t', '\n', '\r', ' ']) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    // `https://trusted.org@evil.org/`: what stands before the sign is a name and a password.
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => host.split(':').next()?,
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    is_host(host).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_form_or_none() {
        let cases = [
            ("https://Example.org/x?y#z", Some("example.org")),
            ("http://example.org.:8080", Some("example.org")),
            ("https://good.org@evil.org/", Some("evil.org")),
            ("https://good.org:x@evil.org:1/", Some("evil.org")),
            ("https://[::1]:80/", Some("::1")),
            ("https://good.org\\@evil.org/", None),
            ("https://good.org\t.evil.org", None),
            ("//example.org", None),
            ("file:///etc/passwd", None),
            ("https://ex%61mple.org", None),
            ("https://exämple.org", None),
            ("https://", None),
        ];
        for (url, expected) in cases {
            assert_eq!(host_of(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_star_holds_below_a_host_and_not_for_itself() {
        let cases = [
            ("domain:example.org", "example.org", true),
            ("domain:example.org", "www.example.org", false),
            ("domain:example.org", "badexample.org", false),
            ("domain:*.example.org", "www.example.org", true),
            ("domain:*.example.org", "a.b.example.org", true),
            ("domain:*.example.org", "example.org", false),
            ("domain:*.example.org", "badexample.org", false),
            ("domain: Example.ORG", "example.org", true),
        ];
        for (pattern, host, expected) in cases {
            let Ok(compiled) = HostPattern::new(pattern) else { panic!("{pattern}") };
            assert_eq!(compiled.holds(host), expected, "{pattern} {host}");
        }
    }
}
