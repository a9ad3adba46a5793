//! A driver for a provider's format: what goes over the wire, what comes back in pieces, and what a wrong key comes to.
//!
//! The provider is a small server in this program, so that the example needs no key and no network. With a real one, leave
//! out `base_url` and take the key from wherever you keep it.
//!
//! Run it: `cargo run -p vertebra-examples --bin models`

use std::{error::Error, io};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use vertebra::{News, prelude::*};
use vertebra_models::{Driver, Provider, Secret};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/v1/", listener.local_addr()?);
    let server = tokio::spawn(serve(listener));

    for key in ["the-right-key", "a-wrong-key"] {
        println!("-- with {key}");
        let model =
            Driver::new(Provider::find("compatible")?)?.base_url(&url)?.key(Secret::new(key)).model("gpt-5-mini");
        let mut builder = Agent::builder(model);
        builder.system_prompt("You know the weather.");
        builder.tool(tool("weather", "Tells the weather", async |city: City, _| Ok(format!("rain in {}", city.name))));
        let mut stream = builder.build()?.stream("How is the weather in Berlin?");
        while let Some(event) = stream.next().await {
            match event.news {
                News::Delta { channel, text, .. } => println!("  {channel:?} {text:?}"),
                News::Ended { report } => println!("{}: {}", report.status, report.stop.message),
                _ => {}
            }
        }
    }
    server.abort();
    Ok(())
}

/// What the provider says first, and when it has read the result of the call.
fn answer(request: &Value) -> Vec<Value> {
    let results = request["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "tool");
    let said =
        |delta: Value, finish: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    if results.count() > 0 {
        let pieces = ["It rains", " in Berlin."].map(|text| said(json!({ "content": text }), Value::Null));
        return pieces.into_iter().chain([said(json!({}), json!("stop"))]).collect();
    }
    let call = json!({ "index": 0, "id": "call_a1b2", "function": { "name": "weather", "arguments": "" } });
    let piece = |text: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] });
    vec![
        said(json!({ "tool_calls": [call] }), Value::Null),
        said(piece("{\"name\": "), Value::Null),
        said(piece("\"Berlin\"}"), Value::Null),
        said(json!({}), json!("tool_calls")),
    ]
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (mut socket, _) = listener.accept().await?;
        let mut bytes = vec![0; 1 << 16];
        let mut read = 0;
        let request: Value = loop {
            read += socket.read(&mut bytes[read..]).await?;
            let text = String::from_utf8_lossy(&bytes[..read]);
            let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
            if let Some(body) = body {
                break body;
            }
        };
        let known = String::from_utf8_lossy(&bytes).contains("Bearer the-right-key");
        let reply = if known {
            let said = answer(&request);
            let events = said.iter().map(ToString::to_string).chain(["[DONE]".to_owned()]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
            events.fold(head, |reply, event| reply + "data: " + &event + "\n\n")
        } else {
            "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"I do not know a-wrong-key\"}}".to_owned()
        };
        socket.write_all(reply.as_bytes()).await?;
    }
}
