//! Our end of a connection: what we are to a server, and the ways to reach one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation},
    service::{NotificationContext, RunningService, serve_client},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};

use super::{config::Transport, process::Process};

/// How long one message of a server may be.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// What a server is told of us: our name, and that we can do nothing for it. It cannot ask our model or a person.
pub(super) struct Client {
    server: Arc<str>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("vertebra", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        tracing::warn!("MCP server `{}` has other tools now; connect again to see them", self.server);
    }
}

/// A connection that stands. Its process, if it has one, ends with it.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Client>,
    pub(super) process: Option<Process>,
}

impl Connection {
    /// Starts or reaches the server and greets it.
    pub(super) async fn open(server: &Arc<str>, transport: &Transport, limit: Duration) -> Result<Self, String> {
        let client = Client { server: server.clone() };
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                let started = Process::start(command, args, env, cwd.as_deref());
                let (process, output, input) = started.map_err(|error| format!("cannot start `{command}`: {error}"))?;
                let wire = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE_BYTES);
                match within(limit, serve_client(client, wire)).await {
                    Ok(service) => Ok(Self { service, process: Some(process) }),
                    Err(problem) => Err(format!("{problem}{}", process.last_words().await)),
                }
            }
            Transport::Http { url, headers } => {
                let wire = StreamableHttpClientTransport::with_client(http_client(limit)?, {
                    let mut config = StreamableHttpClientTransportConfig::with_uri(&**url);
                    config.custom_headers = parsed(headers.iter())?;
                    config.max_sse_event_size = MAX_MESSAGE_BYTES;
                    config
                });
                let service = within(limit, serve_client(client, wire)).await?;
                Ok(Self { service, process: None })
            }
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }
}

/// Waits so long and no longer.
pub(super) async fn within<T, E: std::error::Error>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(|error| chain(&error)),
        Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
    }
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// No redirects, which could carry headers elsewhere, and no proxy that the environment happens to name.
fn http_client(connect_timeout: Duration) -> Result<reqwest::Client, String> {
    // The client asks for the provider of the process. If somebody has chosen one already, theirs is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.connect_timeout(connect_timeout).build().map_err(|error| chain(&error))
}

fn parsed<'h>(
    headers: impl Iterator<Item = (&'h String, &'h String)>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let pair = |(name, value): (&String, &String)| {
        let header = HeaderName::try_from(name).map_err(|_| format!("`{}` is no header", name.escape_debug()))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| format!("the value of header `{header}` is not valid"))?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    headers.map(pair).collect()
}
