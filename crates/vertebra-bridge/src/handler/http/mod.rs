//! `http`: an address that events are posted to.

mod address;

use std::{
    collections::BTreeMap,
    sync::OnceLock,
    time::{Duration, Instant},
};

use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect::Policy,
};
use tokio::time::timeout;

use super::{Answered, Ask, BoxFuture, Handler, HandlerError, process::MAX_OUTPUT};
use crate::{
    settings::Contract,
    wire::{End, Exchange},
};

/// An address that events are posted to. No redirect is followed, and no proxy is asked that the environment happens to
/// name. Unless it is told so, it reaches nothing on this machine or in a private network, whatever the name says.
pub struct Http {
    url: Url,
    headers: HeaderMap,
    private: bool,
    contract: Contract,
    /// Made when it is first needed: it reads the certificates of the machine.
    client: OnceLock<Client>,
}

impl Http {
    /// This address, with these headers; `private` lets it be on this machine or in its network.
    pub fn new(url: &str, headers: &BTreeMap<String, String>, private: bool) -> Result<Self, HandlerError> {
        let wrong = |message: &str| HandlerError::Address { url: url.to_owned(), message: message.to_owned() };
        let mut parsed = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            // Not by us, who tell the agent of it.
            let _ = parsed.set_username("").and_then(|()| parsed.set_password(None));
            let message = "a name or password in an address is shown to many: put it into a header".to_owned();
            return Err(HandlerError::Address { url: parsed.to_string(), message });
        }
        match parsed.scheme() {
            "https" => {}
            "http" if private => {}
            "http" => {
                return Err(wrong("without TLS anybody on the way reads along: write `https`, or `private = true`"));
            }
            _ => return Err(wrong("it begins with neither `https://` nor `http://`")),
        }
        let literal = parsed.host_str().map(|host| host.trim_matches(['[', ']'])).and_then(|host| host.parse().ok());
        if let (Some(literal), false) = (literal, private)
            && !vertebra_kit::is_public(literal)
        {
            return Err(wrong("the address is private: set `private = true` to allow it"));
        }
        let headers = headers.iter().map(pair).collect::<Result<_, _>>()?;
        Ok(Self { url: parsed, headers, private, contract: Contract::Vertebra, client: OnceLock::new() })
    }

    /// What goes over is of this contract.
    #[must_use]
    pub(super) fn speaking(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// Posts a JSON document and reads the answer, all within the limit.
    pub async fn exchange(&self, body: Vec<u8>, limit: Duration) -> Exchange {
        let began = Instant::now();
        let mut answer = Vec::new();
        let mut end = match timeout(limit, self.post(body, &mut answer)).await {
            Ok(end) => end,
            Err(_) => End::TimedOut { after: limit },
        };
        if end == End::Answered && std::str::from_utf8(&answer).is_err() {
            end = End::NotText { exit_code: None };
        }
        let stdout = String::from_utf8_lossy(&answer).into_owned();
        Exchange { handler: self.url.to_string(), end, stdout, stderr: String::new(), took: began.elapsed() }
    }

    async fn post(&self, body: Vec<u8>, answer: &mut Vec<u8>) -> End {
        let failed = |message: String| End::Failed { message };
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return failed(told(&error)),
        };
        let request = client.post(self.url.clone()).headers(self.headers.clone());
        let mut response = match request.header(CONTENT_TYPE, "application/json").body(body).send().await {
            Ok(response) => response,
            Err(error) => return failed(told(&error)),
        };
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            return failed(format!("it redirects to {}, which is not followed", to.escape_debug()));
        }
        match read(&mut response, answer).await {
            Ok(true) if status.is_success() => End::Answered,
            Ok(true) => failed(format!("it answered with HTTP status {status}")),
            Ok(false) => End::TooLarge { limit: MAX_OUTPUT },
            Err(error) => failed(told(&error)),
        }
    }

    fn client(&self) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The client takes the provider of the process. If somebody has chosen one already, theirs is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder().no_proxy().redirect(Policy::none()).tcp_nodelay(true);
        if !self.private {
            client = client.dns_resolver(address::PublicOnly);
        }
        let client = client.build()?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl Handler for Http {
    fn shown(&self) -> String {
        self.url.to_string()
    }

    fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        self.contract.fits(point)
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move { self.contract.put(&ask, self.shown(), |event| self.exchange(event, ask.limit)).await })
    }
}

/// Reads the whole answer; false if it is longer than anybody reads.
async fn read(response: &mut Response, answer: &mut Vec<u8>) -> Result<bool, reqwest::Error> {
    while let Some(piece) = response.chunk().await? {
        let room = MAX_OUTPUT - answer.len();
        answer.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok(false);
        }
    }
    Ok(true)
}

fn pair((name, value): (&String, &String)) -> Result<(HeaderName, HeaderValue), HandlerError> {
    let wrong = |message: &str| HandlerError::Header { header: name.clone(), message: message.to_owned() };
    let header = HeaderName::try_from(name).map_err(|_| wrong("invalid header name"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| wrong("its value has characters that no header has"))?;
    value.set_sensitive(true);
    Ok((header, value))
}

/// Headers with their variables filled in. Only those count that the hook names, and each of them has to be there.
pub(super) fn filled(
    headers: &BTreeMap<String, String>,
    named: &[String],
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, HandlerError> {
    let fill = |(header, text): (&String, &String)| {
        let wrong = |message| HandlerError::Header { header: header.clone(), message };
        let mut filled = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            let (name, beyond) = variable(after).ok_or_else(|| wrong(format!("`${after}` names no variable")))?;
            if !named.iter().any(|known| known == name) {
                return Err(wrong(format!("`${name}` is not named by the hook: write `env = [\"{name}\"]`")));
            }
            let unset = || HandlerError::Unset { header: header.clone(), variable: name.to_owned() };
            let value = variables.get(name).ok_or_else(unset)?;
            filled.push_str(value);
            rest = beyond;
        }
        filled.push_str(rest);
        Ok((header.clone(), filled))
    };
    headers.iter().map(fill).collect()
}

/// The name at the beginning, bare or in braces, and what comes after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at(text.find(|c: char| !is_of_name(c)).unwrap_or(text.len())),
    };
    (!name.is_empty() && name.chars().all(is_of_name)).then_some((name, rest))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// An error with what caused it, without the address that everybody knows.
fn told(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_header_is_filled_with_variables_that_the_hook_names_and_no_others() {
        let variables = map(&[("TOKEN", "s3cret"), ("OTHER", "x")]);
        let fill = |text| filled(&map(&[("authorization", text)]), &["TOKEN".to_owned()], &variables);
        assert_eq!(fill("Bearer $TOKEN!").map(|filled| filled["authorization"].clone()), Ok("Bearer s3cret!".into()));
        assert_eq!(fill("${TOKEN}s").map(|filled| filled["authorization"].clone()), Ok("s3crets".into()));
        let problem = |text| fill(text).expect_err(text).to_string();
        let other =
            "the header `authorization` cannot be sent: `$OTHER` is not named by the hook: write `env = [\"OTHER\"]`";
        assert_eq!(problem("$OTHER"), other);
        assert!(problem("costs 5 $").ends_with("`$` names no variable"), "{}", problem("costs 5 $"));
    }

    #[test]
    fn an_address_that_is_not_public_or_has_no_tls_is_an_error_when_it_is_read() {
        let problem = |url: &str| Http::new(url, &BTreeMap::new(), false).err().map(|error| error.to_string());
        for url in [
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/meta-data",
        ] {
            assert!(problem(url).is_some_and(|problem| problem.contains("`private = true`")), "{url}");
        }
        assert!(problem("http://example.org/").is_some_and(|problem| problem.contains("without TLS")));
        assert!(problem("ftp://example.org/").is_some_and(|problem| problem.contains("neither")));
        assert!(problem("https://me:pw@example.org/").is_some_and(|problem| problem.contains("header")));
        assert_eq!(problem("https://example.org/hook"), None);
    }
}
