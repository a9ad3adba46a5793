//! What steers agents and tools is not changed by commands, whether it exists or not, and nothing shows that it is guarded.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// An area whose folder is a repository, has some of what is protected, and lacks the rest.
#[expect(clippy::disallowed_methods, reason = "git ends by itself and prints little")]
pub(super) fn area() -> Area {
    let area = Area::new();
    let made = "git init -q . && git config user.email a@b.c && git config user.name a && echo x > f && git add f && \
        git commit -qm one && echo y > f && git commit -qam two && rm -f .git/hooks/* && echo exit > .git/hooks/post-merge";
    let made = std::process::Command::new("bash").args(["-c", made]).current_dir(area.path("work")).output();
    assert!(made.expect("git").status.success());
    fs::write(area.path("work/vertebra.toml"), "rules").expect("a new file");
    area
}

/// Every file below a folder with what it holds, by its path there.
pub(super) fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            let mode = entry.metadata().expect("it is there").permissions().mode();
            if kind.is_symlink() {
                found.push((name, format!("-> {}", fs::read_link(&path).expect("a link").display())));
            } else if kind.is_dir() {
                found.push((format!("{name}/"), format!("{mode:o}")));
                folders.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).unwrap_or_default();
                found.push((name, format!("{mode:o} {}", String::from_utf8_lossy(&bytes))));
            } else {
                found.push((name, format!("{mode:o} {kind:?}")));
            }
        }
    }
    found.sort();
    found
}

/// Ways to change what is protected. Each says `ESCAPED` when it has worked.
pub(super) const ATTACKS: &[&str] = &[
    // What is there.
    "echo x > vertebra.toml && echo ESCAPED",
    "truncate -s 0 vertebra.toml && echo ESCAPED",
    "python3 -c 'import os; os.truncate(\"vertebra.toml\", 0); print(\"ESCAPED\")'",
    "rm -f vertebra.toml && echo ESCAPED",
    "mv vertebra.toml ../tmp/y && echo ESCAPED",
    "echo x > ../tmp/n; mv -f ../tmp/n vertebra.toml && echo ESCAPED",
    "ln -sf /dev/null vertebra.toml && echo ESCAPED",
    "echo x > ../tmp/n; ln -f ../tmp/n vertebra.toml && echo ESCAPED",
    "ln vertebra.toml ../tmp/n && echo x > ../tmp/n && echo ESCAPED",
    "ln -s vertebra.toml ../tmp/l; ln -sf $PWD/vertebra.toml l; echo x > l && echo ESCAPED",
    "exec 3< vertebra.toml; echo x > /proc/self/fd/3 && echo ESCAPED",
    "exec 3< vertebra.toml; echo x > /dev/fd/3 && echo ESCAPED",
    "echo x > /proc/self/cwd/vertebra.toml && echo ESCAPED",
    "echo x > /proc/self/root$PWD/vertebra.toml && echo ESCAPED",
    "mkdir d; cd d; echo x > .././/vertebra.toml && echo ESCAPED",
    "dd if=/dev/zero of=vertebra.toml count=1 2>/dev/null && echo ESCAPED",
    "python3 -c 'import os; os.open(\"vertebra.toml\", os.O_RDONLY | os.O_TRUNC); print(\"ESCAPED\")'",
    "sed -i s/rules/x/ vertebra.toml && echo ESCAPED",
    // What is not.
    "mkdir -p .claude && echo x > .claude/settings.json && echo ESCAPED",
    "mkdir .Claude && echo ESCAPED",
    "echo x > .ENVRC && echo ESCAPED",
    "mkdir -p sub && echo x > sub/.envrc && echo ESCAPED",
    "echo x > .mcp.json && echo ESCAPED",
    "echo x > ../tmp/n; mv -f ../tmp/n .mcp.json && echo ESCAPED",
    "echo x > n; mv n .mcp.json && echo ESCAPED",
    "echo x > n; ln n .mcp.json && echo ESCAPED",
    "mkdir ../tmp/d; mv -T ../tmp/d .claude && echo ESCAPED",
    "ln -sfn ../tmp .claude && echo ESCAPED",
    "echo x > .envrc && echo ESCAPED",
    "mkfifo .envrc && echo ESCAPED",
    "ln -s .envrc l; echo x > l && echo ESCAPED",
    "mkdir d; ln -s $PWD d/up; echo x > d/up/.envrc && echo ESCAPED",
    "mkdir -p ../tmp/d/.claude; echo x > ../tmp/d/.claude/s; mv ../tmp/d sub; [ -e sub/.claude/s ] && echo ESCAPED",
    "mkdir -p node_modules/d; echo x > node_modules/d/.envrc; mv node_modules/d d; [ -e d/.envrc ] && echo ESCAPED",
    "mkdir -p target/package/d; echo x > target/package/d/.envrc; mv target t; [ -e t/package/d/.envrc ] && echo ESCAPED",
    "mkdir -p target/package/d; echo x > target/package/d/.envrc; mv target/package p; [ -e p/d/.envrc ] && echo ESCAPED",
    "tar c --transform s,f,.envrc, f | tar x && echo ESCAPED",
    "cp f .envrc && echo ESCAPED",
    "python3 -c 'import os; d = os.open(\".\", os.O_RDONLY); os.open(\".envrc\", os.O_WRONLY | os.O_CREAT, dir_fd=d); print(\"ESCAPED\")'",
    "mkdir x; python3 -c 'import ctypes, os; l = ctypes.CDLL(None); os.mkdir(\"y\"); \
        print(\"ESCAPED\" if l.renameat2(-100, b\"x\", -100, b\".claude\", 0) == 0 else \"no\")'",
    // Hooks.
    "echo x > .git/hooks/pre-commit && echo ESCAPED",
    "cd .git/hooks && echo x > pre-commit && echo ESCAPED",
    "mv .git ../tmp/g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
    "mv .git/hooks .git/h && mkdir .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
    "rm -r .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
    "rm -r .git/hooks; ln -s ../tmp .git/hooks && [ -L .git/hooks ] && echo ESCAPED",
    "echo x > .git/hooks/a.sample; mv .git/hooks/a.sample .git/hooks/pre-commit && echo ESCAPED",
    "echo x > .git/hooks/a.sample; ln .git/hooks/a.sample .git/hooks/pre-commit && echo ESCAPED",
    "chmod +x .git/hooks/post-merge && echo ESCAPED",
    "python3 -c 'import os; os.fchmod(os.open(\".git/hooks/post-merge\", os.O_RDONLY), 0o755); print(\"ESCAPED\")'",
    "mkdir -p t/hooks; echo x > t/hooks/pre-commit; git init -q --template=t r; [ -e r/.git/hooks/pre-commit ] && echo ESCAPED",
    // What git reads.
    "git config core.fsmonitor evil && echo ESCAPED",
    "git config --file .git/config core.hooksPath /tmp && echo ESCAPED",
    "git config alias.st '!evil' && echo ESCAPED",
    "git config include.path evil && echo ESCAPED",
    "git config filter.x.clean evil && echo ESCAPED",
    "git remote add o 'ext::sh -c evil' && echo ESCAPED",
    "echo '[core] fsmonitor = evil' >> .git/config && echo ESCAPED",
    "echo '[core] fsmonitor = evil' > n; mv n .git/config && echo ESCAPED",
    "echo '[core] fsmonitor = evil' > n; cp n .git/config && echo ESCAPED",
    "echo '[core] fsmonitor = evil' > .git/config.lock; mv .git/config.lock .git/config && echo ESCAPED",
    "echo '[core] fsmonitor = evil' > .git/config.worktree && sleep 0.1 && [ -e .git/config.worktree ] && echo ESCAPED",
    "mkdir -p c; echo '[core] fsmonitor = evil' > c/config; echo ../c > .git/commondir && sleep 0.1 && [ -e .git/commondir ] && echo ESCAPED",
    "echo '* filter=x' > .git/info/attributes && echo ESCAPED",
    "mkdir -p .git/modules/m/hooks && echo x > .git/modules/m/hooks/post-checkout && echo ESCAPED",
    "mkdir -p .git/modules/m && echo '[core] fsmonitor = evil' > .git/modules/m/config && sleep 0.1 && [ -e .git/modules/m/config ] && echo ESCAPED",
    "mkdir -p m/hooks .git/modules; echo x > m/hooks/post-checkout; mv m .git/modules/m; [ -e .git/modules/m/hooks/post-checkout ] && echo ESCAPED",
    "mkdir -p .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo && sleep 0.1 && [ -e .git/rebase-merge/git-rebase-todo ] && echo ESCAPED",
    "x=--exec; git rebase -q $x false HEAD~1; grep -s false .git/rebase-merge/git-rebase-todo .git/rebase-merge/done && echo ESCAPED; git rebase --abort; rm -rf .git/rebase-merge",
    // Repositories elsewhere.
    "git init -q r && echo x > r/.git/hooks/pre-commit && echo ESCAPED",
    "git init -q r && git -C r config core.fsmonitor evil && echo ESCAPED",
    "git init -q ../tmp/r && echo x > ../tmp/r/.git/hooks/pre-commit && echo ESCAPED",
    "git init -q --bare b && git -C b config core.fsmonitor evil && echo ESCAPED",
    "mkdir -p b/refs b/objects; printf '[core]\\nbare = false\\nworktree = ..\\nfsmonitor = evil\\n' > b/config; echo 'ref: refs/heads/m' > b/HEAD && echo ESCAPED",
    "git init -q ../tmp/r; mkdir s; echo \"gitdir: $PWD/../tmp/r/.git\" > s/.git && sleep 0.1 && [ -e s/.git ] && echo ESCAPED",
    "git init -q ../tmp/r; mkdir s; ln -s $PWD/../tmp/r/.git s/.git && echo ESCAPED",
    "git init -q r; mkdir s; mv r/.git s/.git && echo ESCAPED",
    // The project itself.
    "cd ..; mv work w2 && echo ESCAPED",
];

#[tokio::test]
async fn no_command_changes_what_is_protected_present_or_absent() {
    for attack in ATTACKS {
        let bare = area().bare().bash(attack).await;
        assert!(bare.output.contains("ESCAPED"), "without a sandbox: {attack}\n{}", bare.output);
    }
    // With mounts where there are caches to lay over.
    works_not_in(|area| area, &["landlock and seccomp", "landlock, seccomp and mounts"]).await;
}

/// Tries all of them, each in a new area that is changed to be held like this.
pub(super) async fn works_not_in(change: impl Fn(Area) -> Area, held_by: &[&str]) {
    for attack in ATTACKS {
        let area = change(area());
        let before = guarded(&area);
        let held = area.bash(attack).await;
        assert!(held_by.iter().any(|name| held.data["sandbox"] == *name), "{attack}\n{:?}", held.data);
        assert!(!held.output.contains("ESCAPED"), "{attack}\n{}", held.output);
        assert_eq!(guarded(&area), before, "{attack}\n{}", held.output);
    }
}

/// What of the folder an attack must not change.
fn guarded(area: &Area) -> Vec<(String, String)> {
    let is_guarded = |(path, _): &(String, String)| {
        let path = path.to_lowercase();
        let sample = path.ends_with(".sample") || path.ends_with('/');
        (path.contains(".git/hooks/") && !sample && !path.starts_with("t/"))
            || (!["node_modules", "target/package"].iter().any(|name| path.contains(name))
                && ["vertebra.toml", ".envrc", ".claude", ".mcp.json"].iter().any(|name| path.contains(name)))
            || path == ".git/config"
    };
    contents(&area.path("work")).into_iter().filter(is_guarded).collect()
}

#[tokio::test]
async fn a_command_that_begins_inside_of_it_writes_nothing_either() {
    let area = area();
    let results = area.commands(&["cd .git/hooks", "pwd; echo x > pre-commit"]).await;
    assert!(results[1].output.contains("/.git/hooks\n"), "{}", results[1].output);
    assert!(!area.path("work/.git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn what_a_protected_link_leads_to_is_protected_too() {
    let area = area();
    fs::create_dir(area.path("work/env")).expect("a folder");
    fs::write(area.path("work/env/rc"), "mine").expect("a file");
    std::os::unix::fs::symlink("env/rc", area.path("work/.envrc")).expect("a link");
    let output =
        area.bash("echo x > env/rc && echo ESCAPED; mv env e2 && echo ESCAPED; echo x > env/other && echo fine").await;
    assert!(output.output.contains("fine") && !output.output.contains("ESCAPED"), "{}", output.output);
}

#[tokio::test]
async fn paths_that_a_person_names_are_protected_wherever_they_are() {
    let area = area().with(|bash| bash.sandbox.protect.push("tools/checks".into()));
    fs::create_dir_all(area.path("work/tools/checks")).expect("a folder");
    let tried =
        "echo x > tools/checks/new && echo ESCAPED; mv tools t && echo ESCAPED; rmdir tools/checks && echo ESCAPED
        touch tools/other && echo fine";
    let output = area.bash(tried).await.output;
    assert!(output.contains("fine") && !output.contains("ESCAPED"), "{output}");
}

#[tokio::test]
async fn nothing_is_put_in_the_folder_while_a_command_runs() {
    let area = area();
    let result = area.bash("ls -A; ls -A .git/hooks; touch new && mv new newer && rm newer && ls -A").await;
    assert_eq!(result.output, ".git\nf\nvertebra.toml\npost-merge\n.git\nf\nvertebra.toml");
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
async fn nothing_that_a_command_started_outlives_it() {
    let area = area();
    let result = area.bash("(setsid bash -c 'echo $$; exec sleep 1000' &) ; sleep 0.3").await;
    let pid: u32 = result.output.lines().next().unwrap_or_default().parse().expect("a process number");
    while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
