//! Our end of a connection: what we are to a server, and the ways to reach one.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation},
    service::{NotificationContext, RunningService, serve_client},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::process::Command;

use super::{
    config::Transport,
    http::{self, Http},
    visible,
};
use crate::process::Resident;

/// How long one message of a server may be.
pub(super) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

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
    process: Option<Resident>,
}

impl Connection {
    /// Starts or reaches the server and greets it.
    pub(super) async fn open(server: &Arc<str>, transport: &Transport, limit: Duration) -> Result<Self, String> {
        let client = Client { server: server.clone() };
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut program = Command::new(command);
                program.args(args).env_clear().envs(env);
                if let Some(cwd) = cwd {
                    program.current_dir(cwd);
                }
                let started = Resident::start(program);
                let (process, output, input) = started.map_err(|error| format!("cannot start `{command}`: {error}"))?;
                let wire = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE_BYTES);
                match within(limit, serve_client(client, wire)).await {
                    Ok(service) => Ok(Self { service, process: Some(process) }),
                    Err(problem) => Err(format!("{problem}{}", last_words(process).await)),
                }
            }
            Transport::Http { url, headers } => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(&**url);
                config.custom_headers = http::headers(headers)?;
                config.max_sse_event_size = MAX_MESSAGE_BYTES;
                let wire = StreamableHttpClientTransport::with_client(Http::new(limit)?, config);
                let service = within(limit, serve_client(client, wire)).await?;
                Ok(Self { service, process: None })
            }
        }
    }

    /// Closes it, and tells how its process ended and what that said last.
    pub(super) async fn last_words(self) -> String {
        match self.process {
            Some(process) => last_words(process).await,
            None => String::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }
}

/// How a process ended and what it said last, for whoever reads the error.
async fn last_words(process: Resident) -> String {
    let (how, said) = process.last_words().await;
    match visible::text(&said).trim() {
        "" => format!(" ({how}; it wrote no errors)"),
        said => format!(" ({how}; it wrote: {said})"),
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
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    let words = causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    });
    visible::told(&words)
}
