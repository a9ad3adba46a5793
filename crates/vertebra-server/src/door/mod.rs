//! Who comes in: every request has a principal, or it is refused.

mod certificate;
mod file;
mod known;

use std::{fmt, sync::Arc};

use tonic::{
    Extensions, Request, Status, metadata::MetadataMap, service::Interceptor, transport::server::TlsConnectInfo,
};

pub(crate) use self::file::read_guarded;
pub use self::{
    file::{FileError, Secrecy},
    known::{Known, KnownError},
};
use crate::listen::Visit;

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
#[non_exhaustive]
pub enum Door {
    /// By a bearer token.
    Token(Arc<Known>),
    /// By the certificate that was shown when the connection began. Whoever is not known governs what it owns.
    Certificate(Arc<Known>),
    /// By the credentials of the process at the other end of a Unix socket: the user that the server runs as.
    SameUser,
    /// The same, and these users besides. They govern what they own.
    Users(Arc<[u32]>),
}

impl Door {
    /// Who this request comes from.
    fn principal(&self, request: &Request<()>) -> Result<Principal, Status> {
        match self {
            Self::Token(known) => by_token(known, request.metadata()),
            Self::Certificate(known) => by_certificate(known, request.extensions()),
            Self::SameUser => by_user(&[], request.extensions()),
            Self::Users(others) => by_user(others, request.extensions()),
        }
    }
}

/// Every request says who it comes from. The connection of one that was let in may stay.
impl Interceptor for Door {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let principal = self.principal(&request)?;
        if let Some(visit) = request.extensions().get::<Visit>() {
            visit.let_in();
        }
        request.extensions_mut().insert(principal);
        Ok(request)
    }
}

fn by_token(known: &Known, metadata: &MetadataMap) -> Result<Principal, Status> {
    let refused = || Status::unauthenticated("send the token as metadata: `authorization: Bearer …`");
    let given = metadata.get("authorization").and_then(|value| value.to_str().ok()).ok_or_else(refused)?;
    let token = given.strip_prefix("Bearer ").ok_or_else(refused)?;
    known.by_token(token.trim()).cloned().ok_or_else(|| Status::unauthenticated("this token opens nothing here"))
}

fn by_certificate(known: &Known, extensions: &Extensions) -> Result<Principal, Status> {
    let shown = extensions.get::<TlsConnectInfo<Visit>>().and_then(TlsConnectInfo::peer_certs);
    let first = shown.as_ref().and_then(|all| all.first());
    let first = first.ok_or_else(|| Status::unauthenticated("show a certificate when you connect"))?;
    let name = certificate::name(first).map_err(Status::permission_denied)?;
    Ok(known
        .by_certificate(&name)
        .cloned()
        .unwrap_or_else(|| Principal { name: format!("certificate {name}").into(), governs: Governs::Own }))
}

fn by_user(others: &[u32], extensions: &Extensions) -> Result<Principal, Status> {
    let user = extensions.get::<Visit>().and_then(Visit::user);
    let user = user.ok_or_else(|| Status::unauthenticated("nobody knows who you are"))?;
    let name = format!("user {user}").into();
    if user == rustix::process::geteuid().as_raw() {
        return Ok(Principal { name, governs: Governs::Everything });
    }
    if others.contains(&user) {
        return Ok(Principal { name, governs: Governs::Own });
    }
    Err(Status::permission_denied(format!("user {user} is not let in: start the server with `--allow-user {user}`")))
}

/// Who a request was admitted as.
pub(crate) fn principal<T>(request: &Request<T>) -> Result<Principal, Status> {
    request.extensions().get().cloned().ok_or_else(|| Status::unauthenticated("nobody let you in"))
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn comes(door: &Door, user: Option<u32>) -> Result<(String, Governs), Code> {
        let mut request = Request::new(());
        request.extensions_mut().insert(Visit::of(user));
        let principal = door.principal(&request).map_err(|status| status.code())?;
        Ok((principal.name.to_string(), principal.governs))
    }

    #[test]
    fn a_unix_socket_is_for_the_user_of_the_server_and_for_those_who_are_named() {
        let own = rustix::process::geteuid().as_raw();
        let (friend, stranger) = (own + 1, own + 2);
        let all = Ok((format!("user {own}"), Governs::Everything));
        assert_eq!(comes(&Door::SameUser, Some(own)), all);
        assert_eq!(comes(&Door::SameUser, Some(friend)), Err(Code::PermissionDenied));
        assert_eq!(comes(&Door::SameUser, None), Err(Code::Unauthenticated));
        let door = Door::Users([friend].into());
        assert_eq!(comes(&door, Some(own)), all);
        assert_eq!(comes(&door, Some(friend)), Ok((format!("user {friend}"), Governs::Own)));
        assert_eq!(comes(&door, Some(stranger)), Err(Code::PermissionDenied));
    }
}
