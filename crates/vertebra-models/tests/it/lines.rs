//! `docs/models.md` has a line for every provider, and every line is true.
//!
//! After a change: `UPDATE_EXPECTED=1 cargo test -p vertebra-models lines`.

use std::{fmt::Write as _, fs, path::PathBuf};

use vertebra::{Deltas, Model, ModelId, Request, testing};
use vertebra_models::{Adapter, Driver, PROVIDERS, Prices, Provider, Secret};

use crate::wire::server::{Received, Reply, Server};

const KEY: &str = "sk-planted-0123456789abcdef";

const BEGIN: &str = "<!-- begin: made by tests/it/lines.rs -->\n";
const END: &str = "<!-- end -->";

fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let page = fs::read_to_string(&path).expect("docs/models.md");
    (path, page)
}

/// A model that is named where a provider has no default.
fn example(provider: &Provider) -> &'static str {
    provider.default_model.unwrap_or(match provider.name {
        "ollama" => "qwen3:8b",
        "lmstudio" => "openai/gpt-oss-20b",
        "vllm" => "Qwen/Qwen3-8B",
        "omlx" => "Qwen3.6-35B-A3B-8bit",
        _ => "MODEL",
    })
}

#[test]
fn the_page_has_a_line_for_every_provider() {
    let mut table = "| provider | `--model` | key | pictures | price |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for provider in PROVIDERS {
        let (name, model) = (provider.name, example(provider));
        let keys = provider.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let key = match provider.port {
            Some(port) => format!("none; port {port}"),
            None if provider.base_url.is_empty() => format!("{keys}, and a base URL"),
            None if provider.local => format!("{keys} if the server wants one, and a base URL"),
            None => keys,
        };
        let pictures = if provider.takes.images { "yes" } else { "no" };
        let known = Prices::built_in().find(&ModelId::new(name, model)).is_some();
        let price = if known { "known" } else { "unknown" };
        writeln!(table, "| {} | `{name}:{model}` | {key} | {pictures} | {price} |", provider.label).expect("text");
    }
    let (path, page) = page();
    let (head, rest) = page.split_once(BEGIN).expect("the page marks where its table begins");
    let (_, tail) = rest.split_once(END).expect("the page marks where its table ends");
    let wanted = format!("{head}{BEGIN}{table}{END}{tail}");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &wanted).expect("docs/models.md can be written");
        return;
    }
    assert_eq!(page, wanted, "docs/models.md is not what the code does");
}

/// Where a request goes below the base URL, which header has the key, and what it says about the model.
struct Expected {
    path: String,
    header: &'static str,
    model: Option<String>,
}

fn expected(provider: &Provider, model: &str) -> Expected {
    let bearer =
        |path: &str| Expected { path: path.to_owned(), header: "authorization", model: Some(model.to_owned()) };
    let google = |path: String, header| Expected { path, header, model: None };
    match provider.adapter {
        Adapter::OpenAIResp => bearer("responses"),
        // The models of MiniMax speak like Anthropic's, at OpenCode too.
        Adapter::Anthropic | Adapter::MiniMax | Adapter::OpenCodeGo => {
            Expected { header: "x-api-key", ..bearer("messages") }
        }
        Adapter::Gemini => google(format!("models/{model}:streamGenerateContent?alt=sse"), "x-goog-api-key"),
        Adapter::GeminiIx => Expected { header: "x-goog-api-key", ..bearer("interactions") },
        Adapter::Vertex => {
            google(format!("publishers/google/models/{model}:streamGenerateContent?alt=sse"), "authorization")
        }
        Adapter::BedrockApi => google(format!("model/{}/converse-stream", model.replace(':', "%3A")), "authorization"),
        Adapter::Ollama | Adapter::OllamaCloud => bearer("api/chat"),
        Adapter::Cohere => bearer("chat"),
        Adapter::Fireworks => {
            Expected { model: Some(format!("accounts/fireworks/models/{model}")), ..bearer("chat/completions") }
        }
        _ => bearer("chat/completions"),
    }
}

/// What a server gets when this line is used as it stands, but for the host.
async fn sent(line: &str, server: &Server) -> (&'static Provider, String, Received) {
    let choice = Provider::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let (provider, model) = (choice.provider, choice.model.expect("a line that names a model"));
    let driver = Driver::new(provider).expect("a driver").base_url(&at(server, provider)).expect("a URL").model(model);
    let driver = if provider.local { driver } else { driver.key(Secret::new(KEY)) };
    let messages = [vertebra::Message::user("hi")].into_iter().collect();
    let request = Request { model: driver.id(), ..testing::request(messages).request };
    let before = server.received().len();
    let refused = driver.infer(&request, &mut Deltas::collect()).await;
    assert_eq!(server.received().len(), before + 1, "{line}: one request arrives; {refused:?}");
    (provider, model.to_owned(), server.last())
}

/// The provider's address with our server for its host.
fn at(server: &Server, provider: &Provider) -> String {
    let path = provider.base_url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    format!("{}/{}", server.url().trim_end_matches("/v1/"), path.map_or("a/base/", |(_, path)| path))
}

#[tokio::test]
async fn every_line_sends_its_model_and_its_key_to_the_right_place() {
    let server = Server::start([Reply::status(400, &[], "{}")]).await;
    let (_, page) = page();
    let rows = page.lines().skip_while(|line| *line != BEGIN.trim_end()).skip(3).take_while(|line| *line != END);
    let lines: Vec<&str> = rows.map(|row| row.split('`').nth(1).expect("a line in its row")).collect();
    assert_eq!(lines.len(), PROVIDERS.len());
    for line in lines {
        let (provider, model, got) = sent(line, &server).await;
        let Expected { path, header, model } = expected(provider, &model);
        let base = at(&server, provider);
        let base = base.trim_start_matches("http://").split_once('/').expect("a path").1;
        assert_eq!(got.path, format!("/{base}{path}"), "{line}");
        if let Some(model) = model {
            assert_eq!(got.body["model"], *model, "{line}");
        }
        let key = got.header(header).map(|value| value.trim_start_matches("Bearer "));
        assert_eq!(key, (!provider.local).then_some(KEY), "{line}");
        assert!(!got.path.contains(KEY) && !got.body.to_string().contains(KEY), "{line}: the key is in one header");
    }
}

#[tokio::test]
async fn a_provider_without_an_address_says_so() {
    let driver = Driver::new(Provider::find("compatible").expect("a provider")).expect("a driver");
    let request = testing::request([vertebra::Message::user("hi")].into_iter().collect()).request;
    let error = driver.infer(&request, &mut Deltas::collect()).await.expect_err("no address").to_string();
    let told = "the model rejected the request: compatible needs a base URL";
    assert_eq!(error, told);
}
