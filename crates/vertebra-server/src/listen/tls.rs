//! Connections that nobody else can read, and certificates of whoever comes.

use std::path::Path;

use rustls::crypto::ring;
use tonic::transport::{self, Certificate, Identity, Server, ServerTlsConfig};

use crate::door::{FileError, Secrecy, read_guarded};

/// What a server shows of itself, and which certificates it believes.
#[derive(Debug, Clone)]
pub struct Tls(ServerTlsConfig);

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is in them does not fit together.
    #[error("the certificate, the key or the certificate of who is believed cannot be used: {0}")]
    Content(String),
}

impl Tls {
    /// Reads the certificate of the server and its key. If there is a certificate of somebody who is believed, whoever
    /// comes has to show one that they have signed.
    pub fn read(certificate: &Path, key: &Path, believed: Option<&Path>) -> Result<Self, TlsError> {
        // Whoever was here first has chosen already.
        let _ = ring::default_provider().install_default();
        let identity =
            Identity::from_pem(read_guarded(certificate, Secrecy::Public)?, read_guarded(key, Secrecy::Secret)?);
        let mut config = ServerTlsConfig::new().identity(identity);
        if let Some(believed) = believed {
            config = config.client_ca_root(Certificate::from_pem(read_guarded(believed, Secrecy::Public)?));
        }
        let tls = Self(config);
        tls.cover(Server::builder()).map_err(|error| TlsError::Content(whole(&error)))?;
        Ok(tls)
    }

    pub(crate) fn cover<L>(&self, server: Server<L>) -> Result<Server<L>, transport::Error> {
        server.tls_config(self.0.clone())
    }
}

/// An error and why.
fn whole(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), whole)
}
