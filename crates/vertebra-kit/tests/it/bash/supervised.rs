//! The supervisor of a command: it lives as long as the command, nothing outlives it, and no call goes around it.

use std::{
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    escapes::attempts,
    protected::{area, contents},
    *,
};

pub(super) async fn until(it_is_so: impl Fn() -> bool) {
    let waiting = async {
        while !it_is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it comes to be so");
}

fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Where the agent of another process works. Only the test that starts it sets this.
const OTHER: &str = "VERTEBRA_TEST_OTHER_AGENT";

#[tokio::test]
#[ignore = "it is the other agent of the test below, which starts it"]
async fn the_other_agent() {
    let area = std::env::var_os(OTHER).map(PathBuf::from).expect("started by another test");
    let environment = Environment::default().set("TMPDIR", area.join("tmp").display().to_string());
    let bash = Bash { environment, judged: false, sandbox: held(), ..Bash::in_dir(area.join("work")) };
    let command = "echo $$ > shell; sleep 1000 & echo $! > child; setsid sleep 1000 & echo $! > session
        (setsid bash -c '(sleep 1000 & echo $! > orphan)' &); until [ -s orphan ]; do sleep 0.02; done
        trap '' TERM HUP INT; touch all; sleep 1000";
    let model = Script::new().call("bash", &json!({ "command": command }).to_string()).say("done");
    run(&built(Agent::builder(model).with(bash)), "go").await;
}

#[tokio::test]
async fn the_commands_of_an_agent_that_is_killed_die_with_it() {
    let area = Area::new();
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "bash::supervised::the_other_agent", "--ignored"])
        .env(OTHER, area.root.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("an agent");
    until(|| area.path("work/all").exists()).await;
    let number = |name: &str| -> u32 {
        fs::read_to_string(area.path(&format!("work/{name}")))
            .expect("a file")
            .trim()
            .parse()
            .expect("a process number")
    };
    let pids = ["shell", "child", "session", "orphan"].map(number);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    other.kill().expect("a signal");
    other.wait().expect("its end");
    until(|| !pids.iter().any(|pid| is_running(*pid))).await;
}

#[tokio::test]
async fn the_supervisor_is_out_of_reach_of_the_command() {
    let setup = "me = os.getppid()";
    let tries = [
        "os.kill(me, 9)",
        "os.kill(me, 19)",
        "open(f'/proc/{me}/mem', 'rb').read(1)",
        "open(f'/proc/{me}/environ').read()",
        "open(f'/proc/{me}/fd/0')",
        "open(f'/proc/{me}/comm', 'w').write('x')",
        "os.readlink(f'/proc/{me}/cwd')",
    ];
    let area = Area::new();
    // The parent of the shell, not of Python.
    let command = attempts(&setup.replace("os.getppid()", "int(os.environ['MINDER'])"), &tries);
    let output = area.bash(&format!("export MINDER=$PPID; {command}\ntouch still && ls")).await.output;
    assert!(!output.contains("ESCAPED") && output.ends_with("still"), "{output}");
}

/// Calls by which a command could reach other processes, or what they share.
const REACHING: &[&str] = &[
    "call(302, me, 1, limits, 0)",             // prlimit64: RLIMIT_FSIZE
    "call(203, me, 8, mask)",                  // sched_setaffinity
    "call(144, me, 0, zero)",                  // sched_setscheduler
    "call(142, me, zero)",                     // sched_setparam
    "call(314, me, attributes, 0)",            // sched_setattr
    "call(141, 0, me, 19)",                    // setpriority of a process
    "call(141, 2, os.getuid(), 19)",           // setpriority of a user
    "call(141, 1, os.getpgid(me), 19)",        // setpriority of a group
    "call(251, 1, me, 0x6000)",                // ioprio_set of a process
    "call(251, 3, os.getuid(), 0x6000)",       // ioprio_set of a user
    "call(29, 0x7E57, 64, 0o1600)",            // shmget
    "call(68, 0x7E57, 0o1600)",                // msgget
    "call(64, 0x7E57, 1, 0o1600)",             // semget
    "call(240, b'vertebra', 0o102, 0o600, 0)", // mq_open
    "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "open('/dev/shm/' + secret).read()",
    "open('/dev/shm/' + secret, 'r+')",
    "os.unlink('/dev/shm/' + secret)",
    "os.listdir('/dev/shm')",
];

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn no_call_reaches_other_processes_or_what_they_share() {
    // In a group of its own: without a sandbox, the priority of its whole group changes.
    let victim = Command::new("sleep").arg("1000").process_group(0).stdout(Stdio::null()).spawn().expect("a process");
    let mut victim = Ended(victim);
    let secret = format!("vertebra-test-{}", std::process::id());
    let setup = format!(
        "me, secret = {}, {secret:?}
limits, mask, zero = struct.pack('QQ', 2**63, 2**63), struct.pack('Q', 1), struct.pack('i', 0)
attributes = struct.pack('IIQiIQQQ', 48, 0, 0, 0, 0, 0, 0, 0)",
        victim.0.id()
    );
    fs::write(format!("/dev/shm/{secret}"), "secret").expect("a shared file");
    let held = Area::new().bash(&attempts(&setup, REACHING)).await.output;
    assert!(!held.contains("ESCAPED"), "{held}");
    assert_eq!(held.matches("held").count(), REACHING.len(), "{held}");
    // Without a sandbox, these two would change every process of whoever runs the tests.
    let alone: Vec<&str> = REACHING.iter().copied().filter(|call| !call.contains("os.getuid()")).collect();
    let bare = Area::new().bare().bash(&attempts(&setup, &alone)).await.output;
    let tidy = "ipcrm -M 0x7E57 -Q 0x7E57 -S 0x7E57; rm -f /dev/mqueue/vertebra";
    _ = Command::new("bash").args(["-c", tidy]).stderr(Stdio::null()).status();
    _ = fs::remove_file(format!("/dev/shm/{secret}"));
    // Without `CAP_SYS_NICE`, a user cannot take back a priority; and a machine may lack message queues.
    let worked = bare.matches("ESCAPED").count();
    assert!(worked + 3 >= alone.len(), "without a sandbox these should work: {bare}");
    victim.0.kill().expect("a signal");
}

/// Ends a process with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_call_that_the_sandbox_does_not_know_is_missing() {
    let unknown =
        ["call(437, -100, b'x', bytes(24), 24)", "call(435, bytes(64), 64)", "call(425, 8, bytes(120))", "call(999)"];
    let output = Area::new().bash(&attempts("", &unknown)).await.output;
    assert_eq!(output.matches("held 38 ").count(), unknown.len(), "{output}");
}

/// Attacks that swap what a path leads to while it is being used. Each runs for a while and must never have worked.
const RACES: &[&str] = &[
    // The path of `open`, in memory.
    "import threading, ctypes, os, time
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b'aaaaaa')
done = False
def swap():
    while not done:
        path.raw = b'.envrc\\0'
        path.raw = b'aaaaaa\\0'
threading.Thread(target=swap, daemon=True).start()
end = time.time() + 2
while time.time() < end:
    file = libc.open(path, 0o101, 0o644)
    if file >= 0: os.close(file)
done = True",
    // A folder exchanged with a link to the protected one.
    "import threading, os, time
os.makedirs('d/pre', exist_ok=True)
os.symlink(os.getcwd() + '/.git/hooks', 'l')
done = False
def swap():
    while not done:
        try:
            os.rename('d', 'e'); os.rename('l', 'd'); os.rename('d', 'l'); os.rename('e', 'd')
        except OSError: pass
threading.Thread(target=swap, daemon=True).start()
end = time.time() + 2
while time.time() < end:
    try: os.close(os.open('d/pre-commit', os.O_WRONLY | os.O_CREAT, 0o755))
    except OSError: pass
done = True",
    // The folder that another thread stands in.
    "import threading, os, time
top = os.getcwd()
done = False
def move():
    while not done:
        os.chdir(top + '/.git/hooks'); os.chdir(top + '/src')
os.mkdir('src')
threading.Thread(target=move, daemon=True).start()
end = time.time() + 2
while time.time() < end:
    try: os.close(os.open('pre-commit', os.O_WRONLY | os.O_CREAT, 0o755))
    except OSError: pass
done = True",
    // The number of an open folder.
    "import threading, os, time
free, kept = os.open('.git', os.O_RDONLY), os.open('.git/hooks', os.O_RDONLY)
at = os.dup(free)
done = False
def swap():
    while not done:
        os.dup2(kept, at); os.dup2(free, at)
threading.Thread(target=swap, daemon=True).start()
end = time.time() + 2
while time.time() < end:
    try: os.close(os.open('pre-commit', os.O_WRONLY | os.O_CREAT, 0o755, dir_fd=at))
    except OSError: pass
done = True",
];

#[tokio::test]
async fn no_swap_while_a_path_is_used_leads_to_what_is_protected() {
    for race in RACES {
        let area = area();
        let before = contents(&area.path("work/.git/hooks"));
        let result = area.bash(&python(race)).await;
        assert_eq!(result.exit_code, Some(0), "{race}\n{}", result.output);
        assert_eq!(contents(&area.path("work/.git/hooks")), before, "{race}");
        assert!(!area.path("work/.envrc").exists(), "{race}");
    }
}

#[tokio::test]
async fn a_file_that_is_held_open_cannot_be_written_after_it_was_judged() {
    let area = area();
    let command = "exec 3<> .git/config.lock; git config --file n --list >/dev/null 2>&1; cat .git/config >&3
        printf '[user]\\n\\tname = b\\n' >&3; mv .git/config.lock .git/config && echo moved; printf '[core]\\n\\tfsmonitor = evil\\n' >&3
        cat .git/config";
    let output = area.bash(command).await.output;
    assert!(output.contains("moved") && output.contains("name = b") && !output.contains("evil"), "{output}");
}

#[tokio::test]
async fn a_second_name_of_a_protected_file_does_not_lead_to_it() {
    let area = area();
    fs::write(area.path("work/.envrc"), "mine").expect("a new file");
    for (from, to) in [(".envrc", "a"), (".git/hooks/post-merge", "b"), (".git/config", "c")] {
        fs::hard_link(area.path(&format!("work/{from}")), area.path(&format!("work/{to}"))).expect("a link");
    }
    let before = contents(&area.path("work"));
    let output = area
        .bash("for f in a b c; do echo x > $f && echo ESCAPED; chmod +x a && echo ESCAPED; done; ln a d && echo x > d")
        .await;
    assert!(!output.output.contains("ESCAPED"), "{}", output.output);
    assert_eq!(contents(&area.path("work")), before);
}

#[tokio::test]
async fn a_folder_that_was_replaced_is_refused() {
    let area = Area::new();
    let outside = area.path("outside");
    let area = area.with(|bash| bash.sandbox.write.push(outside.clone()));
    // The command of another agent that may write above it, which a policy would not know of.
    let swap = format!(
        "cd {0} && mv work w2 && ln -s outside work && mv outside o2 && ln -s home outside",
        area.root.path().display()
    );
    let script = Script::new()
        .call("bash", r#"{"command": "echo first > f"}"#)
        .say("first run")
        .call("bash", r#"{"command": "echo second > f"}"#)
        .say("second run, same session");
    let (mut builder, results) = area.agent(script);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert!(Command::new("bash").args(["-c", &swap]).status().expect("a shell").success());
    session.prompt("again").await.expect("a run");
    session.close().await;
    let results = results.lock().expect("no panic");
    let last = &results[1].output;
    assert!(last.contains("is not the folder that this session began with"), "{last}");
    assert!(!area.path("o2/f").exists());
}

#[tokio::test]
async fn a_rule_about_a_path_is_not_undone_by_moving_a_folder_above_it() {
    for in_temporary in [false, true] {
        let area = Area::new().with(|bash| bash.sandbox.deny_read.push("config/deep/secret".into()));
        // A project among temporary files.
        let root = real(area.root.path());
        let environment = area.bash.environment.clone().set("TMPDIR", root);
        let area = if in_temporary { area.with(|bash| bash.environment = environment) } else { area };
        fs::create_dir_all(area.path("work/config/deep")).expect("a folder");
        fs::write(area.path("work/config/deep/secret"), "hunter2").expect("a file");
        let said = area
            .commands(&[
                "mv config c2; mv config/deep d2; mv config/deep/secret s2; ln config/deep/secret s3; cd ..; mv work w2; echo tried",
                "cd ..; cat */c2/deep/secret */d2/secret */s2 */s3 w2/config/deep/secret */config/deep/secret",
            ])
            .await;
        assert!(said[0].output.contains("tried"), "{}", said[0].output);
        assert!(!said.iter().any(|said| said.output.contains("hunter2")), "{}", said[1].output);
        assert!(area.path("work/config/deep/secret").exists());
    }
}

/// All of these tests again as an ordinary user.
#[test]
#[expect(clippy::disallowed_methods, reason = "the tests end by themselves and print little")]
fn all_of_it_holds_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test was run as one.
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("a mode");
    // The tests may have been built where only the superuser can read.
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy of this program");
    fs::copy(super::launcher(), program.with_file_name("vertebra-sandbox")).expect("a copy of the launcher");
    let mut command = Command::new(program);
    command.args(["bash::protected", "bash::everyday::everyday", "bash::escapes", "bash::supervised", "bash::sandbox"]);
    command.args([
        "bash::everyday::git_archives",
        "bash::network",
        "bash::proxy",
        "bash::needs",
        "bash::caches",
        "bash::outside",
    ]);
    command.args(["--test-threads=2", "--show-output", "--skip", "for_an_ordinary_user"]);
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    std::os::unix::process::CommandExt::gid(&mut command, 65534);
    command.env("TMPDIR", folder.path()).env("HOME", folder.path()).env_remove("RUST_BACKTRACE");
    // What is in the superuser's home is out of reach.
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let output = command.current_dir(folder.path()).output().expect("the tests");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", text.get(text.find("failures:").unwrap_or(0)..).unwrap_or(&text));
    // Programs that this user does not have.
    for line in text.lines().filter(|line| line.starts_with("NOT TRIED")) {
        println!("{line}");
    }
    assert!(
        text.contains("test bash::protected::no_command_changes_what_is_protected_present_or_absent ... ok"),
        "{text}"
    );
}
