//! What a command asks for beyond the sandbox: a person decides, and what was granted holds for that call.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use vertebra::{Approval, Approver, Decision, MemoryJournal, ToolStatus};
use vertebra_kit::{
    bash::{
        Granted, Grants,
        sandbox::{Network, NetworkAccess},
    },
    permissions::Permissions,
    subagents::{Subagent, Subagents},
};

use super::*;

/// A person who says the same to everything, and remembers why they were asked.
#[derive(Clone)]
pub(super) struct Person {
    yes: bool,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(super) fn who_says(yes: bool) -> Self {
        Self { yes, asked: Arc::default() }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        self.asked.lock().expect("no panic").push(approval.reason.clone());
        if self.yes { approval.approve() } else { Decision::Deny { reason: "not today".to_owned() } }
    }
}

/// What comes of each call, if every rule and every hook says yes, and this person has the last word.
pub(super) async fn results(area: &Area, person: &Person, calls: &[serde_json::Value]) -> Vec<ToolResult> {
    let script = calls.iter().fold(Script::new(), |script, call| script.call("bash", &call.to_string()));
    let (mut builder, results) = area.agent(script.say("done").may_end_early());
    builder.with(Permissions::bypassing_questions()).on(PermissionRequest, async |_| allow());
    builder.approver(person.clone());
    run(&built(&mut builder), "go").await;
    Arc::into_inner(results).map_or_else(Vec::new, |results| results.into_inner().expect("no panic"))
}

#[expect(clippy::needless_pass_by_value, reason = "it is made for the call")]
pub(super) fn needing(command: &str, needs: serde_json::Value) -> serde_json::Value {
    json!({ "command": command, "needs": needs })
}

#[tokio::test]
async fn what_a_command_asks_to_write_is_put_to_a_person_and_not_denied_by_the_policy() {
    let (area, person) = (Area::new().with(|bash| bash.judged = true), Person::who_says(false));
    let remove = "rm -rf /srv/vertebra-none/x";
    let said = results(&area, &person, &[json!({ "command": remove })]).await;
    assert!(said[0].output.contains("bash/policy") && person.asked().is_empty(), "{said:?}");
    let said = results(&area, &person, &[needing(remove, json!({ "write": ["/srv/vertebra-none"] }))]).await;
    assert_eq!(person.asked().len(), 1, "{said:?}");
    // Neither the home folder nor the one with the project becomes writable by asking.
    let said = results(&area, &person, &[needing("rm -rf ~/x", json!({ "write": ["~/"] }))]).await;
    assert_eq!((said[0].status == ToolStatus::Done, person.asked().len()), (false, 1), "{said:?}");
}

#[tokio::test]
async fn a_command_that_asks_for_more_is_put_to_a_person_whatever_rules_and_hooks_say() {
    let person = Person::who_says(false);
    let call = needing("echo ran > ran", json!({ "network": true, "reason": "to fetch crates" }));
    let result = results(&Area::new(), &person, &[call]).await.remove(0);
    assert_eq!((result.status, &*result.output), (ToolStatus::Blocked, "denied: not today"));
    assert_eq!(person.asked(), ["the command asks for network access to all public hosts: to fetch crates"]);
}

#[tokio::test]
async fn without_a_person_what_a_command_asks_for_is_denied_with_the_reason() {
    let area = Area::new();
    let call = needing("touch ran", json!({ "ports": [5432], "reason": "to migrate" })).to_string();
    let (mut builder, results) = area.agent(Script::new().call("bash", &call).say("done"));
    run(&built(builder.with(Permissions::bypassing_questions())), "go").await;
    let result = results.lock().expect("no panic").remove(0);
    assert_eq!(result.status, ToolStatus::Blocked);
    assert!(result.output.contains("the command asks for port 5432 of this machine: to migrate"), "{}", result.output);
    assert!(!area.path("work/ran").exists());
}

#[tokio::test]
async fn what_the_settings_or_the_session_grant_already_is_not_asked_again() {
    let person = Person::who_says(false);
    let area = Area::new().with(|bash| bash.sandbox.network = Network::Public);
    let call = needing("echo ran", json!({ "domains": ["crates.io"], "reason": "to fetch crates" }));
    assert_eq!(results(&area, &person, &[call]).await.remove(0).output, "ran");
    assert_eq!(person.asked(), [""; 0]);
}

#[tokio::test]
async fn a_protected_file_that_a_person_allows_can_be_changed_by_that_command_only() {
    let (area, person) = (Area::new(), Person::who_says(true));
    let change = "mkdir -p .vscode && echo {} > .vscode/settings.json";
    let calls = [
        needing(change, json!({ "write": [".vscode/settings.json"], "reason": "the formatter" })),
        json!({ "command": "echo x > .vscode/settings.json" }),
        needing("echo x > .vscode/tasks.json", json!({ "write": [".vscode/settings.json"], "reason": "more" })),
    ];
    let results = results(&area, &person, &calls).await;
    assert_eq!(results[0].exit_code, Some(0), "{}", results[0].output);
    assert_eq!(fs::read_to_string(area.path("work/.vscode/settings.json")).expect("a file"), "{}\n");
    assert!(
        results[1].output.contains("the sandbox blocked a change of .vscode/settings.json"),
        "{}",
        results[1].output
    );
    assert!(results[2].output.contains("the sandbox blocked a change of .vscode/tasks.json"), "{}", results[2].output);
    let path = real(&area.path("work/.vscode/settings.json"));
    assert_eq!(person.asked()[0], format!("the command asks for changes of {path}: the formatter"));
}

#[tokio::test]
async fn a_repository_with_editor_settings_can_be_cloned_after_a_yes() {
    let (area, person) = (Area::new(), Person::who_says(true));
    let script = "git init -q origin && cd origin && git config user.email a@b.c && git config user.name a && \
                mkdir .vscode && echo x > .vscode/a && echo y > .npmrc && git add -A && git commit -qm x";
    let origin = area.path("outside");
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(&origin).status().expect("git");
    assert!(made.success());
    let clone = format!("git clone -q {}/origin here && cat here/.npmrc", real(&origin));
    let call = needing(&clone, json!({ "write": ["here"], "reason": "a clone" }));
    let result = results(&area, &person, &[call]).await.remove(0);
    assert_eq!((result.exit_code, &*result.output), (Some(0), "y"));
    // A folder outside does not open what is protected in it, and the error says how to ask for that.
    let there = format!("{}/there", real(&origin));
    let clone = format!("git clone -q {}/origin {there} && cat {there}/.npmrc", real(&origin));
    let only = needing(&clone, json!({ "write": [there], "reason": "a clone" }));
    let said = results(&area, &person, &[only]).await.remove(0).output;
    assert!(said.contains("ask for them by name, beside their folder, in `needs.write`"), "{said}");
    let named = json!([there, format!("{there}/.vscode"), format!("{there}/.npmrc")]);
    let result = results(&area, &person, &[needing(&clone, json!({ "write": named, "reason": "a clone" }))]).await;
    assert_eq!((result[0].exit_code, &*result[0].output), (Some(0), "y"));
    // What git executes is guarded all the same.
    let hook = needing("echo x > here/.git/hooks/pre-commit", json!({ "write": ["here"], "reason": "a hook" }));
    assert_ne!(results(&area, &person, &[hook]).await[0].exit_code, Some(0));
}

#[tokio::test]
async fn a_folder_outside_that_a_person_allows_can_be_written_by_that_command_only() {
    let (area, person) = (Area::new(), Person::who_says(true));
    let outside = real(&area.path("outside"));
    let calls = [
        needing("echo x > ../outside/new", json!({ "write": [outside], "reason": "the report" })),
        json!({ "command": "echo x > ../outside/newer" }),
    ];
    let results = results(&area, &person, &calls).await;
    assert_eq!((results[0].exit_code, results[1].exit_code), (Some(0), Some(1)), "{}", results[0].output);
    assert!(area.path("outside/new").exists() && !area.path("outside/newer").exists());
}

#[tokio::test]
async fn a_worktree_beside_the_folder_can_be_made_after_a_yes() {
    let (area, person) = (Area::new(), Person::who_says(true));
    let script = "git init -q -b main && git config user.email a@b.c && git config user.name a && echo 1 > a && \
                  git add -A && git commit -qm x && git branch topic && echo 2 > b && git add -A && git commit -qm y";
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(area.path("work")).status();
    assert!(made.expect("git").success());
    let needs = json!({ "write": ["../beside"], "reason": "a worktree" });
    let add = "git worktree add -q ../beside topic && cd ../beside && git rebase -q main && ls";
    let calls = [
        needing("git worktree add -q ../beside nowhere", needs.clone()),
        json!({ "command": "ls -d ../beside" }),
        needing(add, needs.clone()),
        json!({ "command": "cd ..; git -C work worktree list | wc -l; echo x > beside/c" }),
        needing("echo x > ../beside/c", needs),
    ];
    let results = results(&area, &person, &calls).await;
    assert_ne!(results[0].exit_code, Some(0), "there is no such branch");
    assert_ne!(results[1].exit_code, Some(0), "a folder that stays empty goes: {}", results[1].output);
    let on = "outside of what commands may write: commands go on in";
    assert_eq!(results[2].exit_code, Some(0), "{}", results[2].output);
    assert!(results[2].output.starts_with("a\nb\n") && results[2].output.contains(on), "{}", results[2].output);
    assert!(results[3].output.contains("beside/c: Permission denied"), "{}", results[3].output);
    assert_eq!(results[4].exit_code, Some(0), "{}", results[4].output);
    assert!(area.path("beside/c").exists());
    let path = area.path("beside").canonicalize().expect("a path");
    assert_eq!(person.asked(), vec![format!("the command asks for changes of {}: a worktree", path.display()); 3]);
}

/// A repository in the working folder, with a branch `topic`.
fn repository(area: &Area) {
    let script = "git init -q -b main && git config user.email a@b.c && git config user.name a && echo 1 > a && \
                  git add -A && git commit -qm x && git branch topic";
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(area.path("work")).status();
    assert!(made.expect("git").success());
}

#[tokio::test]
async fn a_worktree_that_is_named_after_the_project_takes_no_question() {
    let (area, person) = (Area::new(), Person::who_says(true));
    repository(&area);
    let plain = |command: &str| json!({ "command": command });
    let calls = [
        plain("git worktree add -q ../work-topic nowhere"),
        plain("ls -d ../work-topic"),
        plain("git worktree add -q ../work-topic topic && cd ../work-topic && pwd"),
        plain("echo 2 > b && git add -A && git commit -qm b && cd ../work && git merge -q topic && ls"),
        plain("git worktree remove ../work-topic && git worktree list | wc -l"),
        plain("ls -d ../work-topic; echo x > ../work-other"),
    ];
    let results = results(&area, &person, &calls).await;
    assert!(results[0].output.contains("nowhere"), "{}", results[0].output);
    assert_ne!(results[1].exit_code, Some(0), "nothing is left: {}", results[1].output);
    assert_eq!(results[2].output, format!("{}-topic", real(&area.path("work"))));
    assert_eq!(results[3].output, "a\nb");
    assert_eq!(results[4].output, "1");
    assert_ne!(results[5].exit_code, Some(0), "{}", results[5].output);
    assert!(results[5].output.contains("No such file"), "a folder that is gone stays gone: {}", results[5].output);
    assert_eq!(person.asked(), [""; 0]);
    assert!(!area.path("work-topic").exists() && !area.path("work-other").exists());
}

#[tokio::test]
async fn the_protected_names_in_a_worktree_named_after_the_project_are_asked_about_at_once() {
    let (area, person) = (Area::new(), Person::who_says(true));
    repository(&area);
    let script = "git switch -q topic && mkdir .vscode && echo {} > .vscode/settings.json && git add -A && git commit -qm s \
                  && git switch -q main";
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(area.path("work")).status();
    assert!(made.expect("git").success());
    let add =
        json!({ "command": "git worktree add -q ../work-topic topic && cat ../work-topic/.vscode/settings.json" });
    let again = json!({ "command": "echo x > ../work-topic/.vscode/settings.json; echo x > ../work-topic/a" });
    let results = results(&area, &person, &[add, again]).await;
    assert_eq!((results[0].exit_code, &*results[0].output), (Some(0), "{}"));
    assert!(results[1].output.contains("settings.json"), "{}", results[1].output);
    assert_eq!(fs::read_to_string(area.path("work-topic/.vscode/settings.json")).expect("a file"), "{}\n");
    assert_eq!(fs::read_to_string(area.path("work-topic/a")).expect("a file"), "x\n");
    let name = real(&area.path("work-topic/.vscode/settings.json"));
    assert_eq!(person.asked(), [format!("the command asks for changes of {name}: git makes a worktree there")]);
}

/// What comes of commands that no rule allows, if a person says yes to all of them.
async fn after_a_yes(area: &Area, commands: &[&str]) -> (Vec<ToolResult>, Vec<String>) {
    let person = Person::who_says(true);
    let call = |command: &&str| json!({ "command": command }).to_string();
    let script = commands.iter().map(call).fold(Script::new(), |script, call| script.call("bash", &call));
    let (mut builder, results) = area.agent(script.say("done").may_end_early());
    run(&built(builder.with(Permissions::default()).approver(person.clone())), "go").await;
    let results = Arc::into_inner(results).map_or_else(Vec::new, |results| results.into_inner().expect("no panic"));
    (results, person.asked())
}

#[tokio::test]
async fn a_yes_to_a_command_counts_for_the_protected_files_that_it_names() {
    let area = Area::new();
    let (results, asked) =
        after_a_yes(&area, &["mkdir -p .vscode && echo {} > .vscode/settings.json", "cat .vscode/settings.json"]).await;
    assert_eq!((results[0].exit_code, &*results[1].output), (Some(0), "{}"), "{results:?}");
    let file = real(&area.path("work/.vscode/settings.json"));
    assert!(asked[0].contains(&file) && asked[0].contains("protected"), "{asked:?}");
}

#[tokio::test]
async fn a_command_that_changes_what_stays_closed_is_refused_without_a_question() {
    let area = Area::new();
    let commands =
        ["echo x > vertebra.toml", "mkdir a && cp x a/.mcp.json", "git init -q; echo x > .git/hooks/pre-commit"];
    let (results, asked) = after_a_yes(&area, &commands).await;
    for (result, name) in results.iter().zip(["vertebra.toml", "a/.mcp.json", ".git/hooks/pre-commit"]) {
        let says = format!("not run, nothing was changed: the command changes `{name}`, which stays closed");
        assert!(result.output.contains(&says), "{}", result.output);
    }
    assert_eq!((results.len(), asked), (3, Vec::new()));
    assert!(!area.path("work/a").exists());
}

#[tokio::test]
async fn a_worktree_elsewhere_is_asked_about_at_once() {
    for folder in ["../beside", "../work_modules", "../.cargo", "../outside/work-x"] {
        let (area, person) = (Area::new(), Person::who_says(true));
        repository(&area);
        let calls = [json!({ "command": format!("git worktree add -q {folder} topic") })];
        let results = results(&area, &person, &calls).await;
        assert_eq!(results[0].exit_code, Some(0), "{folder}: {}", results[0].output);
        let path = area.path("work").join(folder).canonicalize().expect("a path");
        let asked = format!("the command asks for changes of {}: git makes a worktree there", path.display());
        assert_eq!(person.asked(), [asked]);
    }
    let (area, person) = (Area::new(), Person::who_says(false));
    repository(&area);
    fs::create_dir(area.path("work-there")).expect("a folder");
    for folder in ["../beside", "../work-there"] {
        let call = json!({ "command": format!("git worktree add -q {folder} topic") });
        assert_ne!(results(&area, &person, &[call]).await[0].exit_code, Some(0), "{folder}");
    }
    assert_eq!(fs::read_dir(area.path("work-there")).expect("a folder").count(), 0);
    assert!(!area.path("beside").exists());
}

#[tokio::test]
async fn what_stays_closed_is_refused_before_anyone_is_asked() {
    let person = Person::who_says(true);
    let area = Area::new();
    let trust = area.path("trust");
    fs::create_dir_all(trust.join("store")).expect("a new folder");
    let area = area.with(|bash| {
        bash.sandbox.closed.push(trust);
        bash.sandbox.protect.push("hooks".into());
    });
    let root = real(area.root.path());
    let closed = ["vertebra.toml", "sub/.vertebra/x", "hooks/a", "~/.ssh", "../trust/store", "../trust/new"];
    for path in
        closed.into_iter().chain(["/", "..", ".", "~", &root, "../not/there", "../.vertebra", "../x/vertebra.toml"])
    {
        let call = needing("echo ran", json!({ "write": [path], "reason": "please" }));
        let result = results(&area, &person, &[call]).await.remove(0);
        assert_eq!(result.status, ToolStatus::Failed, "{path}: {}", result.output);
        assert!(result.output.contains("`write` in `needs`"), "{path}: {}", result.output);
    }
    assert_eq!(person.asked(), [""; 0]);
    for needs in [json!({ "domains": ["https://x.org"] }), json!({ "ports": [0] }), json!({ "sudo": true })] {
        let result = results(&area, &person, &[needing("echo ran", needs.clone())]).await.remove(0);
        assert_eq!(result.status, ToolStatus::Failed, "{needs}: {}", result.output);
    }
    assert_eq!(person.asked(), [""; 0]);
}

#[tokio::test]
async fn what_is_fixed_for_everyone_is_refused_before_anyone_is_asked() {
    let person = Person::who_says(true);
    let area = Area::new().with(|bash| bash.sandbox.fixed.network = true);
    let call = needing("echo ran", json!({ "network": true, "reason": "please" }));
    let result = results(&area, &person, &[call]).await.remove(0);
    assert!(result.output.contains("fix the network for everyone"), "{}", result.output);
    assert_eq!(person.asked(), [""; 0]);
}

#[tokio::test]
async fn a_port_of_the_machine_that_a_person_allows_is_reached_and_no_other() {
    let (allowed, other) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
    let (allowed, other) = (allowed.expect("a port"), other.expect("a port"));
    other.set_nonblocking(true).expect("a setting");
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let (port, closed) = (port(&allowed), port(&other));
    let serving = std::thread::spawn(move || {
        let (mut client, _) = allowed.accept().expect("a client");
        let mut question = [0; 5];
        client.read_exact(&mut question).expect("a question");
        client.write_all(b"rows\n").expect("an answer");
    });
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf query >&3 && head -1 <&3; exec 4<>/dev/tcp/127.0.0.1/{closed}"
    );
    let call = needing(&command, json!({ "ports": [port], "reason": "the database" }));
    let result = results(&Area::new(), &Person::who_says(true), &[call]).await.remove(0);
    assert!(result.output.contains("rows"), "{}", result.output);
    assert!(result.output.contains(&format!("the sandbox blocked port {closed} of this machine")), "{}", result.output);
    serving.join().expect("no panic");
    assert!(other.accept().is_err());
}

#[tokio::test]
async fn a_grant_for_the_session_holds_until_the_session_ends() {
    let area = Area::new();
    let lift = area.bash.lift();
    let script = Script::new().call("bash", &json!({ "command": "echo x > ../outside/new" }).to_string()).say("done");
    let (mut builder, results) = area.agent(script);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    let id = session.id().to_owned();
    lift.grant(&id, Granted { network: Network::Public, ..Granted::default() });
    let outside = lift.grant_write(&id, &area.path("outside")).expect("a folder");
    assert_eq!(lift.network(&id), Network::Public);
    area.bash.grants.add("another", Granted::default());
    session.prompt("go").await.expect("a report");
    assert_eq!(results.lock().expect("no panic")[0].exit_code, Some(0));
    assert!(outside.join("new").exists());
    session.close().await;
    assert_eq!(lift.network(&id), Network::Off);
    assert!(
        lift.grant_write(&id, Path::new("vertebra.toml")).is_err_and(|why| why.to_string().contains("stays closed"))
    );
}

#[tokio::test]
async fn nobody_is_asked_about_what_stays_closed_whatever_they_answer() {
    let (area, person) = (Area::new(), Person::who_says(true));
    let script = "git init -q && git config user.email a@b.c && git config user.name a && mkdir .githooks && \
                  git config core.hooksPath .githooks && git commit -q --allow-empty -m x && git commit -q --allow-empty -m y";
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(area.path("work")).status();
    assert!(made.expect("git").success());
    let closed = [
        ".git/hooks/pre-commit",
        ".git/hooks",
        ".git/config",
        ".git",
        ".git/rebase-merge/git-rebase-todo",
        ".githooks/x",
        "vertebra.toml",
    ];
    let call = |path| needing("touch ran", json!({ "write": [path], "reason": "the task" }));
    let mut calls: Vec<_> = closed.into_iter().map(call).collect();
    calls.extend(
        [
            "git rebase -q --exec 'touch ran' HEAD~1",
            "GIT_SEQUENCE_EDITOR=\"sed -i '1a exec touch ran'\" git rebase -i HEAD~1",
        ]
        .map(|command| json!({ "command": command })),
    );
    for (result, call) in results(&area, &person, &calls).await.iter().zip(&calls) {
        assert!(
            result.output.contains("stay") && result.output.contains("closed whatever a person answers"),
            "{call}: {}",
            result.output
        );
    }
    assert_eq!(person.asked(), [""; 0]);
    assert!(!area.path("work/ran").exists() && !area.path("work/.git/rebase-merge").exists());
}

#[tokio::test]
async fn a_result_advises_only_what_can_help() {
    let (area, person) = (Area::new(), Person::who_says(true));
    fs::create_dir_all(area.path("work/.git/hooks")).expect("folders");
    fs::write(area.path("work/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let commands = ["echo x > .git/hooks/pre-commit", "mkdir .husky && echo x > .husky/pre-commit", "echo x > .npmrc"];
    let results = results(&area, &person, &commands.map(|command| json!({ "command": command }))).await;
    for (result, (expected, needs)) in results.iter().zip([
        ("stays closed whatever a person answers", false),
        ("HUSKY=0", false),
        ("ask for `write`", true),
    ]) {
        let says = (result.output.contains(expected), result.output.contains("`needs`"));
        assert_eq!(says, (true, needs), "{}", result.output);
    }
}

#[tokio::test]
async fn a_cache_that_a_program_does_without_is_not_mentioned() {
    let area = Area::new();
    fs::create_dir_all(area.path("home/.tool")).expect("folders");
    fs::write(area.path("home/.tool/lock"), "").expect("a file");
    let quiet = area.bash("(echo x > ~/.tool/lock) 2>/dev/null; echo broken; false").await;
    assert_eq!((quiet.output.contains("broken"), quiet.output.contains(".tool")), (true, false), "{}", quiet.output);
    let loud = area.bash("echo x > ~/.tool/lock").await;
    assert!(
        loud.output.contains("the sandbox blocked a change of") && loud.output.contains(".tool/lock, outside"),
        "{}",
        loud.output
    );
}

/// A command that shows whether it has a way out.
fn look() -> String {
    json!({ "command": "echo ${HTTPS_PROXY:+network} $PWD" }).to_string()
}

#[tokio::test]
async fn subagents_share_what_their_session_was_granted() {
    let area = Area::new();
    let lift = area.bash.lift();
    let script = Script::new()
        .call("spawn_subagent", &json!({ "agent": "helper", "prompt": "look" }).to_string())
        .call("bash", &look())
        .say("seen")
        .say("done");
    let (mut builder, results) = area.agent(script);
    builder.with(Subagents::new().agent(Subagent::new("helper", "Looks")).expect("a definition"));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    lift.grant(session.id(), Granted { network: Network::Public, ..Granted::default() });
    session.prompt("go").await.expect("a report");
    let first = results.lock().expect("no panic")[0].clone();
    assert!(first.output.starts_with("network "), "{}", first.output);
}

#[tokio::test]
async fn what_a_session_was_granted_holds_when_it_is_resumed_and_until_it_is_taken_back() {
    let journal = MemoryJournal::default();
    let area = Area::new();
    let agent = |area: &Area| {
        let (mut builder, results) = area.agent(Script::new().call("bash", &look()).say("done").may_end_early());
        builder.journal(journal.clone());
        (built(&mut builder), results)
    };
    let granted = |area: &Area, id: &str| area.bash.lift().granted(id);
    let (first, _) = agent(&area);
    let mut session = first.session().await.expect("a session");
    let id = session.id().to_owned();
    let access = Granted { network: Network::Public, ports: [5432].into(), ..Granted::default() };
    area.bash.lift().grant(&id, access);
    area.bash.lift().grant_write(&id, &area.path("outside")).expect("a folder");
    session.prompt("go").await.expect("a report");
    session.close().await;

    // Another process, which knows only the journal.
    let later = Area { bash: Bash { grants: Grants::default(), ..area.bash.clone() }, root: area.root };
    let (second, results) = agent(&later);
    let mut session = second.resume(&id).await.expect("the session");
    let words = granted(&later, &id).expect("some grants");
    assert!(
        words.starts_with("network access to all public hosts, port 5432 of this machine and changes of"),
        "{words}"
    );
    session.prompt("again").await.expect("a report");
    assert!(results.lock().expect("no panic")[0].output.starts_with("network "));
    later.bash.lift().set_network(&id, NetworkAccess::default()).expect("less");
    session.prompt("again").await.ok();
    session.close().await;

    let fixed = later.with(|bash| {
        bash.grants = Grants::default();
        bash.sandbox.fixed.write = true;
    });
    let (third, _) = agent(&fixed);
    let _session = third.resume(&id).await.expect("the session");
    let lines = fixed.bash.lift().lines(&id);
    let outside = real(&fixed.path("outside"));
    assert!(!lines.iter().any(|(_, how)| how.contains(&outside)), "what is fixed by now was granted before: {lines:?}");
}
