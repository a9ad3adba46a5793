//! The network of this machine, where commands use it: with the network on, and where there are no namespaces. The services of
//! the machine stay closed, but for ports that a person named.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, UdpSocket},
};

use vertebra_kit::bash::sandbox::{Engine, Network};

use super::{bubblewrap::refusing, *};

/// A service of this machine, which nobody may have reached.
struct Service {
    tcp: TcpListener,
    newer: Option<TcpListener>,
    udp: UdpSocket,
}

impl Service {
    /// On all addresses.
    fn new() -> Self {
        let tcp = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = tcp.local_addr().expect("an address").port();
        let newer = TcpListener::bind(format!("[::1]:{port}")).ok();
        let udp = UdpSocket::bind(format!("0.0.0.0:{port}")).expect("a port");
        tcp.set_nonblocking(true).expect("a setting");
        if let Some(newer) = &newer {
            newer.set_nonblocking(true).expect("a setting");
        }
        udp.set_nonblocking(true).expect("a setting");
        Self { tcp, newer, udp }
    }

    fn port(&self) -> u16 {
        self.tcp.local_addr().expect("an address").port()
    }

    fn was_reached(&self) -> bool {
        let newer = self.newer.as_ref().is_some_and(|newer| newer.accept().is_ok());
        self.tcp.accept().is_ok() || newer || self.udp.recv(&mut [0; 8]).is_ok()
    }

    /// Every way to it, in Python. `found` gets those that worked.
    fn ways(&self) -> String {
        format!(
            "import ctypes, os, socket, struct
port, found = {}, []
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.connect(('192.0.2.1', 9)) if not own.connect_ex(('192.0.2.1', 9)) else None
for address in ['127.0.0.1', '127.0.0.2', '0.0.0.0', 'localhost', own.getsockname()[0]]:
    for wait in [True, False]:
        stream = socket.socket(); stream.setblocking(wait)
        if stream.connect_ex((address, port)) in (0, 115, 11): found.append(('tcp', address))
for address in ['::1', '::ffff:127.0.0.1', '::']:
    stream = socket.socket(socket.AF_INET6)
    if stream.connect_ex((address, port)) in (0, 115, 11): found.append(('tcp', address))
def tried(how, send):
    try:
        send(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)); found.append(how)
    except OSError:
        pass
to = ('127.0.0.1', port)
tried('sendto', lambda datagram: datagram.sendto(b'x', to))
tried('sendmsg', lambda datagram: datagram.sendmsg([b'x'], [], 0, to))
tried('connect', lambda datagram: (datagram.connect(to), datagram.send(b'x')))
try:
    socket.socket().sendto(b'x', 0x20000000, to); found.append('fast open')
except OSError:
    pass
",
            self.port()
        )
    }
}

fn on() -> Area {
    Area::new().with(|bash| bash.sandbox.network = Network::On)
}

/// A system that gives no namespaces.
fn without_namespaces(network: Network) -> Area {
    refusing(&[libc::SYS_unshare, libc::SYS_setns], libc::EPERM);
    Area::new().with(|bash| {
        bash.sandbox.engine = Engine::Own;
        bash.sandbox.network = network;
    })
}

pub(super) async fn is_closed(area: &Area) {
    let service = Service::new();
    let said = area.bash(&python(&format!("{}print(found); exit(1)", service.ways()))).await.output;
    assert!(said.contains("[]"), "{said}");
    assert!(said.contains(&format!("[the sandbox blocked port {} of this machine: ", service.port())), "{said}");
    assert!(!service.was_reached());
}

#[tokio::test]
async fn the_services_of_this_machine_stay_closed_with_the_network_on() {
    is_closed(&on()).await;
}

#[tokio::test]
async fn the_services_of_this_machine_stay_closed_without_namespaces() {
    is_closed(&without_namespaces(Network::On)).await;
}

#[tokio::test]
async fn the_services_of_this_machine_stay_closed_to_commands_that_reach_public_hosts_without_namespaces() {
    is_closed(&without_namespaces(Network::Public)).await;
}

#[tokio::test]
async fn every_way_to_a_service_works_without_the_sandbox() {
    let service = Service::new();
    let said = Area::new().bare().bash(&python(&format!("{}print(len(found), found)", service.ways()))).await.output;
    assert!(said.starts_with("17 ") || said.starts_with("16 "), "{said}");
    assert!(service.was_reached());
}

#[tokio::test]
async fn a_port_that_was_named_is_reached_and_no_other() {
    for area in [on(), Area::new(), without_namespaces(Network::Off)] {
        let (named, other) = (TcpListener::bind("127.0.0.1:0").expect("a port"), Service::new());
        let port = named.local_addr().expect("an address").port();
        let area = area.with(|bash| bash.sandbox.ports.extend([port]));
        let serving = std::thread::spawn(move || {
            let (mut client, _) = named.accept().expect("a client");
            let mut question = [0; 5];
            client.read_exact(&mut question).expect("a question");
            client.write_all(b"rows\n").expect("an answer");
        });
        let command = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} && printf query >&3 && head -1 <&3; exec 4<>/dev/tcp/127.0.0.1/{}",
            other.port()
        );
        let said = area.bash(&command).await.output;
        assert!(said.contains("rows"), "{said}");
        assert!(said.contains(&format!("the sandbox blocked port {} of this machine", other.port())), "{said}");
        serving.join().expect("no panic");
        assert!(!other.was_reached());
    }
}

#[tokio::test]
async fn with_the_network_on_a_command_reaches_its_own_servers_and_sends_messages_as_always() {
    let code = "import array, os, socket, threading
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=5)
    there, _ = server.accept(); there.send(b'hello'); assert client.recv(5) == b'hello'
    blocking = socket.socket(family); blocking.connect(server.getsockname()[:2]); assert blocking.getblocking()
    there, _ = server.accept()
    big = b'x' * 3_000_000
    reader = threading.Thread(target=lambda: [None for _ in iter(lambda: there.recv(1 << 16), b'')])
    reader.start()
    sent = 0
    while sent < len(big): sent += blocking.sendmsg([big[sent:]])
    blocking.close(); reader.join()
    one, two = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    two.bind((address, 0)); to = two.getsockname()[:2]
    assert one.sendto(b'x', to) == 1 and two.recv(1) == b'x'
    assert one.sendmsg([b'a', b'bc'], [], 0, to) == 3 and two.recv(9) == b'abc'
    one.connect(to); one.send(b'y'); assert two.recv(1) == b'y'
a, b = socket.socketpair()
with open('/etc/hostname') as file:
    a.sendmsg([b'f'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file.fileno()]))])
    _, control, _, _ = b.recvmsg(1, socket.CMSG_SPACE(4))
    assert os.fstat(array.array('i', control[0][2])[0]).st_ino == os.fstat(file.fileno()).st_ino
assert socket.getaddrinfo('localhost', 80)
try:
    socket.create_connection(('127.0.0.1', 1)); raise SystemExit('connected')
except ConnectionRefusedError:
    pass
for family, kind in [(socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_SEQPACKET)]:
    try:
        socket.socket(family, kind, 1 if kind == socket.SOCK_RAW else 0); raise SystemExit(f'made {family} {kind}')
    except PermissionError:
        pass
print('all of it')";
    let result = on().bash(&python(code)).await;
    assert_eq!((&*result.output, result.exit_code), ("all of it", Some(0)));
}

#[tokio::test]
async fn several_messages_at_once_are_sent_to_where_they_may_go() {
    // As the C library does it to look up two kinds of addresses.
    let service = Service::new();
    let code = format!(
        "import ctypes, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def many(datagram, address):
    name = ctypes.create_string_buffer(address) if address else None
    heads, kept = b'', [name]
    for text in [b'one', b'three']:
        data = ctypes.create_string_buffer(text); piece = struct.pack('QQ', ctypes.addressof(data), len(text))
        piece = ctypes.create_string_buffer(piece); kept += [data, piece]
        heads += struct.pack('QIxxxxQQQQixxxxIxxxx', ctypes.addressof(name) if name else 0, 16 if name else 0, ctypes.addressof(piece), 1, 0, 0, 0, 0)
    heads = ctypes.create_string_buffer(heads)
    count = libc.sendmmsg(datagram.fileno(), heads, 2, 0)
    return count, [struct.unpack_from('I', heads, 64 * at + 56)[0] for at in range(2)]
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); there.bind(('127.0.0.1', 0))
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagram.connect(there.getsockname())
print(many(datagram, None), there.recv(9), there.recv(9))
loose = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(many(loose, struct.pack('=H', 2) + struct.pack('>H', {}) + bytes([127, 0, 0, 1]) + bytes(8))[0])",
        service.port()
    );
    let said = on().bash(&python(&code)).await.output;
    assert!(said.starts_with("(2, [3, 5]) b'one' b'three'\n-1"), "{said}");
    assert!(!service.was_reached());
}

#[tokio::test]
async fn an_address_that_changes_while_it_is_judged_leads_nowhere_else() {
    let service = Service::new();
    let code = format!(
        "import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None)
there = socket.socket(); there.bind(('127.0.0.1', 0)); there.listen(1000)
def name(port): return struct.pack('=H', 2) + struct.pack('>H', port) + bytes([127, 0, 0, 1]) + bytes(8)
good, bad = name(there.getsockname()[1]), name({})
memory = ctypes.create_string_buffer(good, 16)
until = time.time() + 2
def swap():
    while time.time() < until: memory[:16] = bad; memory[:16] = good
def accept():
    there.settimeout(0.1)
    while time.time() < until:
        try: there.accept()
        except OSError: pass
threads = [threading.Thread(target=swap), threading.Thread(target=accept)]
[thread.start() for thread in threads]
made = 0
while time.time() < until:
    stream = socket.socket(); made += libc.connect(stream.fileno(), memory, 16) == 0; stream.close()
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); libc.sendto(datagram.fileno(), b'x', 1, 0, memory, 16); datagram.close()
[thread.join() for thread in threads]
print(made > 0)",
        service.port()
    );
    let said = on().bash(&python(&code)).await.output;
    assert!(said.starts_with("True"), "{said}");
    assert!(!service.was_reached());
}
