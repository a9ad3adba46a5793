//! Unix sockets with a name: a command reaches those that it has made, and no others.

use std::os::unix::net::UnixListener;

use vertebra_kit::bash::sandbox::Network;

use super::{escapes::attempts, *};

/// As `tsx` and Python's managers do it: one process listens in the folder for temporary files, another connects.
const OWN: &str = "import os, socket, sys, tempfile
for path in [tempfile.gettempdir() + '/own.pipe', 'relative.sock', os.getcwd() + '/absolute.sock']:
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    assert server.getsockname() == path, server.getsockname()
    if os.fork() == 0:
        client = socket.socket(socket.AF_UNIX); client.connect(path); client.send(b'hello'); os._exit(0)
    there, _ = server.accept(); assert there.recv(5) == b'hello'; os.wait()
    try: socket.socket(socket.AF_UNIX).bind(path)
    except OSError as error: assert error.errno == 98, error
    os.unlink(path)
    try: socket.socket(socket.AF_UNIX).connect(path)
    except FileNotFoundError: print('connected')";

#[tokio::test]
async fn a_command_connects_to_the_sockets_that_it_makes() {
    for area in [Area::new(), Area::new().with(|bash| bash.sandbox.network = Network::On)] {
        let result = area.bash(&python(OWN)).await;
        assert_eq!(result.output, "connected\nconnected\nconnected");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_does_not_stop_other_calls() {
    let code = "import os, socket, threading, time
server = socket.socket(socket.AF_UNIX); server.bind('busy'); server.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]
threads = [threading.Thread(target=client.connect, args=('busy',)) for client in clients]
[thread.start() for thread in threads]
time.sleep(0.3); open('meanwhile', 'w').close()
[server.accept() for _ in clients]; [thread.join() for thread in threads]
print('all of them', os.path.exists('meanwhile'))";
    assert_eq!(Area::new().bash(&python(code)).await.output, "all of them True");
}

/// Ways to a socket that somebody else made, in a folder that commands may write and elsewhere.
const OTHERS: &[&str] = &[
    "socket.socket(socket.AF_UNIX).connect(outside)",
    "socket.socket(socket.AF_UNIX).connect(inside)",
    "(os.symlink(inside, 'link'), socket.socket(socket.AF_UNIX).connect('link'))",
    "(os.link(inside, 'second'), socket.socket(socket.AF_UNIX).connect('second'))",
    "(os.rename(inside, 'moved'), socket.socket(socket.AF_UNIX).connect('moved'))",
    "(os.chdir(os.path.dirname(outside)), socket.socket(socket.AF_UNIX).connect('there'))",
    "socket.socket(socket.AF_UNIX).connect(f'/proc/self/fd/{os.open(os.path.dirname(outside), os.O_PATH)}/there')",
    "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    "socket.socket(socket.AF_UNIX).connect('\\0' + name)",
    "socket.socket(socket.AF_UNIX).bind(outside + '2')",
    "(os.makedirs('.git/hooks', exist_ok=True), socket.socket(socket.AF_UNIX).bind('.git/hooks/pre-commit'))",
];

#[tokio::test]
async fn a_socket_that_somebody_else_made_is_out_of_reach_wherever_it_is() {
    use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};
    for network in [Network::Off, Network::On] {
        let area = Area::new().with(|bash| bash.sandbox.network = network.clone());
        let (outside, inside) = (area.path("outside/there"), area.path("tmp/there"));
        let servers = [&outside, &inside].map(|path| UnixListener::bind(path).expect("a socket"));
        let name = format!("vertebra-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let hidden = UnixListener::bind_addr(&address).expect("a socket");
        let setup = format!("outside, inside, name = {outside:?}, {inside:?}, {name:?}");
        let output = area.bash(&attempts(&setup, OTHERS)).await.output;
        assert!(!output.contains("ESCAPED"), "{output}");
        assert_eq!(output.matches("held").count(), OTHERS.len(), "{output}");
        assert!(std::path::Path::new(&inside).exists(), "it was moved: {output}");
        for server in servers.iter().chain([&hidden]) {
            server.set_nonblocking(true).expect("a setting");
            assert!(server.accept().is_err(), "somebody has connected");
        }
    }
}

/// Swaps what a number stands for, and what an address says, while the supervisor looks at them.
#[tokio::test]
async fn no_swap_while_a_socket_connects_leads_to_another_one() {
    let area = Area::new();
    let inside = area.path("tmp/there");
    let server = UnixListener::bind(&inside).expect("a socket");
    let code = format!(
        "import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
other = struct.pack('H', socket.AF_UNIX) + {inside:?}.encode() + b'\\0'
listening = socket.create_server(('127.0.0.1', 0)); port = listening.getsockname()[1]
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen()
inet = struct.pack('!HH4s8x', 0, port, bytes([127, 0, 0, 1])); inet = struct.pack('H', socket.AF_INET) + inet[2:]
named = struct.pack('H', socket.AF_UNIX) + b'own\\0'
addresses = [part.ljust(110, b'\\0') for part in (inet, named, other)]
memory = ctypes.create_string_buffer(110)
number = os.dup(listening.fileno()); end = time.time() + 4; over = False
def swap():
    turn = 0
    while not over:
        ctypes.memmove(memory, addresses[turn % 3], 110); turn += 1
        fresh = socket.socket(socket.AF_UNIX if turn % 2 else socket.AF_INET); fresh.setblocking(False)
        os.dup2(fresh.fileno(), number); fresh.close()
threads = [threading.Thread(target=swap) for _ in range(2)]; [thread.start() for thread in threads]
tries = 0
while time.time() < end:
    for length in (16, 110, len(other)): libc.connect(number, memory, length); tries += 1
over = True; [thread.join() for thread in threads]; print('tried' if tries > 100 else tries)"
    );
    let result = area.bash(&python(&code)).await;
    assert!(result.output.starts_with("tried"), "{}", result.output);
    server.set_nonblocking(true).expect("a setting");
    assert!(server.accept().is_err(), "somebody has connected");
}
