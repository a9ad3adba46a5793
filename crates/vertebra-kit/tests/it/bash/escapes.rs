//! Ways out of the sandbox, tried from inside with real processes.
//!
//! An attack says `ESCAPED` when it has worked. Each of them is tried without a sandbox too: one that does not work there
//! proves nothing.

use std::{net::TcpListener, os::unix::net::UnixListener};

use vertebra::ToolStatus;

use super::*;

/// Tries an attack in a new area, bare and held. `{outside}` and `{home}` are folders there.
async fn works_bare_and_not_held(attacks: &[&str]) {
    for attack in attacks {
        let bare = try_in(&Area::new().bare(), attack).await;
        assert!(bare.output.contains("ESCAPED"), "without a sandbox this should work: {attack}\n{}", bare.output);
        works_not_in(Area::new, &[attack]).await;
    }
}

/// Tries attacks, each in a new area.
pub(super) async fn works_not_in(area: impl Fn() -> Area, attacks: &[&str]) {
    for attack in attacks {
        let area = area();
        let held = try_in(&area, attack).await;
        assert_eq!(held.status, ToolStatus::Done, "{attack}\n{}", held.output);
        assert!(!held.output.contains("ESCAPED"), "{attack}\n{}", held.output);
        assert!(!held.output.contains("PRIVATE KEY"), "{attack}\n{}", held.output);
        assert_eq!(fs::read_to_string(area.path("outside/precious")).expect("still there"), "precious", "{attack}");
        assert_eq!(fs::read_dir(area.path("outside")).expect("still there").count(), 1, "{attack}");
        assert_eq!(fs::read_to_string(area.path("home/.ssh/id")).expect("still there"), "PRIVATE KEY", "{attack}");
    }
}

async fn try_in(area: &Area, attack: &str) -> ToolResult {
    let at = |folder: &str| real(&area.path(folder));
    area.bash(&attack.replace("{outside}", &at("outside")).replace("{home}", &at("home"))).await
}

/// Ways to write what is outside.
pub(super) const WRITES: &[&str] = &[
    "echo x > {outside}/new && echo ESCAPED",
    "echo x >> {outside}/precious && echo ESCAPED",
    "truncate -s 0 {outside}/precious && echo ESCAPED",
    "rm {outside}/precious && echo ESCAPED",
    "mkdir {outside}/folder && echo ESCAPED",
    "mkfifo {outside}/pipe && echo ESCAPED",
    "ln -s x {outside}/link && echo ESCAPED",
    "ln -s {outside} link; echo x > link/new && echo ESCAPED",
    "ln -s {outside}/precious link; echo x > link && echo ESCAPED",
    "ln {outside}/precious link && echo x > link && echo ESCAPED",
    "echo x > new; ln new {outside}/new && echo ESCAPED",
    "echo x > new; mv new {outside}/new && echo ESCAPED",
    "echo x > new; mv -f new {outside}/precious && echo ESCAPED",
    "mv {outside}/precious . && echo ESCAPED",
    "mkdir d && cd d && echo x > ../../outside/new && echo ESCAPED",
    "echo x > /proc/self/root{outside}/new && echo ESCAPED",
    "cd {outside} && echo x > new && echo ESCAPED",
    "exec 3< {outside}; echo x > /proc/self/fd/3/new && echo ESCAPED",
    "exec 3< {outside}/precious; echo x > /proc/self/fd/3 && echo ESCAPED",
    "python3 -c 'import os; open(\"n\", \"w\"); os.rename(\"n\", \"{outside}/n\"); print(\"ESCAPED\")'",
    "python3 -c 'import os; os.truncate(\"{outside}/precious\", 0); print(\"ESCAPED\")'",
    "python3 -c 'import os; os.open(\"{outside}/precious\", os.O_RDONLY | os.O_TRUNC); print(\"ESCAPED\")'",
    "(setsid bash -c 'echo x > {outside}/new && echo ESCAPED'; true)",
];

#[tokio::test]
async fn nothing_outside_is_written() {
    works_bare_and_not_held(WRITES).await;
}

/// Ways to read what is denied.
pub(super) const READS: &[&str] = &[
    "cat {home}/.ssh/id && echo ESCAPED",
    "cat ~/.ssh/id && echo ESCAPED",
    "ls ~/.ssh | grep id && echo ESCAPED",
    "cat /proc/self/root{home}/.ssh/id && echo ESCAPED",
    "cat /proc/self/cwd/../home/.ssh/id && echo ESCAPED",
    "ln -s ~/.ssh link; cat link/id && echo ESCAPED",
    "ln ~/.ssh/id link && cat link && echo ESCAPED",
    "mv ~/.ssh moved && cat moved/id && echo ESCAPED && mv moved ~/.ssh",
    "cp -r ~/.ssh copy && [ -e copy/id ] && echo ESCAPED",
    "tar c -C ~ .ssh | grep -a PRIVATE && echo ESCAPED",
    "cd ~/.ssh && cat id && echo ESCAPED",
    "bash ~/.ssh/id 2>&1 | grep -q PRIVATE && echo ESCAPED",
    "diff ~/.ssh/id /dev/null | grep PRIVATE && echo ESCAPED",
    "python3 -c 'print(open(\"{home}/.ssh/id\").read(), \"ESCAPED\")'",
];

#[tokio::test]
async fn what_is_denied_is_not_read() {
    works_bare_and_not_held(READS).await;
}

#[tokio::test]
async fn work_in_the_home_folder_goes_on_around_what_is_denied_there() {
    let area = Area::new();
    let home = area.path("home");
    let area = area.with(|bash| bash.folder = Some(home.clone()));
    let result = area.bash("touch new; mkdir folder; ls; cat .ssh/id").await;
    let lists = |name: &str| result.output.lines().any(|line| line == name);
    assert!(lists("folder") && lists("new") && !result.output.contains("PRIVATE"), "{}", result.output);
}

#[tokio::test]
async fn a_denied_path_that_appears_later_is_not_read_either() {
    let area = Area::new();
    let (ready, secret) = (area.path("work/ready"), area.path("home/.netrc"));
    let appearing = tokio::spawn(async move {
        while !ready.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        fs::write(secret, "PASSWORD").expect("a new file");
    });
    let result = area.bash("touch ready; until [ -e ~/.netrc ]; do sleep 0.02; done; cat ~/.netrc").await;
    appearing.await.expect("no panic");
    assert!(result.output.contains("Permission denied") && !result.output.contains("PASSWORD"), "{}", result.output);
}

#[tokio::test]
async fn a_denied_link_is_followed_to_what_it_hides() {
    let area = Area::new();
    fs::create_dir(area.path("keys")).expect("a new folder");
    fs::write(area.path("keys/id"), "PRIVATE KEY").expect("a new file");
    std::os::unix::fs::symlink(area.path("keys"), area.path("home/.aws")).expect("a new link");
    let result = area.bash(&format!("cat ~/.aws/id; cat {}", area.path("keys/id").display())).await;
    assert!(!result.output.contains("PRIVATE KEY"), "{}", result.output);
}

#[tokio::test]
async fn a_denied_path_inside_the_folder_holds_and_the_rest_of_the_folder_works() {
    let area = Area::new().with(|bash| bash.sandbox.deny_read.push(".env".into()));
    fs::write(area.path("work/.env"), "TOKEN=hunter2").expect("a new file");
    fs::create_dir(area.path("work/src")).expect("a new folder");
    let result = area.bash("cat .env; ln .env src/e; mv .env src/e; echo fine > src/new && cat src/new").await;
    assert!(result.output.contains("fine") && !result.output.contains("hunter2"), "{}", result.output);
    assert!(area.path("work/.env").exists());
}

/// Python that tries each expression and says what became of it.
pub(super) fn attempts(setup: &str, expressions: &[&str]) -> String {
    let tries = expressions.iter().map(|expression| format!("attempt({expression:?}, lambda: {expression})\n"));
    let code = format!(
        "import ctypes, fcntl, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    if libc.syscall(*args) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def attempt(name, what):
    try:
        what()
        print('ESCAPED', name)
    except OSError as error:
        print('held', error.errno, name)
{setup}
{}",
        tries.collect::<String>()
    );
    python(&code)
}

/// Every attempt fails with an error that speaks of rights.
fn all_held(output: &str, expected: usize) {
    let held = output.lines().filter(|line| {
        ["held 1 ", "held 13 ", "held 38 ", "held 18 "].iter().any(|beginning| line.starts_with(beginning))
    });
    assert_eq!(held.count(), expected, "{output}");
}

/// Sockets that lead out: `tcp`, `udp` and `unix` listen there.
pub(super) const SOCKETS: &[&str] = &[
    "socket.create_connection(('127.0.0.1', tcp))",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))",
    "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0))",
    "socket.socket(socket.AF_INET).listen()",
    "socket.socket(socket.AF_UNIX).connect(unix)",
    "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind('named')",
    "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
];

/// Sockets that the private network does not need.
const CLOSED: &[&str] = &[
    "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
    "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "socket.socket(socket.AF_VSOCK)",
    "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "socket.socket(31, socket.SOCK_RAW, 1)", // Bluetooth
    "socket.socket(socket.AF_UNIX).connect(unix)",
    "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind('named')",
];

#[tokio::test]
async fn no_socket_leads_out() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    tcp.set_nonblocking(true).expect("a setting");
    udp.set_nonblocking(true).expect("a setting");
    let ports = (tcp.local_addr().expect("an address").port(), udp.local_addr().expect("an address").port());
    let area = Area::new();
    let socket = area.path("outside/socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let setup = format!("(tcp, udp), unix = {ports:?}, {socket:?}");
    let held = area.bash(&attempts(&setup, &[SOCKETS, CLOSED].concat())).await.output;
    for attempt in CLOSED {
        let is_held = |line: &str| {
            let line = line.strip_suffix(attempt).unwrap_or_default();
            ["held 1 ", "held 13 ", "held 97 "].contains(&line)
        };
        assert!(held.lines().any(is_held), "{attempt}\n{held}");
    }
    let would_block = std::io::ErrorKind::WouldBlock;
    assert_eq!(tcp.accept().map_err(|error| error.kind()).err(), Some(would_block), "{held}");
    assert_eq!(udp.recv(&mut [0]).map_err(|error| error.kind()).err(), Some(would_block), "{held}");
    let bare = area.bare().bash(&attempts(&setup, SOCKETS)).await.output;
    assert_eq!(bare.matches("ESCAPED").count(), SOCKETS.len(), "{bare}");
    assert!(tcp.accept().is_ok() && udp.recv(&mut [0]).is_ok());
}

#[tokio::test]
async fn names_are_not_looked_up_and_the_shell_does_not_connect() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = tcp.local_addr().expect("an address").port();
    works_bare_and_not_held(&[&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo ESCAPED")]).await;
    let area = Area::new();
    let lookup =
        area.bash("python3 -c 'import socket; socket.getaddrinfo(\"secret.example.org\", 80)' 2>&1 | tail -1").await;
    assert!(lookup.output.contains("gaierror"), "{}", lookup.output);
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn a_call_under_another_number_is_refused_too() {
    let calls = ["call(0x40000000 | 41, 2, 1, 0)", "call(0x40000000 | 521, 16, os.getppid(), 0, 0)"];
    all_held(&Area::new().bash(&attempts("", &calls)).await.output, calls.len());
}

/// Ways to reach the process `me`.
pub(super) const PROCESSES: &[&str] = &[
    "os.kill(me, 0)",
    "open(f'/proc/{me}/environ').read()",
    "open(f'/proc/{me}/maps').read()",
    "os.readlink(f'/proc/{me}/cwd')",
    "os.readlink(f'/proc/{me}/fd/0')",
    "os.stat(f'/proc/{me}/root/etc/passwd')",
];

/// Further ways, for which the right is missing anyway.
pub(super) const MEMORY: &[&str] = &[
    "open(f'/proc/{me}/mem', 'rb').read(1)",
    "open(f'/proc/{me}/mem', 'wb')",
    "open(f'/proc/{me}/oom_score_adj', 'w').write('1000')",
    "call(getattr(os, 'SYS_ptrace', 101 if os.uname().machine == 'x86_64' else 117), 16, me, 0, 0)",
    "call(310 if os.uname().machine == 'x86_64' else 270, me, 0, 0, 0, 0, 0)",
    "call(438, os.pidfd_open(me), 0, 0)",
];

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let me = std::process::id();
    let setup = format!("me = {me}");
    let all: Vec<&str> = PROCESSES.iter().chain(MEMORY).copied().collect();
    all_held(&Area::new().bash(&attempts(&setup, &all)).await.output, all.len());
    let bare = Area::new().bare().bash(&attempts(&setup, PROCESSES)).await.output;
    assert_eq!(bare.matches("ESCAPED").count(), PROCESSES.len(), "{bare}");
}

#[tokio::test]
async fn the_kernel_is_asked_for_nothing_unusual() {
    let setup = "NEWUSER, NEWNS = 0x10000000, 0x20000\nimport errno, tempfile\nx86 = os.uname().machine == 'x86_64'";
    let calls = [
        "call(272 if x86 else 97, NEWUSER)",                                       // unshare
        "call(272 if x86 else 97, NEWNS)",                                         // unshare
        "call(56 if x86 else 220, NEWUSER | 17, 0, 0, 0, 0)",                      // clone
        "call(435, ctypes.create_string_buffer(64), 64)",                          // clone3
        "call(308 if x86 else 268, os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)", // setns
        "call(165 if x86 else 40, b'/', b'/', b'', 4096, 0)",                      // mount
        "call(428, -100, b'/', 1)",                                                // open_tree
        "os.chroot('/')",
        "call(425, 8, ctypes.create_string_buffer(120))", // io_uring_setup
        "call(250 if x86 else 219, 0, -3, 0, 0, 0)",      // keyctl
        "call(321 if x86 else 280, 0, 0, 0)",             // bpf
        "call(298 if x86 else 241, 0, 0, -1, -1, 0)",     // perf_event_open
        "call(323 if x86 else 282, 1)",                   // userfaultfd
        "call(304 if x86 else 265, 0, 0, 0)",             // open_by_handle_at
        "call(246 if x86 else 104, 0, 0, 0, 0)",          // kexec_load
        "call(313 if x86 else 273, 0, b'', 0)",           // finit_module
        "os.mknod('device', 0o20600, os.makedev(1, 3))",
        "fcntl.ioctl(0, 0x5412, b'x')", // TIOCSTI
        "open('/dev/tty')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
    ];
    all_held(&Area::new().bash(&attempts(setup, &calls)).await.output, calls.len());
}

#[tokio::test]
async fn privileges_are_never_gained() {
    let status =
        Area::new().bash("grep -E '^(NoNewPrivs|Seccomp|CapInh):' /proc/self/status | tr -d '\\t'").await.output;
    assert_eq!(status, "CapInh:0000000000000000\nNoNewPrivs:1\nSeccomp:2");
    let code = "effective = next(line for line in open('/proc/self/status') if line.startswith('CapEff'))
dangerous = {'ptrace': 19, 'admin': 21, 'perfmon': 38, 'bpf': 39, 'module': 16, 'rawio': 17, 'net_raw': 13, 'mknod': 27}
print([name for name, bit in dangerous.items() if int(effective.split()[1], 16) >> bit & 1])";
    assert_eq!(Area::new().bash(&python(code)).await.output, "[]", "also not by being the superuser");
}
