//! What steers agents and tools is not written, whether it is there or not.

use std::{
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// An area whose folder has some of what is protected, and lacks the rest.
fn area() -> Area {
    let area = Area::new();
    fs::create_dir_all(area.path("work/.git/hooks")).expect("a new folder");
    fs::write(area.path("work/.git/config"), "[core]\n").expect("a new file");
    fs::write(area.path("work/vertebra.toml"), "rules").expect("a new file");
    area
}

/// Every file below a folder with what it holds.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

/// Ways to write what is protected.
pub(super) const ATTACKS: &[&str] = &[
    // What is there.
    "echo x > vertebra.toml && echo ESCAPED",
    "truncate -s 0 vertebra.toml && echo ESCAPED",
    "rm -f vertebra.toml && echo ESCAPED",
    "mv vertebra.toml ../tmp/y && echo ESCAPED",
    "echo x > ../tmp/n; mv -f ../tmp/n vertebra.toml && echo ESCAPED",
    "ln -sf /dev/null vertebra.toml && echo ESCAPED",
    "echo x > ../tmp/n; ln -f ../tmp/n vertebra.toml && echo ESCAPED",
    "ln vertebra.toml ../tmp/n && echo x > ../tmp/n && echo ESCAPED",
    "exec 3< vertebra.toml; echo x > /proc/self/fd/3 && echo ESCAPED",
    "echo x > /proc/self/cwd/vertebra.toml && echo ESCAPED",
    "echo x > .git/hooks/pre-commit && echo ESCAPED",
    "cd .git/hooks && echo x > pre-commit && echo ESCAPED",
    "mv .git ../tmp/g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
    "rmdir .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
    "git config --file .git/config core.fsmonitor evil && echo ESCAPED",
    // What is not.
    "mkdir -p .claude && echo x > .claude/settings.json && echo ESCAPED",
    "rm -f .claude; mkdir -p .claude && echo x > .claude/settings.json && echo ESCAPED",
    "echo x > .mcp.json && echo ESCAPED",
    "echo x > ../tmp/n; mv -f ../tmp/n .mcp.json && echo ESCAPED",
    "mkdir ../tmp/d; mv -T ../tmp/d .claude && echo ESCAPED",
    "ln -sfn ../tmp .claude && echo ESCAPED",
    "rmdir .envrc; echo x > .envrc && echo ESCAPED",
];

#[tokio::test]
async fn no_command_writes_what_is_protected_present_or_absent() {
    for attack in ATTACKS {
        let bare = area().bare().bash(attack).await;
        assert!(bare.output.contains("ESCAPED"), "without a sandbox: {attack}\n{}", bare.output);
    }
    works_not_in(|area| area, "landlock and seccomp and mounts").await;
}

/// Tries all of them, each in a new area that is changed to be held like this.
pub(super) async fn works_not_in(change: impl Fn(Area) -> Area, held_by: &str) {
    for attack in ATTACKS {
        let area = change(area());
        let before = contents(&area.path("work"));
        let held = area.bash(attack).await;
        assert_eq!(held.data["sandbox"], held_by, "{attack}\n{}", held.output);
        assert!(!held.output.contains("ESCAPED"), "{attack}\n{}", held.output);
        assert_eq!(contents(&area.path("work")), before, "{attack}");
    }
}

#[tokio::test]
async fn a_command_that_begins_inside_of_it_writes_nothing_either() {
    let area = area();
    let results = area.commands(&["cd .git/hooks", "pwd; echo x > pre-commit"]).await;
    assert!(results[1].output.contains("/.git/hooks\n"), "{}", results[1].output);
    assert!(!area.path("work/.git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn the_rest_of_the_folder_works_and_nothing_is_left_behind() {
    let area = area();
    let result = area
        .bash("cat vertebra.toml && touch new && mkdir -p .git/objects/aa && mv new newer && ls -a | tr '\\n' ' '")
        .await;
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
    let names: Vec<_> =
        fs::read_dir(area.path("work")).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 3, "placeholders are gone: {names:?}");
}

#[tokio::test]
async fn a_new_repository_can_be_made_and_used() {
    let area = Area::new();
    let made = "git init -q && git config user.email a@b.c && git config user.name a && echo x > f && git add f && git commit -qm one";
    let results = area
        .commands(&[made, "echo y > f && git add -A && git commit -qm two && git ls-files && git status --porcelain"])
        .await;
    assert_eq!((results[0].exit_code, &*results[1].output), (Some(0), "f"), "{}", results[0].output);
}

#[tokio::test]
async fn what_is_absent_stays_protected_while_any_command_runs() {
    let area = area();
    let script = Script::new()
        .calls([
            ("bash", r#"{"command": "touch first; until [ -e second ]; do sleep 0.02; done"}"#),
            ("bash", r#"{"command": "until [ -e first ]; do sleep 0.02; done; touch second; sleep 0.3; rm -f .mcp.json; echo x > .mcp.json && echo ESCAPED"}"#),
        ])
        .say("done");
    let (mut builder, results) = area.agent(script);
    run(&built(&mut builder), "go").await;
    assert!(!results.lock().expect("no panic")[1].output.contains("ESCAPED"));
    assert!(!area.path("work/.mcp.json").exists());
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_it() {
    let area = area();
    let result = area.bash("(setsid bash -c 'echo $$; exec sleep 1000' &) ; sleep 0.3").await;
    let pid: u32 = result.output.trim().parse().expect("a process number");
    while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// What is marked as a placeholder in the folder.
fn placeholders(area: &Area) -> Vec<PathBuf> {
    let names = fs::read_dir(area.path("work")).expect("a folder").flatten();
    let marked = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o1222 == 0o1000)
    };
    names.map(|entry| entry.path()).filter(marked).collect()
}

/// Where the agent of another process works. Only the tests that start it set this.
const OTHER: &str = "VERTEBRA_TEST_OTHER_AGENT";

#[tokio::test]
#[ignore = "it is the other agent of the two tests below, which start it"]
async fn the_other_agent() {
    let area = std::env::var_os(OTHER).map(PathBuf::from).expect("started by another test");
    let environment = Environment::default().set("TMPDIR", area.join("tmp").display().to_string());
    let bash = Bash { environment, judged: false, sandbox: held(), ..Bash::in_dir(area.join("work")) };
    // Nobody may be there to read errors.
    let command = "exec 2>/dev/null; echo $$ > shell; until [ -e go ]; do sleep 0.02; done
        rmdir .mcp.json; echo x > .mcp.json; touch tried; exec sleep 1000";
    let model = Script::new().call("bash", &json!({ "command": command }).to_string()).say("done");
    run(&built(Agent::builder(model).with(bash)), "go").await;
}

/// Another agent in the same folder, whose command runs by now; and the process number of its shell.
async fn other_agent(area: &Area) -> (Child, Pid) {
    let other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "bash::protected::the_other_agent", "--ignored"])
        .env(OTHER, area.root.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("an agent");
    let shell = || fs::read_to_string(area.path("work/shell")).ok().filter(|text| text.ends_with('\n'));
    until(|| shell().is_some()).await;
    let number = shell().and_then(|text| text.trim().parse().ok()).expect("a process number");
    (other, Pid::from_raw(number).expect("a process"))
}

async fn until(it_is_so: impl Fn() -> bool) {
    let waiting = async {
        while !it_is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it comes to be so");
}

/// Kills the shell of the other agent's command, and waits for its end.
async fn end(shell: Pid) {
    kill_process(shell, Signal::KILL).expect("the command of the other agent");
    let stat = format!("/proc/{}/stat", shell.as_raw_nonzero());
    until(|| fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
}

/// Lets the other agent's command try to put something in the place of a placeholder.
async fn is_held(area: &Area) {
    fs::write(area.path("work/go"), "").expect("a new file");
    until(|| area.path("work/tried").exists()).await;
    assert!(area.path("work/.mcp.json").is_dir(), "the command could not put a file there");
}

#[tokio::test]
async fn placeholders_of_an_agent_that_was_killed_are_taken_away_once_nothing_of_it_runs() {
    let area = area();
    let (mut other, shell) = other_agent(&area).await;
    other.kill().expect("a signal");
    other.wait().expect("its end");
    let left = placeholders(&area);
    assert!(left.contains(&area.path("work/.mcp.json")), "{left:?}");

    // Its command lives on, and its sandbox must hold: the next agent does not free the place.
    area.bash("true").await;
    is_held(&area).await;
    assert_eq!(placeholders(&area), left);

    end(shell).await;
    // What is somebody's own stays: an empty folder without the mark, and a marked one with something in it.
    fs::set_permissions(area.path("work/.vscode"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(area.path("work/.idea"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::write(area.path("work/.idea/mine"), "").expect("a new file");
    fs::set_permissions(area.path("work/.idea"), fs::Permissions::from_mode(0o1555)).expect("a mode");
    // Not even a command has to run.
    built(Agent::builder(Script::new()).with(area.bash.clone()));
    let mut names: Vec<String> = fs::read_dir(area.path("work"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".git", ".idea", ".vscode", "go", "shell", "tried", "vertebra.toml"]);
    fs::set_permissions(area.path("work/.idea"), fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[tokio::test]
async fn agents_of_two_processes_share_placeholders() {
    let area = area();
    let (mut other, shell) = other_agent(&area).await;
    let before = placeholders(&area);
    area.bash("true").await;
    assert_eq!(placeholders(&area), before, "the other one needs them still");
    is_held(&area).await;
    end(shell).await;
    assert!(other.wait().expect("its end").success());
    assert_eq!(placeholders(&area), [] as [PathBuf; 0]);
}
