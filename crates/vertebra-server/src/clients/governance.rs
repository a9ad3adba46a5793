//! Whose hooks govern a session.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::{Agent, AnyPoint, RegisterError};
use vertebra_bridge::settings::Stand;

use super::{Client, ClientKey, Governed, client::Hooked};
use crate::{
    Made,
    door::{Governs, Principal},
};

/// The agent of a session, and which of its hooks are whose.
pub(crate) struct Governance {
    pub(crate) agent: Agent,
    /// Who opened the session.
    pub(crate) owner: Arc<str>,
    hooks: Mutex<HashMap<String, ClientKey>>,
    /// What the agent needs to be there.
    _besides: Box<dyn Any + Send + Sync>,
}

/// Why the hooks of a client cannot govern a session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GovernError {
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The hook would never run, although its client expects it to.
    #[error("hook `{hook}` is for another point {point} than the one of this session: both must declare it alike")]
    OtherPoint { hook: String, point: &'static str },
}

impl Governance {
    pub(crate) fn new(made: Made, owner: Arc<str>) -> Self {
        Self { agent: made.agent, owner, hooks: Mutex::default(), _besides: made.besides }
    }

    /// Puts the hooks of a client in force that are meant for this session, in place of those that were. One that is not
    /// open yet has no name.
    pub(super) fn put(&self, client: &Arc<Client>, session: Option<&str>) -> Result<(), GovernError> {
        let mut whose = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.agent.hooks();
        let meant: Vec<Hooked> = client.hooks();
        let meant: Vec<Hooked> =
            meant.into_iter().filter(|one| self.is_meant(&one.governs, &client.principal, session)).collect();
        let points: Vec<AnyPoint> = self.agent.points().iter().collect();
        let is_other = |one: &&Hooked| {
            !points.contains(&one.stand.point) && points.iter().any(|point| point.name == one.stand.point.name)
        };
        if let Some(one) = meant.iter().find(is_other) {
            let Stand { name, point, .. } = &*one.stand;
            return Err(GovernError::OtherPoint { hook: name.clone(), point: point.row().name });
        }
        // A point that the agent does not know is never fired in it.
        let meant: Vec<Hooked> = meant.into_iter().filter(|one| points.contains(&one.stand.point)).collect();
        let is_own = |name: &str| whose.get(name) == Some(&client.key);
        let set = client.set(&meant, |name| !is_own(name) && all.get(name).is_some());
        let bundle = client.key.to_string();
        match (whose.values().any(|key| *key == client.key), set.is_empty()) {
            (false, true) => return Ok(()),
            (false, false) => all.install(set.together(bundle))?,
            (true, false) => all.replace(&bundle, set.together(bundle.as_str()))?,
            (true, true) => all.remove(&bundle)?,
        }
        whose.retain(|_, key| *key != client.key);
        whose.extend(meant.iter().map(|one| (one.stand.name.clone(), client.key.clone())));
        Ok(())
    }

    /// Whose hook this is, if it is a client's.
    pub(crate) fn whose(&self, name: &str) -> Option<ClientKey> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether a client governs anything here.
    pub(crate) fn is_governed_by(&self, client: &Client) -> bool {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).values().any(|key| *key == client.key)
    }

    /// Whether a hook of this principal holds here; a session that is not open yet has no name.
    pub(super) fn is_meant(&self, governed: &Governed, principal: &Principal, session: Option<&str>) -> bool {
        match governed {
            Governed::Own => principal.name == self.owner,
            Governed::Session(id) => session == Some(&**id) && principal.may(&self.owner),
            Governed::Everything => principal.governs == Governs::Everything,
        }
    }
}
