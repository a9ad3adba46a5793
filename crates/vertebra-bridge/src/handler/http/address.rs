//! Name lookups that give only addresses of the public internet: not this machine, not its network, not the metadata of a
//! cloud.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use vertebra_kit::is_public;

/// Looks names up and gives only public addresses, so that what was checked is what is connected to.
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.iter().copied().filter(|found| is_public(found.ip())).collect();
            match (&*public, found.first()) {
                ([], Some(private)) => {
                    let (name, private) = (name.as_str(), private.ip());
                    Err(format!("`{name}` resolves to the private address {private}: set `private = true` to allow it")
                        .into())
                }
                _ => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}
