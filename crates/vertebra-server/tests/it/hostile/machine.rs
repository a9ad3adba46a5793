//! A server in a virtual machine, reached through the socket of the machine.

use std::{env, ffi::OsString, path::Path, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpStream, UnixListener},
    process::{Child, Command},
    time::{interval, timeout},
};
use tonic::transport::Endpoint;
use vertebra_server::{
    Address, Listener, Machine, MachinePort, bridge,
    proto::{
        CreateSessionRequest, ListSessionsRequest, PromptRequest, hooks_client::HooksClient,
        sessions_client::SessionsClient,
    },
};

use super::world::{Bearer, Client, TOKEN, World, guard, limits, soon};

/// The socket of a machine, with somebody behind one of its ports.
fn machine(socket: UnixListener, world: &World) {
    let behind = world.address;
    tokio::spawn(async move {
        while let Ok((mut here, _)) = socket.accept().await {
            tokio::spawn(async move {
                let mut line = [0; 13];
                here.read_exact(&mut line).await.expect("a line");
                // Whoever asks for another port is hung up on, as Firecracker does.
                if &line == b"CONNECT 9000\n" {
                    here.write_all(b"OK 1024\n").await.expect("it reads");
                    let mut there = TcpStream::connect(behind).await.expect("a server");
                    let _ = copy_bidirectional(&mut here, &mut there).await;
                }
            });
        }
    });
}

#[tokio::test]
async fn a_bridge_leads_clients_that_know_no_vsock_to_a_server_in_a_machine() {
    let world = World::running(&["ls"], limits()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("vm.sock");
    machine(UnixListener::bind(&socket).expect("a socket"), &world);
    let (told, mut news) = tokio::sync::mpsc::unbounded_channel();
    let opened = async |name: &str, port: u32| {
        let here = folder.path().join(name);
        let listener = Listener::bind(&Address::Unix(here.clone())).await.expect("a socket");
        let (to, told) = (MachinePort { machine: Machine::Socket(socket.clone()), port }, told.clone());
        tokio::spawn(async move { bridge(listener, to, |error| told.send(error.to_string()).expect("read")).await });
        Endpoint::from_shared(format!("unix://{}", here.display())).expect("an address").connect().await
    };
    let channel = opened("here.sock", 9000).await.expect("a connection");
    let mut client = Client::attach(HooksClient::with_interceptor(channel, Bearer(TOKEN)), "c").await.expect("let in");
    client.register(guard("g")).await.expect("it stands");
    let (results, ()) = tokio::join!(world.run(), async {
        let event = client.event().await;
        client.answer(event.id, r#"{"verdict":"deny","reason":"not in here"}"#).await;
    });
    assert_eq!(results, ["blocked by g: not in here"]);
    // On another port nobody listens.
    let refused = opened("else.sock", 9001).await;
    if let Ok(channel) = refused {
        let attached = soon(Client::attach(HooksClient::with_interceptor(channel, Bearer(TOKEN)), "c")).await;
        attached.err().expect("nobody is there");
    }
    assert_eq!(soon(news.recv()).await.as_deref(), Some("nobody in the machine listens on port 9001"));
}

/// A virtual machine, which ends when this does.
struct Guest {
    _machine: Child,
    _device: Child,
}

impl Guest {
    /// Boots a machine whose ports are reached by this socket.
    async fn boot(folder: &Path, socket: &Path) -> Self {
        let given = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("{name} is set by `cargo xtask vsock`"));
        let start = |command: &mut Command| command.kill_on_drop(true).stdin(Stdio::null()).spawn().expect("it starts");
        let vhost = folder.join("vhost.sock");
        let mut device = Command::new(given("VERTEBRA_VM_VHOST"));
        device.args(["--guest-cid", "3", "--socket"]).arg(&vhost).arg("--uds-path").arg(socket);
        let device = start(&mut device);
        let mut ticks = interval(Duration::from_millis(50));
        soon(async {
            while !vhost.exists() {
                ticks.tick().await;
            }
        })
        .await;
        let channel: OsString = ["socket,id=vsock,path=".as_ref(), vhost.as_os_str()].into_iter().collect();
        let mut machine = Command::new("qemu-system-x86_64");
        machine
            .args(["-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "2", "-m", "1G", "-nographic", "-no-reboot"])
            .args(["-object", "memory-backend-memfd,id=memory,size=1G,share=on", "-numa", "node,memdev=memory"])
            .arg("-chardev")
            .arg(channel)
            .args(["-device", "vhost-user-vsock-pci,chardev=vsock", "-append", "console=ttyS0 panic=-1 quiet"])
            .arg("-kernel")
            .arg(given("VERTEBRA_VM_KERNEL"))
            .arg("-initrd")
            .arg(given("VERTEBRA_VM_INITRAMFS"));
        Self { _machine: start(&mut machine), _device: device }
    }
}

#[tokio::test]
#[ignore = "needs QEMU, vhost-device-vsock and a guest kernel: cargo xtask vsock"]
async fn a_session_in_a_virtual_machine_is_governed_from_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let (socket, here) = (folder.path().join("vm.sock"), folder.path().join("here.sock"));
    let _guest = Guest::boot(folder.path(), &socket).await;
    let listener = Listener::bind(&Address::Unix(here.clone())).await.expect("a socket");
    let to = MachinePort { machine: Machine::Socket(socket), port: 9000 };
    tokio::spawn(bridge(listener, to, |_| {}));
    let connect = || Endpoint::from_shared(format!("unix://{}", here.display())).expect("an address").connect_lazy();
    // It boots for a while.
    let mut ticks = interval(Duration::from_millis(500));
    let booted = async {
        loop {
            ticks.tick().await;
            let mut sessions = SessionsClient::with_interceptor(connect(), Bearer(TOKEN));
            let asked = timeout(Duration::from_secs(5), sessions.list(ListSessionsRequest::default())).await;
            if let Ok(Ok(_)) = asked {
                return sessions;
            }
        }
    };
    let mut sessions = timeout(Duration::from_mins(3), booted).await.expect("it is up in time");
    let refused = SessionsClient::new(connect()).list(ListSessionsRequest::default()).await;
    assert_eq!(refused.expect_err("it has no token").code(), tonic::Code::Unauthenticated);
    let hooks = HooksClient::with_interceptor(connect(), Bearer(TOKEN));
    let mut client = Client::attach(hooks, "c").await.expect("it is let in");
    let patient = vertebra_server::proto::Hook { timeout_ms: Some(30_000), ..guard("g") };
    client.register(patient).await.expect("it stands");
    let opened = sessions.create(CreateSessionRequest::default()).await.expect("a session").into_inner();
    let request = PromptRequest { session_id: opened.id, text: "go".to_owned() };
    let mut events = sessions.prompt(request).await.expect("a run").into_inner();
    let (result, ()) = tokio::join!(
        async {
            let mut result = String::new();
            while let Some(event) = events.message().await.expect("an event") {
                let event: Value = serde_json::from_str(&event.json).expect("JSON");
                if event["event"] == "tool_ended" {
                    event["result"]["output"].as_str().unwrap_or_default().clone_into(&mut result);
                }
            }
            result
        },
        async {
            let event = client.event().await;
            assert!(event.json.contains("uname -r"), "{}", event.json);
            client.answer(event.id, r#"{"verdict":"deny","reason":"said outside"}"#).await;
        }
    );
    assert_eq!(result, "blocked by g: said outside");
}
