//! Clients with hooks: who is there, who was, and which sessions each governs.

mod client;
mod governance;
mod outbox;
mod rate;
mod remote;
mod spec;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tonic::Status;
use vertebra::{HookSet, Hooks, Points};
use vertebra_bridge::settings::Stand;

use self::{
    client::Hooked,
    remote::stand_in,
    spec::{Governed, read_scope, read_stand},
};
pub(crate) use self::{
    client::{Client, Link},
    governance::{GovernError, Governance},
    outbox::{Outbox, outbox},
    rate::Rates,
    spec::to_json,
};
use crate::{
    door::Principal,
    limits::Limits,
    metrics::Exchanges,
    proto::{Register, Role},
    sessions::Live,
};

/// The clients that are there, and those that may come back.
#[derive(Default)]
pub(crate) struct Clients {
    known: Mutex<Known>,
    /// What became of events for them.
    pub(crate) exchanges: Exchanges,
}

#[derive(Default)]
struct Known {
    /// Those whose hooks govern sessions to come, in the order they came.
    here: Vec<Arc<Client>>,
    /// Those that were lost for too long. Where their hooks stand they stay, and whoever comes back finds them all.
    away: Vec<Weak<Client>>,
}

impl Known {
    /// The client of this name, if it is here, or if something that is away still governs a session.
    fn find(&mut self, key: &ClientKey) -> Option<Arc<Client>> {
        if let Some(here) = self.here.iter().find(|client| client.key == *key) {
            return Some(here.clone());
        }
        let back = self.away.iter().filter_map(Weak::upgrade).find(|client| client.key == *key)?;
        self.away.retain(|client| !std::ptr::eq(client.as_ptr(), Arc::as_ptr(&back)));
        self.here.push(back.clone());
        Some(back)
    }

    /// How many there are, here and away.
    fn count(&mut self) -> usize {
        self.away.retain(|client| client.strong_count() > 0);
        self.here.len() + self.away.len()
    }
}

/// Whose client, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    pub(crate) principal: Arc<str>,
    pub(crate) client_id: Arc<str>,
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} of {}", self.client_id, self.principal)
    }
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
        let mut known = self.lock();
        let found = known.find(&key);
        if found.is_none() && known.count() >= limits.clients {
            return Err(Status::resource_exhausted(format!("{} clients have hooks here already", limits.clients)));
        }
        let is_known = found.is_some();
        let client = found.unwrap_or_else(|| {
            let client = Client::new(key, principal, limits, self.exchanges.clone());
            known.here.push(client.clone());
            client
        });
        let link = client.link(out);
        Ok((client, link, is_known))
    }

    /// A client that was lost for too long governs no session to come, unless it came back just now. What it governs stays
    /// governed, and as long as anything is, it is the same client that comes back.
    pub(crate) fn forget(&self, client: &Arc<Client>) -> bool {
        let mut known = self.lock();
        let Some(at) = known.here.iter().position(|other| Arc::ptr_eq(other, client)) else { return false };
        if client.is_there() {
            return false;
        }
        known.here.remove(at);
        known.away.push(Arc::downgrade(client));
        true
    }

    /// Every client that is here, in the order they came: that of their hooks, where nothing else orders them.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().here.clone()
    }

    /// Puts the hooks of all clients that govern a session in force in it. One that is not open yet has no name.
    pub(crate) fn govern(&self, governance: &Governance, session: Option<&str>) -> Result<(), GovernError> {
        self.all().iter().try_for_each(|client| governance.put(client, session))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Registers a hook: in the sessions that it governs, and for those to come. It may be ordered by hooks
    /// of this client, and by the hooks that a session already has: `others`. It may be at one of these points.
    pub(crate) fn register(
        self: &Arc<Self>,
        register: Register,
        lives: &[Arc<Live>],
        others: &[&Hooks],
        points: &Points,
    ) -> Result<(), String> {
        let stand = read_stand(register.hook.unwrap_or_default(), &self.key.client_id, points)?;
        let hooked = Hooked { stand: stand.into(), governs: read_scope(register.scope, &self.principal)? };
        let is_meant = |live: &&Arc<Live>| live.governance.is_meant(&hooked.governs, &self.principal, Some(&live.id));
        if let Governed::Session(id) = &hooked.governs
            && !lives.iter().any(|live| is_meant(&live))
        {
            return Err(format!("there is no open session `{id}` that you may govern"));
        }
        let (before, mut after) = (self.hooks(), self.hooks());
        for (word, name) in hooked.stand.constraints() {
            let is_own = before.iter().any(|own| own.stand.name == *name && own.stand.point == hooked.stand.point);
            if !is_own && !others.iter().any(|others| others.get(name).is_some()) {
                let Stand { name: own, point, .. } = &*hooked.stand;
                return Err(format!("`{own}` is to run {word} `{name}`, but no hook of that name is at {point}"));
            }
        }
        match after.iter_mut().find(|own| own.stand.name == hooked.stand.name) {
            Some(own) => *own = hooked,
            None => after.push(hooked),
        }
        self.put(before, after, lives)
    }

    /// Takes a hook out of every session.
    pub(crate) fn unregister(self: &Arc<Self>, name: &str, lives: &[Arc<Live>]) -> Result<(), String> {
        let before = self.hooks();
        let after: Vec<Hooked> = before.iter().filter(|own| own.stand.name != name).cloned().collect();
        if after.len() == before.len() {
            return Err(format!("this client has no hook `{name}`"));
        }
        self.put(before, after, lives)
    }

    /// Puts hooks in force in place of others: in all sessions, or in none.
    fn put(self: &Arc<Self>, before: Vec<Hooked>, after: Vec<Hooked>, lives: &[Arc<Live>]) -> Result<(), String> {
        self.set_hooks(after)?;
        for (at, live) in lives.iter().enumerate() {
            if let Err(error) = live.governance.put(self, Some(&live.id)) {
                self.set_hooks(before)?;
                for live in &lives[..at] {
                    // As it was, which was possible.
                    let _ = live.governance.put(self, Some(&live.id));
                }
                return Err(format!("session {}: {error}", live.id));
            }
        }
        Ok(())
    }

    /// These hooks as a set. What they are to run before or after counts where it is among them, or `is_there` already.
    pub(crate) fn set(self: &Arc<Self>, hooks: &[Hooked], is_there: impl Fn(&str) -> bool) -> HookSet {
        let known = |name: &&String| hooks.iter().any(|other| other.stand.name == **name) || is_there(name);
        let known = |names: &[String]| -> Vec<String> { names.iter().filter(known).cloned().collect() };
        let mut set = HookSet::new();
        for Hooked { stand, .. } in hooks {
            let (before, after) = (known(&stand.before), known(&stand.after));
            set.append(stand_in(self, &Stand { before, after, ..Stand::clone(stand) }.into()));
        }
        set
    }
}
