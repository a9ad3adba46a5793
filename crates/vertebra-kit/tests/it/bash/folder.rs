//! Where commands run, from call to call.

use vertebra::{Agent, AgentTool, MatchAttribute as _};
use vertebra_kit::{files::Files, permissions::Permissions};

use super::*;

async fn outputs(area: &Area, commands: &[&str]) -> Vec<String> {
    area.commands(commands).await.into_iter().map(|result| result.output).collect()
}

#[tokio::test]
async fn the_folder_that_cd_leaves_is_where_the_next_command_begins() {
    let area = Area::new();
    let said = outputs(
        &area,
        &["mkdir -p a/b; cd a", "cd b; exit 3", "pwd", "cd ~- 2>&1; cd ../..", "pwd", "cd a; bash -c 'cd b'", "pwd"],
    )
    .await;
    let work = real(&area.path("work"));
    assert_eq!([&said[2], &said[4], &said[6]], [&format!("{work}/a/b"), &work, &format!("{work}/a")]);
}

#[tokio::test]
async fn a_folder_that_is_gone_or_outside_sends_commands_back_and_they_say_so() {
    let area = Area::new();
    let said = outputs(&area, &["mkdir d; cd d", "rmdir ../d", "pwd", "cd /usr", "pwd"]).await;
    let work = real(&area.path("work"));
    assert_eq!(said[1], format!("(no output)\n[the folder {work}/d is gone: commands go on in {work}]"));
    assert_eq!(said[2], work);
    assert_eq!(
        said[3],
        format!("(no output)\n[the folder /usr is outside of what commands may write: commands go on in {work}]")
    );
    assert_eq!(said[4], work);
}

#[tokio::test]
async fn a_command_is_judged_from_where_the_last_one_went() {
    let area = Area::new().with(|bash| bash.judged = true);
    let said = outputs(&area, &["mkdir -p .git/objects && cd .git/objects", "echo x > ../hooks/pre-commit"]).await;
    assert!(said[1].starts_with("not run") && said[1].contains("changes `.git/hooks/pre-commit`"), "{said:?}");
    assert!(!area.path("work/.git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn matchers_and_rules_resolve_relative_paths_against_the_folder_of_the_last_cd() {
    let area = Area::new();
    fs::create_dir_all(area.path("work/config")).expect("a folder");
    fs::write(area.path("work/config/secret.txt"), "hunter2").expect("a file");
    let script = Script::new()
        .calls([
            ("bash", r#"{"command": "cd config"}"#),
            ("bash", r#"{"command": "cat secret.txt"}"#),
            ("bash", r#"{"command": "./run.sh"}"#),
        ])
        .say("done");
    let (mut builder, results) = area.agent(script);
    builder.with(Permissions::default().deny("Read(config/*.txt)").expect("a rule"));
    builder.guard(BeforeToolUse.path("config/run.sh").named("no-run"), async |_| deny("not this one"));
    builder.approver(vertebra::testing::FixedApprover::yes());
    run(&built(&mut builder), "go").await;
    let said: Vec<String> = results.lock().expect("no panic").iter().map(|result| result.output.clone()).collect();
    assert!(said[1].contains("denied") && !said[1].contains("hunter2"), "{said:?}");
    assert_eq!(said[2], "blocked by no-run: not this one");
}

#[tokio::test]
async fn file_tools_begin_where_commands_do_and_name_the_file_that_they_use() {
    let area = Area::new();
    for (file, text) in [("a.toml", "root"), ("backend/a.toml", "inner"), ("backend/secret.txt", "hunter2")] {
        let path = area.path("work").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let script = Script::new()
        .calls([
            ("bash", r#"{"command": "cat a.toml"}"#),
            ("bash", r#"{"command": "cd backend && cat a.toml"}"#),
            ("edit_file", r#"{"path": "a.toml", "old_string": "inner", "new_string": "changed"}"#),
            ("read_file", r#"{"path": "secret.txt"}"#),
            ("read_file", r#"{"path": "../none.md"}"#),
            ("read_file", r#"{"path": "none.md"}"#),
            ("list_dir", "{}"),
        ])
        .say("done");
    let (mut builder, results) = area.agent(script);
    builder.with(Files::new(area.path("work")).expect("a folder"));
    builder.with(Permissions::default().deny("Read(backend/*.txt)").expect("a rule"));
    builder.approver(vertebra::testing::FixedApprover::yes());
    run(&built(&mut builder), "go").await;
    let said: Vec<String> = results.lock().expect("no panic").iter().map(|result| result.output.clone()).collect();
    let text = |file: &str| fs::read_to_string(area.path("work").join(file)).expect("a file");
    assert_eq!((&*text("a.toml"), &*text("backend/a.toml")), ("root", "changed"), "{said:?}");
    assert!(said[2].contains("`backend/a.toml`"), "{said:?}");
    assert!(said[3].contains("denied") && !said[3].contains("hunter2"), "{said:?}");
    assert!(said[4].contains("`none.md`"), "{said:?}");
    assert!(said[5].contains("backend/none.md"), "{said:?}");
    assert!(said[6].starts_with("a.toml (7 bytes)"), "{said:?}");
}

#[tokio::test]
async fn a_forged_note_leads_nowhere() {
    let outside = "$(dirname $PWD)/outside";
    let forgeries = [
        // By another trap.
        format!("note=$(ls $TMPDIR/vertebra-*); trap \"echo {outside} > $note\" EXIT"),
        // By a link to the outside, which the note then leads through.
        format!("ln -s {outside} link; note=$(ls $TMPDIR/vertebra-*); trap \"echo $PWD/link > $note\" EXIT"),
        // By a link in place of the note.
        format!(
            "note=$(ls $TMPDIR/vertebra-*); rm $note; echo {outside} > elsewhere; ln -s $PWD/elsewhere $note; trap - EXIT"
        ),
        // By so much that it does not fit.
        "note=$(ls $TMPDIR/vertebra-*); trap \"yes / | head -c 100000 > $note\" EXIT".to_owned(),
    ];
    for forgery in forgeries {
        let area = Area::new();
        let said = outputs(&area, &[&forgery, "pwd"]).await;
        assert_eq!(said[1], real(&area.path("work")), "{forgery}: {}", said[0]);
    }
}

#[tokio::test]
async fn a_cd_holds_for_the_next_call_of_the_same_answer() {
    let area = Area::new();
    let script = Script::new()
        .calls([
            ("bash", r#"{"command": "mkdir -p a/b; sleep 0.2; cd a"}"#),
            ("bash", r#"{"command": "pwd; cd b"}"#),
            ("bash", r#"{"command": "pwd"}"#),
        ])
        .say("done");
    let (mut builder, results) = area.agent(script);
    run(&built(&mut builder), "go").await;
    let said: Vec<String> = results.lock().expect("no panic").iter().map(|result| result.output.clone()).collect();
    let work = real(&area.path("work"));
    assert_eq!(said[1..], [format!("{work}/a"), format!("{work}/a/b")]);
}

#[tokio::test]
async fn commands_run_one_after_another_and_those_that_only_read_may_overlap() {
    // The first reader ends only once the second has begun.
    let waits = "until [ -e ../tmp/second ]; do sleep 0.02; done; echo met";
    let area = Area::new().with(|bash| bash.reading = Some(Reading::by(|command| !command.contains("echo new"))));
    let script = Script::new()
        .calls([
            ("bash", &*json!({ "command": waits, "timeout_ms": 20_000 }).to_string()),
            ("bash", r#"{"command": "touch ../tmp/second; cat file 2>&1"}"#),
            ("bash", r#"{"command": "sleep 0.2; echo new > file"}"#),
            ("bash", r#"{"command": "cat file"}"#),
        ])
        .say("done");
    let (mut builder, results) = area.agent(script);
    run(&built(&mut builder), "go").await;
    let said: Vec<String> = results.lock().expect("no panic").iter().map(|result| result.output.clone()).collect();
    assert_eq!(said[0], "met");
    assert!(said[1].contains("No such file"), "{said:?}");
    assert_eq!(said[3], "new");
}

#[tokio::test]
async fn a_command_whose_folder_was_lost_is_not_run_elsewhere_and_the_next_one_runs_at_home() {
    for put in ["", "link"] {
        let area = Area::new();
        fs::create_dir_all(area.path("work/d")).expect("a new folder");
        let script = Script::new()
            .call("bash", r#"{"command": "cd d"}"#)
            .call("away", "{}")
            .call("bash", r#"{"command": "touch made; pwd"}"#)
            .call("bash", r#"{"command": "pwd"}"#)
            .say("done");
        let (mut builder, results) = area.agent(script);
        let (folder, outside) = (area.path("work/d"), area.path("tmp"));
        builder.tool(tool("away", "takes the folder away", async move |_: serde_json::Value, _| {
            fs::remove_dir(&folder)?;
            if put == "link" {
                std::os::unix::fs::symlink(&outside, &folder)?;
            }
            Ok("gone")
        }));
        run(&built(&mut builder), "go").await;
        let results = results.lock().expect("no panic");
        let work = real(&area.path("work"));
        let expected = format!(
            "exit code: 126\n[the folder {work}/d is gone: commands go on in {work}; the command was not run: run it again]"
        );
        assert_eq!((&*results[2].output, results[2].success), (&*expected, false));
        assert_eq!(results[3].output, work);
        assert!(!area.path("work/made").exists() && !area.path("tmp/made").exists());
    }
}

#[tokio::test]
async fn each_session_has_its_own_folder_and_a_child_begins_in_its_own() {
    let area = Area::new();
    fs::create_dir(area.path("work/a")).expect("a new folder");
    let child_bash = Bash { folder: None, ..area.bash.clone() };
    let child = Agent::builder(Script::new().call("bash", r#"{"command": "pwd"}"#).say("child done"))
        .working_directory(area.path("tmp").display().to_string())
        .with(child_bash)
        .build()
        .expect("a child");
    let script = Script::new()
        .call("bash", r#"{"command": "cd a"}"#)
        .call("child", r#"{"prompt": "look"}"#)
        .call("bash", r#"{"command": "pwd"}"#)
        .say("first run")
        .call("bash", r#"{"command": "pwd"}"#)
        .say("second run, same session")
        .call("bash", r#"{"command": "pwd"}"#)
        .say("another session");
    let (mut builder, results) = area.agent(script);
    let agent = built(builder.tool(AgentTool::new("child", "looks", child)));
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    session.prompt("again").await.expect("a run");
    session.close().await;
    run(&agent, "elsewhere").await;
    let results = results.lock().expect("no panic");
    let said: Vec<&str> = results.iter().map(|result| &*result.output).filter(|text| text.starts_with('/')).collect();
    let (work, tmp) = (real(&area.path("work")), real(&area.path("tmp")));
    assert_eq!(said, [&*tmp, &format!("{work}/a"), &format!("{work}/a"), &work]);
}
