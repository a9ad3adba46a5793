//! One question to a server on this machine: which models do you have?

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How much of an answer is read.
const MAX_BYTES: usize = 1 << 20;

/// How many models are listed, and how long a name may be.
const MAX_MODELS: usize = 500;
const MAX_NAME: usize = 200;

/// The models of the server there, or why there are none to be had.
pub(super) async fn models(place: &str, path: &str) -> Result<Vec<String>, String> {
    let mut socket = TcpStream::connect(place).await.map_err(|_| format!("nothing answers on {place}"))?;
    let no_server = |what: &str| format!("{place} answers, but not as a server of models: {what}");
    // The old version of HTTP has no chunks: the answer ends with its length or with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {place}\r\nAccept: application/json\r\n\r\n");
    socket.write_all(request.as_bytes()).await.map_err(|error| no_server(&error.to_string()))?;
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BYTES && !whole(&bytes) {
        match socket.read_buf(&mut bytes).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(no_server(&error.to_string())),
        }
    }
    if bytes.len() >= MAX_BYTES {
        return Err(no_server(&format!("more than {MAX_BYTES} bytes")));
    }
    let (head, body) = split(&bytes).ok_or_else(|| no_server("it does not speak HTTP"))?;
    match head.split(' ').nth(1) {
        Some("200") => {}
        Some(status) => return Err(no_server(&format!("status {}", printable(status, 3)))),
        None => return Err(no_server("it does not speak HTTP")),
    }
    let list: Value = serde_json::from_slice(body).map_err(|_| no_server("its list of models is not JSON"))?;
    names(&list).ok_or_else(|| no_server("it lists no models"))
}

/// Ollama has `models` with names, the others have `data` with ids.
fn names(list: &Value) -> Option<Vec<String>> {
    let (items, key) = match (list["models"].as_array(), list["data"].as_array()) {
        (_, Some(items)) => (items, "id"),
        (Some(items), None) => (items, "name"),
        (None, None) => return None,
    };
    let names = items.iter().filter_map(|item| item[key].as_str());
    // A name goes to the screen and into requests as it is.
    let fine = names.filter(|name| !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control));
    Some(fine.take(MAX_MODELS).map(str::to_owned).collect())
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..end]).ok().filter(|head| head.starts_with("HTTP/1."))?;
    Some((head, &bytes[end + 4..]))
}

/// Whether as much has come as the server said it would.
fn whole(bytes: &[u8]) -> bool {
    let Some((head, body)) = split(bytes) else { return false };
    let length = head.lines().filter_map(|line| line.split_once(':'));
    let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.filter_map(|(_, value)| value.trim().parse::<usize>().ok()).any(|length| body.len() >= length)
}

fn printable(text: &str, most: usize) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(most).collect()
}
