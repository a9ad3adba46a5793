//! HTTP to a server. Ours rather than the SDK's, which reads answers of any length.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE},
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse as Answer,
        },
    },
};
use sse_stream::{Sse, SseStream};

use super::{
    client::{MAX_MESSAGE_BYTES, chain},
    visible,
};

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Headers that the protocol itself sends.
const OURS: [&str; 5] = ["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// A client that follows no redirect, which could carry headers elsewhere, and asks no proxy that the environment
/// happens to name.
#[derive(Clone)]
pub(super) struct Http(reqwest::Client);

impl Http {
    pub(super) fn new(connect_timeout: Duration) -> Result<Self, String> {
        // The client takes the provider of the process. If somebody has chosen one already, theirs is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        client.connect_timeout(connect_timeout).build().map(Self).map_err(|error| chain(&error))
    }
}

/// The configured headers, if they can be sent.
pub(super) fn headers(headers: &BTreeMap<String, String>) -> Result<Headers, String> {
    let pair = |(name, value): (&String, &String)| {
        let header =
            HeaderName::try_from(name).map_err(|_| format!("invalid header name `{}`", name.escape_debug()))?;
        if OURS.contains(&header.as_str()) {
            return Err(format!("the header `{header}` belongs to the protocol and cannot be set"));
        }
        let value = HeaderValue::try_from(value).map_err(|_| format!("the value of header `{header}` is not valid"))?;
        Ok((header, value))
    };
    headers.iter().map(pair).collect()
}

impl StreamableHttpClient for Http {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Answer, Failure> {
        let mut request = self.0.post(&*uri).headers(custom_headers.into_iter().collect());
        request = request.header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        request = request.header(CONTENT_TYPE, JSON_MIME_TYPE).body(serde_json::to_vec(&message)?);
        if let Some(session) = &session_id {
            request = request.header(HEADER_SESSION_ID, &**session);
        }
        let response = request.send().await.map_err(Failure::Client)?;
        let (status, waits) = (response.status(), matches!(message, ClientJsonRpcMessage::Request(_)));
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (kind, session) = (header(CONTENT_TYPE.as_str()).unwrap_or_default(), header(HEADER_SESSION_ID));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(Answer::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(Failure::SessionExpired);
        }
        if status.is_success() && kind.starts_with(EVENT_STREAM_MIME_TYPE) {
            return Ok(Answer::Sse(events(response), session));
        }
        let body = read(response).await?;
        // An error of the protocol is worth more than the status it came with.
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if status.is_success() || matches!(answer, JsonRpcMessage::Error(_)) => {
                Ok(Answer::Json(answer, session))
            }
            _ if status.is_success() && !waits => Ok(Answer::Accepted),
            _ => {
                let words = visible::told(&String::from_utf8_lossy(&body));
                Err(Failure::UnexpectedServerResponse(format!("HTTP {status}: {words}").into()))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let (client, limit) = (&self.0, MAX_MESSAGE_BYTES);
        client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, custom_headers, limit)
            .await
    }
}

/// A whole answer, if it is not too long.
async fn read(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(Failure::Client)? {
        if body.len() + piece.len() > MAX_MESSAGE_BYTES {
            return Err(too_long().into());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// A streamed answer, up to where it is too long.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut left = MAX_MESSAGE_BYTES;
    let bounded = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        left = left.checked_sub(piece.len()).ok_or_else(too_long)?;
        Ok::<_, io::Error>(piece)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

fn too_long() -> io::Error {
    io::Error::other(format!("the answer is longer than {MAX_MESSAGE_BYTES} bytes"))
}
