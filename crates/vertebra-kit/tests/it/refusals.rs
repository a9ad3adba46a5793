//! Files, commands and permissions in one agent: what one of them refuses, none of the others gives away.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use vertebra::{prelude::*, testing::Script};
use vertebra_kit::{
    bash::{Bash, Environment, Sandbox},
    files::Files,
    permissions::{Mode, Permissions},
};

use super::support::{built, read_by_model, run};

/// A folder with something to read and something not to.
fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["src/lib.rs", "2024-secret/key", "2024-secret/a\nb", ".git/config"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        fs::write(path, "needle\n").expect("a new file");
    }
    folder
}

/// What the model reads of each call, one after the other in one run.
async fn reads(folder: &TempDir, permissions: Permissions, calls: &[(&str, Value)]) -> Vec<String> {
    let script = calls.iter().fold(Script::new(), |script, (tool, args)| script.call(tool, &args.to_string()));
    let model = script.say("done");
    let environment = Environment::default().set("HOME", folder.path().join("src").display().to_string());
    let bash = Bash { sandbox: Sandbox::off(), environment, ..Bash::in_dir(folder.path()) };
    let mut builder = Agent::builder(model.clone());
    builder.with(Files::new(folder.path()).expect("a folder")).with(bash).with(permissions);
    run(&built(&mut builder), "go").await;
    read_by_model(&model)
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

#[tokio::test]
async fn what_may_not_be_read_is_read_by_no_tool_and_no_way() {
    let refused = || Permissions::default().allow("*").expect("a rule").deny("Read(2024-secret/**)").expect("a rule");
    let folder = project();
    let attempts: &[&[(&str, Value)]] = &[
        &[("read_file", json!({"path": "2024-secret/key"}))],
        &[("read_file", json!({"path": "src/../2024-secret/key"}))],
        &[("grep", json!({"pattern": "needle"}))],
        &[("grep", json!({"pattern": "needle", "context": 1}))],
        &[("grep", json!({"pattern": "needle", "files_only": true}))],
        &[("grep", json!({"pattern": "needle", "path": "2024-secret"}))],
        &[("search_files", json!({"pattern": "**"}))],
        &[("list_dir", json!({}))],
        &[("list_dir", json!({"path": "2024-secret"}))],
        &[("list_dir", json!({"path": "src/up"}))],
        &[bash("cat 2024-secret/key")],
        &[bash("cat src/../2024-secret/key")],
        &[bash("cd src && cat ../2024-secret/key")],
        &[bash("cd src"), bash("cat ../2024-secret/key")],
        &[bash("cd src"), bash("grep needle < ../2024-secret/key")],
        &[bash("pushd src; cat ../2024-secret/key")],
        &[bash("git -C src grep --no-index needle -- ../2024-secret/key")],
        &[bash("grep -r needle .")],
        &[bash("cd src"), bash("grep -r needle ..")],
        &[bash("find . -name key")],
        &[bash("cat */key")],
        &[bash("cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd src; cat ../2024-secre*/key")],
        &[bash("cat 202?-s*/k[e]y")],
        &[bash("cd src"), bash("grep -h needle ../*/key")],
    ];
    std::os::unix::fs::symlink(folder.path(), folder.path().join("src/up")).expect("a link");
    for attempt in attempts {
        let read = reads(&folder, refused(), attempt).await;
        let last = read.last().expect("a result");
        let told = last
            .lines()
            .filter(|line| !line.contains("denied by rule") && !line.contains("hidden by rule"))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(!told.contains("2024-secret") && !told.contains("key"), "{attempt:?}\n{last}");
    }
    let found = reads(&folder, refused(), &[("grep", json!({"pattern": "needle"}))]).await;
    let rest = "[1 name hidden by rule Read(2024-secret/**)]\n";
    assert_eq!(found, [format!("done: src/lib.rs\n1:needle\n{rest}")]);
}

#[tokio::test]
async fn a_refusal_that_is_written_through_a_link_holds_for_where_it_leads() {
    let (folder, elsewhere) = (project(), tempfile::tempdir().expect("a folder"));
    let link = elsewhere.path().join("home");
    std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
    let by_root = Permissions::default().deny(&format!("Read({}/src/**)", link.display())).expect("a rule");
    let by_home = Permissions::default().home(link.display().to_string()).deny("Read(~/src/**)").expect("a rule");
    for permissions in [by_root, by_home] {
        let read = reads(&folder, permissions, &[("read_file", json!({"path": "src/lib.rs"}))]).await;
        assert!(read[0].contains("denied by rule"), "{read:?}");
    }
    let allowing = Permissions::default().allow(&format!("Edit({}/src/**)", link.display())).expect("a rule");
    let read = reads(&folder, allowing, &[("write_file", json!({"path": "src/new.rs", "content": "x"}))]).await;
    assert!(read[0].starts_with("blocked: "), "{read:?}");
}

#[tokio::test]
async fn rules_mean_the_folder_of_commands_where_no_other_was_named() {
    let folder = project();
    for rule in ["Read(src/**)".to_owned(), format!("Read({}/src/**)", folder.path().display())] {
        let model = Script::new().call("bash", r#"{"command": "cat src/lib.rs"}"#).say("done");
        let permissions = Permissions::default().allow("*").expect("a rule").deny(&rule).expect("a rule");
        let bash = Bash { sandbox: Sandbox::off(), ..Bash::in_dir(folder.path()) };
        run(&built(Agent::builder(model.clone()).with(bash).with(permissions)), "go").await;
        assert!(read_by_model(&model)[0].contains("denied by rule"), "{rule}: {:?}", read_by_model(&model));
    }
}

#[tokio::test]
async fn a_rule_that_allows_answers_the_policys_question_and_lifts_none_of_its_denials() {
    let folder = project();
    let allowing = || Permissions::default().allow("Bash(*)").expect("a rule");
    let unsure = "eval \"$(cat src/lib.rs)\"";
    let asked = reads(&folder, Permissions::default(), &[bash(unsure)]).await;
    assert!(asked[0].starts_with("blocked: "), "{asked:?}");
    let ran = reads(&folder, allowing(), &[bash(unsure)]).await;
    assert!(ran[0].contains("needle: command not found"), "{ran:?}");
    for permissions in [allowing(), Permissions::bypassing_questions()] {
        let denied =
            reads(&folder, permissions, &[bash("cd src"), bash("git push --force origin main; rm -rf ~")]).await;
        assert!(denied[1].starts_with("blocked: blocked by bash/policy"), "{denied:?}");
        assert!(folder.path().join("src/lib.rs").exists());
    }
}

#[tokio::test]
async fn an_allowance_to_edit_is_for_where_the_shell_is() {
    let folder = project();
    fs::create_dir_all(folder.path().join("out")).expect("a new folder");
    let allowing = || {
        Permissions::default()
            .allow("Bash(echo *)")
            .expect("a rule")
            .allow("Bash(cd *)")
            .expect("a rule")
            .allow("Edit(out/**)")
            .expect("a rule")
    };
    let ran = reads(&folder, allowing(), &[bash("echo x > out/new")]).await;
    assert!(ran[0].starts_with("done: "), "{ran:?}");
    let elsewhere = reads(&folder, allowing(), &[bash("cd src"), bash("echo x > out/new")]).await;
    assert!(elsewhere[1].starts_with("blocked: "), "{elsewhere:?}");
    let elsewhere = reads(&folder, allowing(), &[bash("cd src; echo x > out/new")]).await;
    assert!(elsewhere[0].starts_with("blocked: "), "{elsewhere:?}");
    let there = reads(&folder, allowing(), &[bash("cd out"), bash("echo x > newer")]).await;
    assert!(there[1].starts_with("done: "), "{there:?}");
}

#[tokio::test]
async fn each_mode_means_the_same_to_all_tools() {
    let calls = [
        ("read_file", json!({"path": "src/lib.rs"})),
        ("write_file", json!({"path": "src/new.rs", "content": "x"})),
        ("write_file", json!({"path": ".git/hooks/x", "content": "x", "create_parents": true})),
        ("bash", json!({"command": "touch made"})),
    ];
    let in_mode = |mode| Permissions::default().mode(mode).expect("a mode");
    let cases = [
        (in_mode(Mode::Ask), ["done", "blocked", "blocked", "blocked"]),
        (in_mode(Mode::AcceptEdits), ["done", "done", "blocked", "blocked"]),
        (in_mode(Mode::Plan), ["done", "blocked", "blocked", "blocked"]),
        (Permissions::bypassing_questions(), ["done", "done", "failed", "done"]),
    ];
    for (permissions, expected) in cases {
        let shown = format!("{permissions:?}");
        let read = reads(&project(), permissions, &calls).await;
        let words: Vec<&str> = read.iter().filter_map(|read| read.split(':').next()).collect();
        assert_eq!(words, expected, "{shown}\n{read:?}");
    }
}

#[tokio::test]
async fn what_is_protected_is_so_for_files_for_accepted_edits_and_for_commands() {
    let folder = project();
    let launcher = Some(env!("CARGO_BIN_EXE_vertebra-sandbox").into());
    for name in vertebra_kit::PROTECTED {
        let path = if *name == ".git" { ".git/hooks/x".to_owned() } else { (*name).to_owned() };
        let write = [("write_file", json!({"path": path, "content": "x", "create_parents": true}))];
        let accepted = Permissions::default().mode(Mode::AcceptEdits).expect("a mode");
        let read = reads(&folder, accepted, &write).await;
        assert!(read[0].contains("no rule allows this edit"), "{name}: {read:?}");
        let read = reads(&folder, Permissions::bypassing_questions(), &write).await;
        assert!(read[0].starts_with("failed: "), "{name}: {read:?}");

        // Where a sandbox works with mounts, a name is held as soon as the folder around it exists.
        if *name != ".git" {
            std::fs::create_dir_all(folder.path().join(&path).parent().expect("a folder")).expect("a new folder");
        }
        let command = format!("mkdir -p $(dirname {path}); echo x > {path} || echo x > {path}/x");
        let model = Script::new().call("bash", &json!({ "command": command }).to_string()).say("done");
        let sandbox = Sandbox { launcher: launcher.clone(), ..Sandbox::required() };
        let bash = Bash { sandbox, judged: false, ..Bash::in_dir(folder.path()) };
        run(&built(Agent::builder(model.clone()).with(bash)), "go").await;
        assert!(read_by_model(&model)[0].starts_with("done: exit code: 1"), "{name}: {:?}", read_by_model(&model));
        assert!(!folder.path().join(&path).exists(), "{name}");
    }
}
