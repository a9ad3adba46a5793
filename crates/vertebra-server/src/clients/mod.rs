//! Clients with hooks: who is there, who was, and which sessions each governs.

mod client;
mod governance;
mod outbox;
mod remote;
mod spec;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tonic::Status;
use vertebra::{HookSet, RegisterError};
use vertebra_bridge::settings::Stand;

use self::{
    client::Hooked,
    remote::stand_in,
    spec::{Governed, read_scope, read_stand},
};
pub(crate) use self::{
    client::{Client, Link},
    governance::Governance,
    outbox::{Outbox, outbox},
    spec::to_json,
};
use crate::{
    door::Principal,
    limits::Limits,
    metrics::Exchanges,
    proto::{HookInfo, Register, Role},
    sessions::Live,
};

/// The clients that are there, and those that may come back.
#[derive(Default)]
pub(crate) struct Clients {
    all: Mutex<HashMap<ClientKey, Arc<Client>>>,
    /// What became of events for them.
    pub(crate) exchanges: Exchanges,
}

/// Whose client, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    pub(crate) principal: Arc<str>,
    pub(crate) client_id: Arc<str>,
}

impl Clients {
    /// A client comes, or comes back. Whoever was there under the same name is no longer heard.
    pub(crate) fn attach(
        &self,
        principal: Principal,
        client_id: &str,
        out: Outbox,
        limits: &Limits,
    ) -> Result<(Arc<Client>, Link, bool), Status> {
        let key = ClientKey { principal: principal.name.clone(), client_id: client_id.into() };
        let mut all = self.lock();
        if !all.contains_key(&key) && all.len() >= limits.clients {
            return Err(Status::resource_exhausted(format!("{} clients have hooks here already", limits.clients)));
        }
        let known = all.contains_key(&key);
        let new = || Client::new(key.clone(), principal, limits, self.exchanges.clone());
        let client = all.entry(key.clone()).or_insert_with(new).clone();
        let link = client.link(out);
        Ok((client, link, known))
    }

    /// A client that was lost for too long is known no more, unless it came back just now. What it governs stays governed.
    pub(crate) fn forget(&self, client: &Client) -> bool {
        let mut all = self.lock();
        !client.is_there() && all.remove(&client.key).is_some()
    }

    /// Every client that is known.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    /// Puts the hooks of all clients that govern a session in force in it. One that is not open yet has no name.
    pub(crate) fn govern(&self, governance: &Governance, session: Option<&str>) -> Result<(), RegisterError> {
        for client in self.all() {
            for hooked in client.hooks() {
                if governance.is_meant(&hooked.governs, &client.principal, session) {
                    governance.put(&client, &hooked)?;
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientKey, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A role, as clients know it.
pub(crate) fn role(role: vertebra::Role) -> Role {
    match role {
        vertebra::Role::Guard => Role::Guard,
        vertebra::Role::Watch => Role::Watch,
        vertebra::Role::Hook | vertebra::Role::Around => Role::Hook,
    }
}

impl Client {
    /// Registers a hook: in the sessions that it governs, and for those to come.
    pub(crate) fn register<'s>(
        self: &Arc<Self>,
        register: Register,
        lives: impl Iterator<Item = &'s Arc<Live>> + Clone,
    ) -> Result<(), String> {
        let hook = register.hook.unwrap_or_default();
        let stand = read_stand(hook, &self.key.client_id)?;
        let governs = read_scope(register.scope, &self.principal)?;
        let hooked = Hooked { stand: stand.into(), governs };
        let is_meant = |live: &&Arc<Live>| live.governance.is_meant(&hooked.governs, &self.principal, Some(&live.id));
        let governed = lives.filter(is_meant);
        if let Governed::Session(id) = &hooked.governs
            && governed.clone().next().is_none()
        {
            return Err(format!("there is no open session `{id}` that you may govern"));
        }
        self.keep(&hooked)?;
        let mut put: Vec<&Arc<Live>> = Vec::new();
        for live in governed {
            if let Err(error) = live.governance.put(self, &hooked) {
                for live in put {
                    live.governance.take(self, &hooked.stand.name);
                }
                self.drop_hook(&hooked.stand.name);
                return Err(format!("session {}: {error}", live.id));
            }
            put.push(live);
        }
        self.put_again(&hooked.stand.name);
        Ok(())
    }

    /// Takes a hook out of every session.
    pub(crate) fn unregister<'s>(&self, name: &str, lives: impl Iterator<Item = &'s Arc<Live>>) -> Result<(), String> {
        if !self.drop_hook(name) {
            return Err(format!("this client has no hook `{name}`"));
        }
        lives.for_each(|live| live.governance.take(self, name));
        Ok(())
    }

    /// A hook of this client as a set for an agent.
    fn set(self: &Arc<Self>, hooked: &Hooked) -> HookSet {
        stand_in(self, &hooked.stand)
    }

    /// All its hooks, by themselves: what they are to run before or after counts where it is one of them.
    pub(crate) fn sets(self: &Arc<Self>) -> HookSet {
        let hooks = self.hooks();
        let own = |names: &[String]| -> Vec<String> {
            names.iter().filter(|name| hooks.iter().any(|other| other.stand.name == **name)).cloned().collect()
        };
        let mut set = HookSet::new();
        for hooked in &hooks {
            let stand = Stand {
                before: own(&hooked.stand.before),
                after: own(&hooked.stand.after),
                ..Stand::clone(&hooked.stand)
            };
            set.append(stand_in(self, &stand.into()));
        }
        set
    }

    /// Its hooks, as clients see them.
    pub(crate) fn told(&self) -> Vec<HookInfo> {
        let told = |Hooked { stand, .. }: Hooked| HookInfo {
            name: stand.name.clone(),
            point: stand.point.to_owned(),
            role: role(stand.role).into(),
            priority: stand.priority,
            client_id: self.key.client_id.to_string(),
            enabled: true,
        };
        self.hooks().into_iter().map(told).collect()
    }
}
