//! Who comes in: every request has a principal, or it is refused.

use std::{fmt, sync::Arc};

use tonic::{Extensions, Request, Status, metadata::MetadataMap, transport::server::UdsConnectInfo};

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// As the owner of sessions, and in records.
    pub name: Arc<str>,
    /// What its hooks may govern.
    pub governs: Governs,
}

/// What the hooks of a principal may govern, and which sessions it may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governs {
    /// The sessions that it owns.
    Own,
    /// All sessions of the server.
    Everything,
}

impl Principal {
    /// Whether this principal may see and govern a session of this owner.
    pub fn may(&self, owner: &str) -> bool {
        self.sees_all() || *self.name == *owner
    }

    /// Whether this principal may see and govern all sessions.
    pub fn sees_all(&self) -> bool {
        self.governs == Governs::Everything
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// How a listener knows who comes in.
#[derive(Debug, Clone)]
pub enum Door {
    /// By a bearer token.
    Token(Arc<Tokens>),
    /// By the credentials of the process at the other end of a Unix socket: the user that the server runs as.
    SameUser,
}

/// The tokens that open a door. Only their hashes are kept, and comparing them takes the same time for each.
#[derive(Debug, Clone)]
pub struct Tokens(Vec<(blake3::Hash, Principal)>);

impl Tokens {
    /// One token, for whoever has it.
    pub fn one(token: &str) -> Self {
        let principal = Principal { name: "token".into(), governs: Governs::Everything };
        Self(vec![(blake3::hash(token.trim().as_bytes()), principal)])
    }

    fn find(&self, token: &str) -> Option<&Principal> {
        let given = blake3::hash(token.as_bytes());
        self.0.iter().fold(None, |found, (hash, principal)| if *hash == given { Some(principal) } else { found })
    }
}

impl Door {
    /// Who this request comes from.
    pub(crate) fn admit(&self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let principal = match self {
            Self::Token(tokens) => by_token(tokens, request.metadata())?,
            Self::SameUser => by_user(request.extensions())?,
        };
        request.extensions_mut().insert(principal);
        Ok(request)
    }
}

fn by_token(tokens: &Tokens, metadata: &MetadataMap) -> Result<Principal, Status> {
    let refused = || Status::unauthenticated("send the token as metadata: `authorization: Bearer …`");
    let given = metadata.get("authorization").and_then(|value| value.to_str().ok()).ok_or_else(refused)?;
    let token = given.strip_prefix("Bearer ").ok_or_else(refused)?;
    tokens.find(token.trim()).cloned().ok_or_else(|| Status::unauthenticated("this token opens nothing here"))
}

fn by_user(extensions: &Extensions) -> Result<Principal, Status> {
    let peer = extensions.get::<UdsConnectInfo>().and_then(|info| info.peer_cred);
    let user = peer.map(|peer| peer.uid()).ok_or_else(|| Status::unauthenticated("nobody knows who you are"))?;
    if user != rustix::process::geteuid().as_raw() {
        return Err(Status::permission_denied("this socket is for the user that the server runs as"));
    }
    Ok(Principal { name: format!("user {user}").into(), governs: Governs::Everything })
}

/// Who a request was admitted as.
pub(crate) fn principal<T>(request: &Request<T>) -> Result<Principal, Status> {
    request.extensions().get().cloned().ok_or_else(|| Status::unauthenticated("nobody let you in"))
}
