//! Whose hooks govern a session.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::{Agent, RegisterError};

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

impl Governance {
    pub(crate) fn new(made: Made, owner: Arc<str>) -> Self {
        Self { agent: made.agent, owner, hooks: Mutex::default(), _besides: made.besides }
    }

    /// Puts a hook of a client in force; one of the same client and name is replaced.
    pub(super) fn put(&self, client: &Arc<Client>, hooked: &Hooked) -> Result<(), RegisterError> {
        let name = &hooked.stand.name;
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if hooks.get(name) == Some(&client.key) {
            return self.agent.hooks().replace(name, client.set(hooked));
        }
        self.agent.hooks().install(client.set(hooked))?;
        hooks.insert(name.clone(), client.key.clone());
        Ok(())
    }

    /// Takes a hook of a client out.
    pub(super) fn take(&self, client: &Client, name: &str) {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if hooks.get(name) == Some(&client.key) {
            hooks.remove(name);
            // It is there: nobody else takes hooks of clients out.
            let _ = self.agent.hooks().remove(name);
        }
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
