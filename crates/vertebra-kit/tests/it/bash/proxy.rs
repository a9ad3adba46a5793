//! The network by domain: a proxy is the only way out of the private network.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
};

use vertebra_kit::bash::sandbox::Network;

use super::*;

fn domains(names: &[&str]) -> Network {
    Network::Domains(names.iter().map(|name| name.parse().expect("a domain")).collect())
}

/// A proxy of the person, which answers in place of the internet, and remembers what it was asked for.
struct Internet {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Internet {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = asked.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let heard = heard.clone();
                std::thread::spawn(move || answer(&client, &heard));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn head(client: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(client.try_clone().expect("a handle")).lines();
    let first = lines.next()?.ok()?;
    for line in lines {
        if line.ok()?.is_empty() {
            break;
        }
    }
    Some(first)
}

fn answer(mut client: &TcpStream, heard: &Mutex<Vec<String>>) {
    let Some(first) = head(client) else { return };
    heard.lock().expect("no panic").push(first.clone());
    if first.starts_with("CONNECT") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("an answer");
        // Inside the tunnel it speaks plainly.
        let Some(inner) = head(client) else { return };
        heard.lock().expect("no panic").push(inner);
    }
    client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nanswer").expect("an answer");
}

/// Commands reach this network, through the proxy of the person if there is one.
fn reaching(network: Network, internet: Option<&Internet>) -> Area {
    let area = Area::new();
    let mut environment: Vec<(String, String)> =
        std::env::vars().filter(|(name, _)| !name.to_lowercase().ends_with("_proxy")).collect();
    if let Some(internet) = internet {
        let proxy = format!("http://me:secret@{}", internet.address);
        environment.extend(["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.to_owned(), proxy.clone())));
    }
    let environment = area.bash.environment.clone().from(environment);
    area.with(|bash| {
        bash.environment = environment;
        bash.sandbox.network = network;
    })
}

#[tokio::test]
async fn a_domain_that_is_allowed_is_reached_and_another_one_is_not() {
    let internet = Internet::new();
    let area = reaching(domains(&["example.org"]), Some(&internet));
    let result = area
        .bash("curl -sS http://www.example.org/a; curl -sS -o /dev/null -w ' %{http_code}' http://example.com/b")
        .await;
    assert!(result.output.starts_with("answer 403"), "{}", result.output);
    assert!(result.output.contains("the sandbox blocked network access to example.com:80"), "{}", result.output);
    assert_eq!(internet.asked(), ["GET http://www.example.org:80/a HTTP/1.1"]);
}

#[tokio::test]
async fn a_tunnel_leads_to_a_domain_that_is_allowed_only() {
    let internet = Internet::new();
    let area = reaching(domains(&["example.org"]), Some(&internet));
    let tunnel = |host: &str| format!("curl -sS --proxytunnel -x $HTTPS_PROXY http://{host}/x");
    let result = area.bash(&format!("{}; {}", tunnel("example.org"), tunnel("example.org.evil.net"))).await;
    assert!(result.output.contains("answer\n") && result.output.contains("response 403"), "{}", result.output);
    assert!(
        result.output.contains("the sandbox blocked network access to example.org.evil.net:80"),
        "{}",
        result.output
    );
    assert_eq!(internet.asked(), ["CONNECT example.org:80 HTTP/1.1", "GET /x HTTP/1.1"]);
}

#[tokio::test]
async fn the_password_of_the_persons_proxy_stays_outside() {
    let internet = Internet::new();
    let area = reaching(Network::Public, Some(&internet));
    let result = area.bash("env; curl -sS http://example.org/; cat /proc/self/environ | tr '\\0' '\\n'").await;
    assert!(result.output.contains("answer") && !result.output.contains("secret"), "{}", result.output);
}

#[tokio::test]
async fn a_second_request_cannot_ride_along_to_another_host() {
    let internet = Internet::new();
    let area = reaching(domains(&["example.org"]), Some(&internet));
    let code = "import os, socket
port = int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])
one = b'GET http://example.org/ HTTP/1.1\\r\\nHost: example.org\\r\\n\\r\\n'
two = b'GET http://evil.net/ HTTP/1.1\\r\\nHost: evil.net\\r\\n\\r\\n'
proxy = socket.create_connection(('127.0.0.1', port)); proxy.sendall(one + two)
while proxy.recv(4096): pass";
    area.bash(&python(code)).await;
    assert_eq!(internet.asked(), ["GET http://example.org:80/ HTTP/1.1"]);
}

#[tokio::test]
async fn private_addresses_are_refused_whatever_is_allowed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a setting");
    let port = server.local_addr().expect("an address").port();
    let area = reaching(Network::Public, None);
    for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]", "0x7f000001"] {
        let command =
            format!("curl -sS -x $HTTP_PROXY --noproxy '' -o /dev/null -w '%{{http_code}}' http://{host}:{port}/");
        let result = area.bash(&command).await;
        assert!(result.output.starts_with("403") || result.output.starts_with("502"), "{host}: {}", result.output);
        // Asking for what does not open them would only cost a question.
        let is_elsewhere = matches!(host, "169.254.169.254" | "10.0.0.1");
        assert!(!is_elsewhere || result.output.contains("`/sandbox network on`"), "{host}: {}", result.output);
    }
    assert!(server.accept().is_err());
}

#[tokio::test]
async fn nothing_but_the_proxy_leads_out() {
    let internet = Internet::new();
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a setting");
    datagrams.set_nonblocking(true).expect("a setting");
    let ports = (server.local_addr().expect("an address").port(), datagrams.local_addr().expect("an address").port());
    let code = format!(
        "import socket
tcp, udp = {ports:?}
def attempt(name, what):
    try:
        what(); print('ESCAPED', name)
    except OSError as error:
        print('held', name, error)
attempt('tcp', lambda: socket.create_connection(('192.0.2.1', 443), 2))
attempt('tcp6', lambda: socket.create_connection(('2001:db8::1', 443), 2))
attempt('host', lambda: socket.create_connection(('127.0.0.1', tcp), 2))
attempt('dns', lambda: socket.getaddrinfo('example.org', 443))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))"
    );
    let result = reaching(domains(&["example.org"]), Some(&internet)).bash(&python(&code)).await;
    assert_eq!(result.output.matches("held").count(), 5, "{}", result.output);
    assert!(server.accept().is_err() && datagrams.recv(&mut [0]).is_err());
    assert_eq!(internet.asked(), [""; 0]);
}

#[tokio::test]
async fn without_network_namespaces_a_list_of_domains_runs_nothing() {
    bubblewrap::refusing(&[libc::SYS_unshare, libc::SYS_setns], libc::EPERM);
    let area = reaching(domains(&["example.org"]), None)
        .with(|bash| bash.sandbox.engine = vertebra_kit::bash::sandbox::Engine::Own);
    let result = area.bash("touch ran").await;
    assert!(result.output.starts_with("a list of domains takes a network namespace"), "{}", result.output);
    assert!(!area.path("work/ran").exists());
}
