//! The network that one command gets: a private one, with a proxy and forwarded ports if people granted some, or that of
//! this machine, as far as the supervisor lets connections pass.

use std::{ffi::OsString, sync::Arc};

use vertebra::ToolError;

use super::{
    Bash,
    grants::Granted,
    packages,
    proxy::{Forward, Proxy, Upstream},
    sandbox::{Need, Network as Reached, Private},
};

impl Bash {
    /// The private network of a session; if there is none, why.
    pub(super) async fn private_network(&self, session: &str) -> Result<Arc<Private>, String> {
        match self.sandbox.keeper() {
            Some(launcher) => self.grants.networks.of(session, &launcher).await,
            None => Err(String::new()),
        }
    }
}

/// The network of one command. What was opened for the command is closed when this is dropped.
pub(super) struct Network {
    /// The private network of the session, if the command is in it.
    pub(super) private: Option<Arc<Private>>,
    /// Why it is not, if it should be.
    pub(super) none: Option<String>,
    proxy: Option<Proxy>,
    forwards: Vec<Forward>,
}

impl Network {
    /// Opens what was granted.
    pub(super) async fn open(bash: &Bash, session: &str, granted: &Granted) -> Result<Self, ToolError> {
        let mut opened = Self { private: None, none: None, proxy: None, forwards: Vec::new() };
        if granted.network == Reached::On || bash.sandbox.need == Need::Off {
            return Ok(opened);
        }
        let private = match bash.private_network(session).await {
            Ok(private) => private,
            Err(why) => {
                opened.none = Some(why.clone());
                return opened.without(granted, &why);
            }
        };
        let failed = |what: String| move |error| ToolError::new(format!("{what} cannot be opened: {error}"));
        if let Reached::Domains(_) | Reached::Public = granted.network {
            let upstream = Upstream::new(|name| bash.environment.outside(name));
            let proxy = Proxy::start(&private, granted.network.clone(), upstream).await;
            opened.proxy = Some(proxy.map_err(failed("the proxy of the sandbox".to_owned()))?);
        }
        for port in &granted.ports {
            let forward = Forward::start(&private, *port).await;
            opened.forwards.push(forward.map_err(failed(format!("port {port} of this machine")))?);
        }
        opened.private = Some(private);
        Ok(opened)
    }

    /// What is left where there is no private network: the network is closed, or that of this machine. The supervisor knows
    /// addresses and ports, but no names.
    fn without(self, granted: &Granted, why: &str) -> Result<Self, ToolError> {
        let Reached::Domains(_) = granted.network else { return Ok(self) };
        let because = if why.is_empty() { String::new() } else { format!(" ({why})") };
        let text = format!(
            "a list of domains takes a network namespace, and there is none{because}; the network can be on, off, or all \
             public hosts (`network` in `needs`)"
        );
        Err(ToolError::new(text))
    }

    /// The variables by which package managers find the way out, or give up at once if there is none.
    pub(super) fn variables(&self, bash: &Bash, granted: &Granted) -> Vec<(OsString, OsString)> {
        match &self.proxy {
            Some(proxy) => packages::through(proxy.port),
            None if granted.network == Reached::Off && bash.sandbox.need != Need::Off => packages::without_network(),
            None => Vec::new(),
        }
    }

    /// The hosts that were refused.
    pub(super) fn refused(&self) -> Vec<String> {
        self.proxy.as_ref().map(Proxy::refused).unwrap_or_default()
    }
}
