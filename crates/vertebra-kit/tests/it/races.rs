//! Deny rules hold for the file that is opened, whatever happens to its path between the judgement and the opening, and
//! whatever it is called later.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::{
    bash::{Bash, Sandbox},
    files::Files,
    permissions::Permissions,
};

use super::support::{built, read_by_model, run};

const SECRET: &str = "the-secret-itself";

/// A folder with `open/key`, `secret/key`, and a link `door` to one of them, besides the other link `spare`.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [("open", "harmless"), ("secret", SECRET)] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
        fs::write(folder.path().join(name).join("key"), content).expect("a file");
    }
    symlink("open", folder.path().join("door")).expect("a link");
    symlink("secret", folder.path().join("spare")).expect("a link");
    folder
}

/// Ends the thread that swaps, also when the work panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps two names all the time while the work is done, and returns how often.
fn while_swapping<T>(root: &Path, names: [&str; 2], work: impl Future<Output = T>) -> (T, usize) {
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let [one, other] = names.map(|name| root.join(name));
    let handle = tokio::runtime::Handle::current();
    let done = thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("a swap");
                swaps.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
            }
        });
        tokio::task::block_in_place(|| handle.block_on(work))
    });
    (done, swaps.into_inner())
}

/// What the model reads of many calls that are all the same.
async fn many(root: &Path, permissions: Permissions, tool: &str, args: &Value, times: usize) -> Vec<String> {
    let args = args.to_string();
    let step = |script: Script, _| script.calls([(tool, &*args); 20]);
    let model = (0..times / 20).fold(Script::new(), step).say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(Files::new(root).expect("a folder").write_unread()).with(permissions);
    run(&built(&mut builder), "go").await;
    read_by_model(&model)
}

fn denying(rule: &str) -> Permissions {
    Permissions::default().allow("*").expect("a rule").deny(rule).expect("a rule")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_file_is_never_read_while_a_link_to_it_is_swapped() {
    let calls = [
        ("read_file", json!({"path": "door/key"})),
        ("grep", json!({"pattern": ".", "path": "door"})),
        ("grep", json!({"pattern": ".", "path": "door/key"})),
    ];
    for (tool, args) in calls {
        let folder = project();
        let work = many(folder.path(), denying("Read(secret/**)"), tool, &args, 300);
        let (read, swaps) = while_swapping(folder.path(), ["door", "spare"], work);
        let leaked = read.iter().filter(|text| text.contains(SECRET)).count();
        assert_eq!(leaked, 0, "{tool}: of {} calls", read.len());
        assert!(read.iter().any(|text| text.contains("harmless")), "{tool}: it can still be read at times");
        assert!(swaps > 10, "{swaps}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_file_is_never_written_while_a_link_to_it_is_swapped() {
    let folder = project();
    let args = json!({"path": "door/key", "content": "overwritten"});
    let work = many(folder.path(), denying("Edit(secret/**)"), "write_file", &args, 200);
    let (read, swaps) = while_swapping(folder.path(), ["door", "spare"], work);
    assert_eq!(fs::read_to_string(folder.path().join("secret/key")).expect("a file"), SECRET, "{:?}", read.first());
    assert!(swaps > 10, "{swaps}");
}

#[tokio::test]
async fn a_deny_rule_follows_a_file_whose_folder_is_renamed() {
    let renames = ["mv secret c2", "mv secret/key c2", "ln secret/key c2", "mkdir a && mv secret a/b && ln -s a/b c2"];
    for rename in renames {
        for rule in ["Read(secret/**)", "Read(secret/key)", "Read(**/key)"] {
            let folder = project();
            let root = folder.path().canonicalize().expect("a folder");
            fs::remove_dir_all(root.join("open")).expect("gone");
            let path = if rename.contains("key") { "c2" } else { "c2/key" };
            let script = Script::new()
                .call("bash", &json!({"command": "true"}).to_string())
                .call("bash", &json!({"command": format!("echo moving; {rename}")}).to_string())
                .call("read_file", &json!({"path": path}).to_string())
                .call("grep", &json!({"pattern": ".", "hidden": true}).to_string())
                .call("bash", &json!({"command": format!("cat {path}")}).to_string());
            let model = script.say("done");
            let mut builder = Agent::builder(model.clone());
            // Somebody else moves it: the rules refuse a command that names it.
            builder.guard(BeforeToolUse.tool("bash"), {
                let root = root.clone();
                let rename = rename.to_owned();
                async move |cx| {
                    if cx.command().is_some_and(|command| command == "true") {
                        let moved = std::process::Command::new("sh").args(["-c", &rename]).current_dir(&root).status();
                        assert!(moved.expect("a shell").success(), "{rename}");
                    }
                    proceed()
                }
            });
            let bash = Bash { sandbox: Sandbox::off(), ..Bash::in_dir(&root) };
            builder.with(Files::new(&root).expect("a folder")).with(bash).with(denying(rule));
            run(&built(&mut builder), "go").await;
            let read = read_by_model(&model);
            assert!(!read.iter().any(|text| text.contains(SECRET)), "{rename}, {rule}: {read:#?}");
        }
    }
}

#[tokio::test]
async fn what_the_file_tools_deny_stays_denied_under_another_name() {
    let folder = project();
    let root = folder.path().to_owned();
    let calls = [
        ("list_dir", json!({})),
        ("read_file", json!({"path": "other/key"})),
        ("grep", json!({"pattern": "."})),
        ("search_files", json!({"pattern": "**"})),
        ("list_dir", json!({"path": "other"})),
    ];
    let script = calls.iter().fold(Script::new(), |script, (tool, args)| script.call(tool, &args.to_string()));
    let model = script.say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(Files::new(&root).expect("a folder").deny("secret/**").expect("a glob"));
    builder.guard(BeforeToolUse.tool("read_file"), async move |_| {
        fs::rename(root.join("secret"), root.join("other")).expect("a rename");
        proceed()
    });
    run(&built(&mut builder), "go").await;
    let read = read_by_model(&model);
    let found = |text: &&String| text.starts_with("done: ") && (text.contains(SECRET) || text.contains("other"));
    assert!(read.iter().find(found).is_none(), "{read:#?}");
    assert!(read[1].contains("off limits") && read[4].contains("off limits"), "{read:#?}");
}

#[tokio::test]
async fn file_tools_write_nothing_into_a_git_directory_whatever_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for line in ["init -q --bare store", "init -q nested/inner"] {
        let made = std::process::Command::new("git").args(line.split(' ')).current_dir(root).status();
        assert!(made.expect("git").success());
    }
    fs::create_dir_all(root.join("prepared/hooks")).expect("a folder");
    fs::write(root.join("prepared/hooks/post-checkout"), "x").expect("a file");
    let refused = [
        "store/hooks/post-update",
        "store/config.worktree",
        "store/info/attributes",
        "store/anything",
        "nested/inner/.git/hooks/pre-commit",
        "nested/inner/.git/commondir",
        "nested/.git",
        "prepared/HEAD",
        ".github/hooks/x.json",
        "sub/.opencode/plugins/x.js",
        "opencode.json",
        "vertebra.local.toml",
    ];
    let allowed =
        ["nested/inner/src/config", "prepared/hooks/other", "new/HEAD", ".github/workflows/ci.yml", ".gitignore"];
    for (path, may) in refused.iter().map(|path| (path, false)).chain(allowed.iter().map(|path| (path, true))) {
        let args = json!({"path": path, "content": "x", "create_parents": true});
        let model = Script::new().call("write_file", &args.to_string()).say("done");
        let mut builder = Agent::builder(model.clone());
        builder.with(Files::new(root).expect("a folder").write_unread());
        run(&built(&mut builder), "go").await;
        assert_eq!(read_by_model(&model)[0].starts_with("done: "), may, "{path}: {:?}", read_by_model(&model));
    }
}
