//! What steers agents and tools is not written, whether it is there or not.

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
