//! What is usable here and now: keys in an environment that is handed in, and real sockets on this machine.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use vertebra_models::{
    PROVIDERS, Provider,
    found::{Found, Search},
};

/// Every local server where nothing is, so that no test depends on what runs here, with time for a busy machine.
fn search(environment: &[(&str, &str)]) -> Search {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let nowhere = |search: Search, provider| search.base_url(provider, "http://127.0.0.1:1/v1/");
    let search = Search::new(environment).within(Duration::from_secs(20));
    PROVIDERS.iter().filter(|provider| provider.port.is_some()).fold(search, nowhere)
}

fn provider(name: &str) -> &'static Provider {
    Provider::find(name).expect("a provider")
}

/// Why a provider is usable, or why not.
fn told(found: &Found, name: &str) -> String {
    let finding = found.of(provider(name)).expect("a finding");
    match &finding.usable {
        Ok(usable) => format!("{} {:?}", usable.why, usable.models),
        Err(why) => why.clone(),
    }
}

fn chosen(found: &Found) -> String {
    found.choice().map_or("nothing".to_owned(), |chosen| {
        format!("{}:{} because {}", chosen.finding.provider.name, chosen.model, chosen.why)
    })
}

/// A server that says this to whoever comes, and nothing at all if there is nothing to say.
async fn server(says: impl Into<Option<Vec<u8>>>) -> String {
    let says = says.into();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let read = socket.read(&mut request).await.unwrap_or_default();
            assert!(request[..read].starts_with(b"GET /"), "a question for a list");
            if let Some(says) = &says {
                let _ = socket.write_all(says).await;
            } else {
                kept.push(socket);
            }
        }
    });
    format!("http://{address}/")
}

fn http(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn a_key_makes_its_provider_usable_and_its_absence_is_the_reason_why_not() {
    let search = search(&[("ANTHROPIC_API_KEY", "sk-planted-1"), ("GROQ_API_KEY", " ")]);
    let found = search.look().await;
    assert_eq!(told(&found, "anthropic"), "ANTHROPIC_API_KEY is set []");
    assert_eq!(told(&found, "openai"), "OPENAI_API_KEY is not set");
    assert_eq!(told(&found, "gemini"), "GEMINI_API_KEY and GOOGLE_API_KEY are not set");
    assert_eq!(told(&found, "groq"), "GROQ_API_KEY is empty");
    assert_eq!(told(&found, "compatible"), "it needs a base URL");
    assert_eq!(told(&found, "ollama"), "nothing answers on 127.0.0.1:1");
    assert_eq!(chosen(&found), "anthropic:claude-sonnet-5-5 because ANTHROPIC_API_KEY is set");
    assert!(!format!("{found:?} {search:?}").contains("sk-planted"), "keys are not shown");
}

#[tokio::test]
async fn the_order_of_the_choice_is_that_of_the_table_and_keys_go_before_servers() {
    let ollama = server(http("200 OK", r#"{"models": [{"name": "nomic-embed-text"}, {"name": "qwen3:8b"}]}"#)).await;
    let keys = [("GROQ_API_KEY", "g-12345678"), ("GEMINI_API_KEY", "x-12345678"), ("GITHUB_TOKEN", "t-12345678")];
    let mut names = Vec::new();
    for count in (0..=keys.len()).rev() {
        let found = search(&keys[keys.len() - count..]).base_url(provider("ollama"), &ollama).look().await;
        names.push(found.choice().map(|chosen| format!("{}:{}", chosen.finding.provider.name, chosen.model)));
    }
    let names: Vec<_> = names.into_iter().flatten().collect();
    // The token of GitHub alone is no wish to send anything there.
    assert_eq!(names, ["gemini:gemini-3.8-flash", "gemini:gemini-3.8-flash", "ollama:qwen3:8b", "ollama:qwen3:8b"]);
    assert_eq!(chosen(&search(&[]).look().await), "nothing");
}

#[tokio::test]
async fn servers_on_this_machine_list_their_models_or_say_why_not() {
    let many = format!(r#"{{"data": [{}]}}"#, vec![r#"{"id": "m"}"#; 1000].join(","));
    let huge = [b"HTTP/1.0 200 OK\r\n\r\n".to_vec(), vec![b' '; 2 << 20]].concat();
    let cases = [
        (http("200 OK", r#"{"data": [{"id": "qwen"}, {"id": "bad\u001b[2J"}, {"id": 3}]}"#), r#"answers on  ["qwen"]"#),
        (http("200 OK", r#"{"data": []}"#), " answers, but lists no models"),
        (http("404 Not Found", "nope"), " answers, but not as a server of models: status 404"),
        (http("200 OK", "<html>"), " answers, but not as a server of models: its list of models is not JSON"),
        (http("200 OK", "{}"), " answers, but not as a server of models: it lists no models"),
        (b"\xff\xfe garbage".to_vec(), " answers, but not as a server of models: it does not speak HTTP"),
        (huge, " answers, but not as a server of models: more than 1048576 bytes"),
        (Vec::new(), " answers, but not as a server of models: it does not speak HTTP"),
    ];
    for (says, expected) in cases {
        let url = server(says).await;
        let told = told(&search(&[]).base_url(provider("vllm"), &url).look().await, "vllm");
        let place = url.trim_start_matches("http://").trim_end_matches('/');
        assert_eq!(told.replace(place, "").trim_start_matches("vLLM "), expected, "{told}");
    }
    let url = server(http("200 OK", &many)).await;
    let finding = search(&[]).base_url(provider("vllm"), &url).at(provider("vllm")).await;
    assert_eq!(finding.usable.map(|usable| usable.models.len()), Ok(500));
}

#[tokio::test]
async fn a_server_that_hangs_holds_up_no_other() {
    let hanging = server(None).await;
    let answering = server(http("200 OK", r#"{"data": [{"id": "qwen"}]}"#)).await;
    let search = search(&[]).base_url(provider("ollama"), &hanging).base_url(provider("llama.cpp"), &answering);
    let found = search.within(Duration::from_secs(2)).look().await;
    assert!(told(&found, "ollama").ends_with(" does not answer within 2000 ms"), "{}", told(&found, "ollama"));
    assert!(chosen(&found).starts_with("llama.cpp:qwen because llama.cpp answers on 127.0.0.1:"), "{}", chosen(&found));
}

#[tokio::test]
async fn a_server_elsewhere_is_believed_and_not_asked() {
    let found = search(&[]).base_url(provider("ollama"), "http://192.0.2.1:11434/").look().await;
    assert_eq!(told(&found, "ollama"), "http://192.0.2.1:11434/ is configured []");
    assert_eq!(chosen(&found), "nothing");
}

#[tokio::test]
async fn an_address_from_the_environment_counts_unless_another_is_configured() {
    let url = server(http("200 OK", r#"{"models": [{"name": "qwen3:8b"}]}"#)).await;
    let place = url.trim_start_matches("http://").trim_end_matches('/');
    for value in [place.to_owned(), url.clone(), place.replace("127.0.0.1", "0.0.0.0")] {
        let environment = BTreeMap::from([("OLLAMA_HOST".to_owned(), value)]);
        let finding = Search::new(environment).within(Duration::from_secs(20)).at(provider("ollama")).await;
        assert_eq!(finding.base_url, url);
        assert_eq!(finding.default_model(), Some("qwen3:8b"));
    }
    let openai = [("OPENAI_API_KEY", "sk-12345678"), ("OPENAI_BASE_URL", "https://proxy.example/v1")];
    assert_eq!(search(&openai).at(provider("openai")).await.base_url, "https://proxy.example/v1/");
    let configured = search(&openai).base_url(provider("openai"), "https://other.example/v1/");
    assert_eq!(configured.at(provider("openai")).await.base_url, "https://other.example/v1/");
}

#[tokio::test]
async fn a_base_url_that_cannot_be_used_is_the_reason_why_not_and_a_key_in_it_is_not_shown() {
    for (url, told) in [
        (
            "https://me:sk-planted-1@proxy.example/v1",
            "invalid base URL `https://…@proxy.example/v1/`: credentials belong",
        ),
        (
            "https://proxy.example/v1?key=sk-planted-1",
            "invalid base URL `https://proxy.example/v1`: it must end with its",
        ),
        ("https://", "invalid base URL `https://`: empty host"),
    ] {
        let openai = [("OPENAI_API_KEY", "sk-12345678"), ("OPENAI_BASE_URL", url)];
        let finding = search(&openai).at(provider("openai")).await;
        assert!(finding.usable.as_ref().is_err_and(|why| why.starts_with(told)), "{finding:?}");
        assert!(!format!("{finding:?}").contains("sk-planted"), "{finding:?}");
    }
}
