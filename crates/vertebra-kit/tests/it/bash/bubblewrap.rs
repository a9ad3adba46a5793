//! Where bubblewrap makes the mounts: because it was asked for, because the system gives none to others, or because the
//! kernel has no Landlock. The same attacks, the same work.
//!
//! A test is on such a system because a seccomp filter on its thread, and on all that the thread starts, refuses the calls.

use std::{net::TcpListener, os::unix::net::UnixListener, time::Duration};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use vertebra::ToolStatus;
use vertebra_kit::bash::sandbox::{Engine, Need, Network};

use super::{
    escapes::{MEMORY, PROCESSES, READS, SOCKETS, WRITES, attempts, works_not_in},
    *,
};

const WITH_LANDLOCK: &str = "bubblewrap, landlock and seccomp";
const WITHOUT: &str = "bubblewrap and seccomp without changes of protected names (the kernel has no Landlock)";

/// The folder of `bwrap`: on the `PATH`, or where `cargo xtask test` puts it.
fn bwrap() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let unpacked = target.join("tools/bubblewrap/usr/bin");
    let mut folders = std::env::split_paths(&path).chain([unpacked]);
    folders.find(|folder| folder.join("bwrap").exists()).expect(
        "this test needs bubblewrap: install the package `bubblewrap`, or run `cargo xtask test`, which gets it",
    )
}

/// Other settings: `bwrap` is on the `PATH`.
fn found(area: Area) -> Area {
    let path = format!("{}:{}", bwrap().display(), std::env::var("PATH").expect("a PATH"));
    let environment = area.bash.environment.clone().set("PATH", path);
    area.with(|bash| bash.environment = environment)
}

/// Bubblewrap, because it was asked for.
fn asked(area: Area) -> Area {
    found(area).with(|bash| bash.sandbox.engine = Engine::Bubblewrap)
}

/// From now on this thread and all that it starts get this error from these calls.
pub(super) fn refusing(calls: &[i64], errno: i32) {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let action = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into().expect("a known architecture");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    apply_filter(&program).expect("a filter that holds");
}

/// A kernel without Landlock.
fn without_landlock() {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
    refusing(&calls, libc::ENOSYS);
}

/// A system that gives namespaces to bubblewrap (`clone`) and not to the launcher (`unshare`).
fn without_namespaces_of_our_own() {
    refusing(&[libc::SYS_unshare], libc::EPERM);
}

/// Something in the folder is hidden, which takes mounts.
fn hiding(area: Area) -> Area {
    fs::write(area.path("work/.env"), "TOKEN=hunter2").expect("a new file");
    area.with(|bash| bash.sandbox.deny_read.push(".env".into()))
}

/// What there is of a sandbox.
fn if_available(area: Area) -> Area {
    found(area).with(|bash| bash.sandbox.need = Need::IfAvailable)
}

/// Every attack on files, processes and sockets.
async fn all_is_held(change: impl Fn(Area) -> Area, held_by: &str) {
    let area = || change(Area::new());
    assert_eq!(area().bash("true").await.data["sandbox"], held_by);
    works_not_in(area, WRITES).await;
    works_not_in(area, READS).await;
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0"), std::net::UdpSocket::bind("127.0.0.1:0"));
    let (tcp, udp) = (tcp.expect("a port"), udp.expect("a port"));
    let ports = (tcp.local_addr().expect("an address").port(), udp.local_addr().expect("an address").port());
    let area = area();
    let socket = area.path("outside/socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let me = std::process::id();
    let setup = format!("(tcp, udp), unix, me = {ports:?}, '{}', {me}", socket.display());
    let kernel = ["call(165 if os.uname().machine == 'x86_64' else 40, b'/', b'/', b'', 4096, 0)", "os.chroot('/')"];
    let system = ["open('/proc/sys/kernel/core_pattern', 'w')", "os.chmod('/etc/passwd', 0o666)", "open('/dev/tty')"];
    let all = [SOCKETS, PROCESSES, MEMORY, &kernel, &system].concat();
    let output = area.bash(&attempts(&setup, &all)).await.output;
    assert_eq!(output.matches("held").count(), all.len(), "{output}");
    assert!(!output.contains("ESCAPED"), "{output}");
}

#[tokio::test]
async fn all_is_held_where_it_is_asked_for() {
    all_is_held(asked, WITH_LANDLOCK).await;
    protected::works_not_in(asked, &[WITH_LANDLOCK]).await;
}

#[tokio::test]
async fn all_is_held_where_only_bubblewrap_gets_namespaces() {
    without_namespaces_of_our_own();
    let change = |area| found(hiding(area));
    all_is_held(change, WITH_LANDLOCK).await;
    assert!(!change(Area::new()).bash("cat .env").await.output.contains("hunter2"));
}

#[tokio::test]
async fn all_but_protected_names_is_held_where_the_kernel_has_no_landlock() {
    without_landlock();
    all_is_held(if_available, WITHOUT).await;
    let refused = found(Area::new()).bash("touch ran").await.output;
    let said = "the command was not run, because a sandbox is required: it would not hold changes of protected names";
    assert!(refused.starts_with(said), "{refused}");
}

#[tokio::test]
async fn ordinary_work_goes_on() {
    held::works_in(&asked(held::at_home())).await;
    without_landlock();
    held::works_in(&if_available(held::at_home())).await;
}

#[tokio::test]
async fn privileges_are_never_gained() {
    without_landlock();
    let status = "grep -E '^(NoNewPrivs|Seccomp|CapInh):' /proc/self/status | tr -d '\\t'";
    // The filter that takes Landlock away counts as well, and is none of ours.
    let said = if_available(Area::new()).bash(status).await.output;
    assert!(said.ends_with("CapInh:0000000000000000\nNoNewPrivs:1\nSeccomp:2"), "{said}");
}

#[tokio::test]
async fn exit_codes_and_signals_pass_through() {
    let results = asked(Area::new()).commands(&["exit 42", "kill -TERM $$", "nosuchprogram", "kill -SEGV $$"]).await;
    let codes: Vec<_> = results.iter().map(|result| result.exit_code).collect();
    assert_eq!(codes, [Some(42), Some(143), Some(127), Some(139)]);
}

#[tokio::test]
async fn the_services_of_this_machine_stay_closed_with_the_network_on() {
    outside::is_closed(&asked(Area::new()).with(|bash| bash.sandbox.network = Network::On)).await;
}

#[tokio::test]
async fn where_nobody_supervises_connections_the_network_can_be_on_and_the_result_says_what_that_includes() {
    without_landlock();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let area = || if_available(Area::new());
    let code = python(&format!("import socket; socket.create_connection(('127.0.0.1', {port}))"));
    let result = area().with(|bash| bash.sandbox.network = Network::On).bash(&code).await;
    assert_eq!(result.exit_code, Some(0));
    assert!(result.output.contains("connections to this machine's ports"), "{}", result.output);
    let only = area().with(|bash| bash.sandbox.ports.extend([port])).bash("touch ran").await;
    assert!(only.output.contains("single ports of this machine take"), "{}", only.output);
}

#[tokio::test]
async fn a_denied_path_inside_the_folder_holds_and_names_can_be_made_beside_it() {
    without_landlock();
    let area = if_available(Area::new()).with(|bash| bash.sandbox.deny_read.extend([".env".into(), "keys".into()]));
    fs::write(area.path("work/.env"), "TOKEN=hunter2").expect("a new file");
    fs::create_dir(area.path("work/keys")).expect("a new folder");
    fs::write(area.path("work/keys/id"), "hunter2").expect("a new file");
    let result =
        area.bash("cat .env keys/*; ln .env e; mv .env f; mv keys k; echo x > .env; echo fine > new && cat new").await;
    assert!(result.output.contains("fine") && !result.output.contains("hunter2"), "{}", result.output);
    assert_eq!(fs::read_to_string(area.path("work/.env")).expect("still there"), "TOKEN=hunter2");
}

/// Whether some process has these words on its command line.
fn runs(words: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(words))
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_it() {
    let area = asked(Area::new());
    let own = format!("1000.{}", std::process::id());
    let sleepers = format!("setsid sleep {own} & (sleep {own} &) ; trap '' TERM; touch started");
    area.bash(&format!("{sleepers}; until [ -e started ]; do sleep 0.02; done")).await;
    let call = json!({ "command": format!("{sleepers}; sleep {own}"), "timeout_ms": 1000 });
    assert!(area.calls(&[call]).await[0].output.starts_with("timed out after 1s"));
    let gone = async {
        while runs(&format!("sleep {own}")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("all of them are gone");
}

#[tokio::test]
async fn a_bwrap_that_commands_could_have_written_is_passed_over() {
    let area = Area::new();
    let (false_one, true_one) = (area.path("work/bwrap"), bwrap());
    fs::write(&false_one, "#!/bin/sh\ntouch fooled\n").expect("a new file");
    fs::set_permissions(&false_one, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}:/usr/bin:/bin", area.path("work").display(), true_one.display());
    let environment = area.bash.environment.clone().set("PATH", path);
    let area = area.with(|bash| (bash.environment, bash.sandbox.engine) = (environment, Engine::Bubblewrap));
    assert_eq!(area.bash("ls").await.data["sandbox"], WITH_LANDLOCK);
    assert!(!area.path("work/fooled").exists());
}

/// Nothing on the `PATH` but the shell.
fn only_bash(area: Area) -> Area {
    let folder = area.path("bin");
    fs::create_dir(&folder).expect("a new folder");
    std::os::unix::fs::symlink("/bin/bash", folder.join("bash")).expect("a link");
    let environment = area.bash.environment.clone().set("PATH", folder.display().to_string());
    area.with(|bash| bash.environment = environment)
}

#[tokio::test]
async fn without_it_nothing_runs_where_it_is_asked_for() {
    let area = only_bash(Area::new()).with(|bash| {
        (bash.sandbox.engine, bash.sandbox.need) = (Engine::Bubblewrap, Need::IfAvailable);
    });
    let result = area.bash("echo > ran").await;
    let said = "the command was not run: `Sandbox::engine` asks for bubblewrap, and there is no `bwrap` on the PATH";
    assert_eq!((result.status, &*result.output), (ToolStatus::Failed, said));
    assert!(!area.path("work/ran").exists());
}

#[tokio::test]
async fn without_it_and_without_landlock_a_required_sandbox_refuses_and_another_says_so() {
    without_landlock();
    let area = only_bash(Area::new());
    let why = "this kernel has no Landlock, or it is not enabled (it takes Linux 5.13 and `lsm=landlock`), and there is \
               no `bwrap` on the PATH either";
    let required = area.bash("echo > ran").await.output;
    assert_eq!(required, format!("the command was not run, because a sandbox is required: {why}"));
    assert!(!area.path("work/ran").exists());
    let optional = area.with(|bash| bash.sandbox.need = Need::IfAvailable).bash("echo ran").await.output;
    assert_eq!(optional, format!("[no sandbox: {why}]\nran"));
}

#[tokio::test]
async fn a_bwrap_that_gets_no_namespaces_either_leaves_what_the_launcher_can_do() {
    without_namespaces_of_our_own();
    let area = hiding(Area::new());
    let folder = area.path("bin");
    fs::create_dir(&folder).expect("a new folder");
    fs::write(folder.join("bwrap"), "#!/bin/sh\necho 'bwrap: No permissions' >&2; exit 1\n").expect("a new file");
    fs::set_permissions(folder.join("bwrap"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a PATH"));
    let environment = area.bash.environment.clone().set("PATH", path);
    let area = area.with(|bash| (bash.environment, bash.sandbox.need) = (environment, Need::IfAvailable));
    let result = area.bash("cat .env; mkdir d 2>/dev/null; echo ran").await;
    assert_eq!(result.data["sandbox"], "landlock and seccomp", "{}", result.output);
    assert!(result.output.starts_with("ran") && !result.output.contains("hunter2"), "{}", result.output);
}
