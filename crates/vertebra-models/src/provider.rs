//! Providers: whose models can be asked, and where.

/// The wire format that a provider speaks.
pub use genai::adapter::AdapterKind as Adapter;

/// A provider of models, or a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its name in configuration and on the command line: `anthropic`.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Environment variables that may hold its key, in order.
    pub keys: &'static [&'static str],
    /// The wire format it speaks.
    pub adapter: Adapter,
    /// Where it is, ending in `/`.
    pub base_url: &'static str,
    /// The port it usually answers on, if it runs on this machine.
    pub port: Option<u16>,
    /// The model that is asked unless another is named.
    pub default_model: Option<&'static str>,
    /// Whether it runs on this machine and wants no key.
    pub local: bool,
}
