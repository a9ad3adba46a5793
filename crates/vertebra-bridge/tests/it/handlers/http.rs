//! Servers that answer, stall, redirect, flood and lie.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

/// What a server does with a connection once it has read the request.
#[derive(Clone, Copy)]
enum Then {
    /// Says this and closes.
    Say(&'static str),
    /// Says this and then nothing.
    Stall(&'static str),
    /// Says this and then the same again and again.
    Flood(&'static str),
}

/// A server on this machine, and the requests that it read.
struct Server {
    port: u16,
    requests: tokio::sync::mpsc::UnboundedReceiver<String>,
}

async fn server(then: Then) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (tell, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = read(&mut stream).await;
            if tell.send(request).is_err() {
                break;
            }
            tokio::spawn(async move {
                match then {
                    Then::Say(text) => drop(stream.write_all(text.as_bytes()).await),
                    Then::Stall(text) => {
                        drop(stream.write_all(text.as_bytes()).await);
                        drop(stream.read(&mut [0]).await);
                    }
                    Then::Flood(text) => while stream.write_all(text.as_bytes()).await.is_ok() {},
                }
            });
        }
    });
    Server { port, requests }
}

/// A request with a body of the length that it says.
async fn read(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
            _ => return text,
        }
    }
}

fn post(url: String, private: bool) -> RunSettings {
    let headers = BTreeMap::from([("authorization".to_owned(), "Bearer $SOME_API_KEY".to_owned())]);
    let env = vec!["SOME_API_KEY".to_owned()];
    RunSettings::Http { url, headers, env, private, contract: Contract::Vertebra }
}

async fn asked(then: Then, limit: Duration) -> (Fired<BeforeToolUse>, Server) {
    let (project, server) = (Project::new(), server(then).await);
    let handler = project.build(&post(format!("http://127.0.0.1:{}/hook", server.port), true));
    let fired = project.guards_with(&handler, FailurePolicy::Closed, limit, json!({ "command": "ls" })).await;
    (fired, server)
}

#[tokio::test]
async fn a_server_reads_the_event_and_denies() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 39\r\n\r\n{\"verdict\": \"deny\", \"reason\": \"no, no\"}";
    let (fired, mut server) = asked(Then::Say(answer), LONG).await;
    assert_eq!(fired.to_string(), "denied by outside: no, no");
    let request = server.requests.recv().await.expect("a request");
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer s3cret\r\n"), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    assert!(request.contains(r#""point":"BeforeToolUse""#) && request.contains(r#""command":"ls""#), "{request}");
    assert_eq!(account(&fired)["end"], "answered");
    assert!(!account(&fired).to_string().contains("s3cret"));
}

#[tokio::test]
async fn an_empty_answer_has_no_opinion() {
    let (fired, _) = asked(Then::Say("HTTP/1.1 204 No Content\r\n\r\n"), LONG).await;
    assert_eq!(fired.to_string(), "proceeded");
}

#[tokio::test]
async fn a_server_that_stalls_is_given_up_wherever_it_does() {
    let beginnings = [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
    ];
    for beginning in beginnings {
        let (fired, _) = asked(Then::Stall(beginning), Duration::from_millis(300)).await;
        assert!(fired.record.decided_by_failure(), "{beginning}: {fired}");
        assert_eq!(account(&fired)["end"], "timed_out", "{beginning}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_told_as_such() {
    let elsewhere =
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: https://elsewhere.example/\r\ncontent-length: 0\r\n\r\n";
    let (fired, mut server) = asked(Then::Say(elsewhere), LONG).await;
    assert!(fired.record.decided_by_failure());
    assert!(fired.to_string().contains("it redirects to https://elsewhere.example/, which is not followed"), "{fired}");
    server.requests.recv().await.expect("the first request");
    assert!(server.requests.try_recv().is_err(), "there is no second one");
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_its_limit() {
    // The head again and again is the body, which ends with the connection, and that never does.
    let (fired, _) = asked(Then::Flood("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"), LONG).await;
    assert!(fired.record.decided_by_failure());
    assert_eq!((&account(&fired)["end"], &account(&fired)["limit"]), (&json!("too_large"), &json!(1024 * 1024)));
}

#[tokio::test]
async fn an_endless_head_is_not_read_for_ever() {
    let (fired, _) = asked(Then::Flood("x-more: and more\r\n"), LONG).await;
    assert!(fired.record.decided_by_failure());
    assert_eq!(account(&fired)["end"], "failed");
}

#[tokio::test]
async fn what_is_no_answer_is_a_failure() {
    let cases = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "answered", "the answer is not a JSON object"),
        ("HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\n{}", "failed", "it answered with HTTP status 500"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}", "failed", ""),
        ("what?\r\n\r\n", "failed", ""),
        ("", "failed", ""),
    ];
    for (answer, end, says) in cases {
        let (fired, _) = asked(Then::Say(answer), LONG).await;
        assert!(fired.record.decided_by_failure(), "{answer}: {fired}");
        assert_eq!(account(&fired)["end"], end, "{answer}");
        assert!(fired.to_string().contains(says), "{answer}: {fired}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_connected_to() {
    let (project, mut server) = (Project::new(), server(Then::Say("")).await);
    let handler = project.build(&post(format!("https://localhost:{}/", server.port), false));
    let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, json!({})).await;
    let said = fired.to_string();
    assert!(
        said.contains("`localhost` resolves to the private address ") && said.contains("set `private = true`"),
        "{said}"
    );
    assert!(server.requests.try_recv().is_err(), "nobody came");
}

#[tokio::test]
async fn without_tls_on_the_other_side_nothing_is_sent() {
    let (project, mut server) = (Project::new(), server(Then::Say("HTTP/1.1 200 OK\r\n\r\n")).await);
    let handler = project.build(&post(format!("https://127.0.0.1:{}/", server.port), true));
    let fired = project.guards_with(&handler, FailurePolicy::Closed, Duration::from_secs(5), json!({})).await;
    assert!(fired.record.decided_by_failure(), "{fired}");
    if let Ok(read) = server.requests.try_recv() {
        assert!(!read.contains("s3cret") && !read.contains("BeforeToolUse"), "{read}");
    }
}

#[test]
fn a_header_may_name_only_variables_that_the_hook_names() {
    let project = Project::new();
    let mut run = post("https://example.org/".to_owned(), false);
    if let RunSettings::Http { env, .. } = &mut run {
        env.clear();
    }
    let problem = build(&run, &project.services).map(drop).expect_err("not named").to_string();
    assert!(problem.contains("write `env = [\"SOME_API_KEY\"]`"), "{problem}");
}

#[test]
fn a_password_in_an_address_is_refused_and_not_repeated() {
    let url = "https://ada:hunter2@policy.example.org/hook";
    let error =
        vertebra_bridge::handler::Http::new(url, &BTreeMap::new(), false).err().expect("no handler").to_string();
    assert!(error.contains("put it into a header") && error.contains("policy.example.org"), "{error}");
    assert!(!error.contains("hunter2") && !error.contains("ada"), "{error}");
}
