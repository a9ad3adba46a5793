//! Whether there is a sandbox, and what is said when there is none.

use vertebra::ToolStatus;
use vertebra_kit::{
    bash::sandbox::{Engine, Need},
    permissions::{Mode, Permissions},
};

use super::*;

#[tokio::test]
async fn a_program_that_cannot_launch_says_so_in_every_output() {
    // A test program has no `main` of its own, so it never called `launch_if_asked`.
    let area = Area::new().with(|bash| bash.sandbox = Sandbox::default());
    let result = area.bash("echo ran").await;
    let said =
        "[no sandbox: this program does not call `vertebra_kit::bash::sandbox::launch_if_asked()` in `main`]\nran";
    assert_eq!((result.status, &*result.output), (ToolStatus::Done, said));
    assert!(result.data["sandbox"].as_str().is_some_and(|state| state.starts_with("none: ")));
}

#[tokio::test]
async fn a_required_sandbox_that_is_not_there_refuses_to_run() {
    let area = Area::new().with(|bash| bash.sandbox = Sandbox::required());
    let result = area.bash("touch ran").await;
    assert_eq!(result.status, ToolStatus::Failed);
    assert!(result.output.starts_with("the command was not run, because a sandbox is required: "), "{}", result.output);
    assert!(!area.path("work/ran").exists());
}

#[tokio::test]
async fn a_command_that_needs_no_approval_because_of_the_sandbox_does_not_run_without_it() {
    let ran = async |area: Area, command: &str| {
        let script = Script::new().call("bash", &json!({ "command": command }).to_string()).say("done");
        let (mut builder, results) = area.agent(script);
        let permissions = Permissions::default().mode(Mode::Sandboxed).expect("a mode");
        permissions.rules().sandboxed(&area.bash.lift());
        builder.with(permissions);
        run(&built(&mut builder), "go").await;
        let result = results.lock().expect("no panic").remove(0);
        (result.output, area.path("work/ran").exists())
    };
    // This program cannot launch a sandbox, which is none that anybody asked to have in any case.
    let (said, exists) = ran(Area::new().with(|bash| bash.sandbox = Sandbox::default()), "touch ran").await;
    assert!(said.starts_with("the command was not run, because a sandbox is required: "), "{said}");
    assert!(!exists);
    let optional = Sandbox { need: Need::IfAvailable, ..super::held() };
    let (said, exists) = ran(Area::new().with(|bash| bash.sandbox = optional), "touch ran").await;
    assert!(exists, "{said}");
}

#[tokio::test]
async fn a_launcher_that_is_none_runs_nothing() {
    for launcher in ["/no/such/launcher", "/bin/true"] {
        let sandbox = Sandbox { launcher: Some(launcher.into()), need: Need::IfAvailable, ..Sandbox::default() };
        let area = Area::new().with(|bash| bash.sandbox = sandbox);
        let result = area.bash("touch ran").await;
        assert!(!area.path("work/ran").exists(), "{}", result.output);
        assert_eq!(result.status, ToolStatus::Failed, "{launcher}: {}", result.output);
    }
}

#[tokio::test]
async fn a_sandbox_that_would_write_everywhere_is_refused() {
    let area = Area::new().with(|bash| bash.folder = Some("/".into()));
    let result = area.bash("true").await;
    assert_eq!(result.status, ToolStatus::Failed);
    assert!(result.output.contains("set `AgentBuilder::working_directory` or `Bash::in_dir`"), "{}", result.output);
}

#[tokio::test]
async fn switched_off_it_is_off_and_says_nothing() {
    let result = Area::new().bare().bash("echo x > ../outside/new && cat ../outside/new").await;
    assert_eq!((&*result.output, &result.data["sandbox"]), ("x", &json!("off")));
}

/// A launcher on a system that has no supervisor for files, because another one listens already: every first try of a command
/// fails. Otherwise it is the real one.
fn without_supervisor(area: &Area) -> PathBuf {
    let launcher = area.path("launcher");
    let real = super::launcher().display().to_string();
    let script = format!(
        "#!/bin/bash\nif [ \"$1\" = 'vertebra sandbox: launch' ] && mkdir \"$0.tried\" 2> /dev/null; then\n\
         echo 'no supervisor: Device or resource busy' >&2; exit 126\nfi\nrm -rf \"$0.tried\"; exec '{real}' \"$@\"\n"
    );
    fs::write(&launcher, script).expect("a new file");
    fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    launcher
}

#[tokio::test]
async fn a_sandbox_that_cannot_protect_names_says_so_in_every_output() {
    let area = Area::new();
    let launcher = Some(without_supervisor(&area));
    let area = area.with(|bash| bash.sandbox = Sandbox { launcher, engine: Engine::Own, ..Sandbox::default() });
    for result in area.commands(&["echo ran > f; cat f", "echo again"]).await {
        let said = "[partial sandbox: it does not hold changes of protected names (Device or resource busy)]";
        assert!(result.output.starts_with(said), "{}", result.output);
        assert_eq!(result.exit_code, Some(0), "{}", result.output);
    }
}

#[tokio::test]
async fn a_required_sandbox_that_cannot_protect_names_refuses_to_run() {
    let area = Area::new();
    let launcher = Some(without_supervisor(&area));
    let area = area.with(|bash| (bash.sandbox.launcher, bash.sandbox.engine) = (launcher, Engine::Own));
    let result = area.bash("touch ran").await;
    let said = "the command was not run, because a sandbox is required: it would not hold changes of protected names";
    assert!(result.output.starts_with(said), "{}", result.output);
    assert!(!area.path("work/ran").exists());
}

#[tokio::test]
async fn a_file_that_somebody_left_open_does_not_reach_commands() {
    let area = Area::new();
    let open = fs::File::open(area.path("home/.ssh/id")).expect("a file");
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).expect("a flag");
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&open);
    let command = format!("cat <&{descriptor}");
    assert_eq!(area.bash(&command).await.exit_code, Some(1));
}

#[tokio::test]
async fn no_command_line_shows_what_is_denied() {
    let area = Area::new().with(|bash| bash.sandbox.deny_read.push("/nowhere/denied-4711".into()));
    // Every process of the machine, those of the launcher among them; the brackets keep `grep` from finding itself.
    let lines = "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' '\\n'";
    let result =
        area.bash(&format!("{lines} | grep -c 'vertebra sandbo[x]'; {lines} | grep -c 'denied-471[1]'; true")).await;
    let counts: Vec<&str> = result.output.lines().collect();
    assert!(counts.len() == 2 && counts[0] != "0" && counts[1] == "0", "{}", result.output);
}
