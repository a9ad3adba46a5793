//! "Always": which rule is offered, and for how long it holds.

use std::fs;

use vertebra::{
    AgentTool, Approval, Decision,
    testing::{FixedApprover, Script},
};
use vertebra_kit::permissions::{For, Permissions};

use super::*;

/// The rules that would be offered to a person who is asked about this call.
async fn offered(permissions: Permissions, tool: &str, args: Value) -> Vec<String> {
    let rules = permissions.rules();
    let told = Told::default();
    let offers = told.clone();
    let person = FixedApprover::by(move |approval: &Approval| {
        let found = rules.suggestions(approval).unwrap_or_else(|| vec!["nothing".to_owned()]);
        offers.0.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        approval.approve()
    });
    reads_of(permissions, tool, args, |builder| {
        builder.approver(person);
    })
    .await;
    told.lines()
}

#[tokio::test]
async fn the_narrowest_sensible_rule_is_offered() {
    let cases: [(&str, Value, &[&str]); 58] = [
        ("bash", command("cargo test -p a"), &["Bash(cargo test *)"]),
        ("bash", command("cargo test"), &["Bash(cargo test *)"]),
        ("bash", command("npm run test -- -u"), &["Bash(npm run test *)"]),
        ("bash", command("git restore --staged ."), &["Bash(git restore --staged .)"]),
        ("bash", command("git worktree remove --force a"), &["Bash(git worktree remove --force a)"]),
        ("bash", command("git push --force && cargo fmt"), &["Bash(git push *)", "Bash(cargo fmt *)"]),
        ("bash", command("git -c color.ui=never log"), &["Bash(git -c color.ui=never log)"]),
        // The pager is a program that the line would start.
        ("bash", command("git -c core.pager=x log"), &["nothing"]),
        ("bash", command("timeout 5 cargo test"), &["Bash(cargo test *)"]),
        ("bash", command("make all"), &["Bash(make all *)"]),
        ("bash", command("npm test 2>&1 | tail -12"), &["Bash(npm test *)"]),
        ("bash", command("cd web && npm test | grep -v x | head"), &["Bash(npm test *)"]),
        ("bash", command("python3 -m pytest -x -q | tail -30"), &["Bash(python3 -m pytest *)"]),
        ("bash", command("pytest -x tests"), &["Bash(pytest *)"]),
        ("bash", command(".venv/bin/pytest -x tests"), &["Bash(.venv/bin/pytest *)"]),
        ("bash", command(".venv/bin/python -m pytest -q"), &["Bash(.venv/bin/python -m pytest *)"]),
        ("bash", command(".venv/bin/python x.py"), &["Bash(.venv/bin/python x.py)"]),
        ("bash", command(".venv/bin/uv run x.py"), &["Bash(.venv/bin/uv run x.py)"]),
        ("bash", command("git diff --output=x"), &["Bash(git diff *)"]),
        // A rule for every use of these would allow everything.
        ("bash", command("bash build.sh"), &["Bash(bash build.sh)"]),
        ("bash", command("python3 x.py a"), &["Bash(python3 x.py a)"]),
        ("bash", command("python3 -m timeit pass"), &["Bash(python3 -m timeit pass)"]),
        ("bash", command("node x.js"), &["Bash(node x.js)"]),
        ("bash", command("npx tsc --noEmit"), &["Bash(npx tsc *)"]),
        ("bash", command("npx prettier --write \"src/*.ts\""), &["Bash(npx prettier *)"]),
        ("bash", command("npx cowsay moo"), &["Bash(npx cowsay moo)"]),
        ("bash", command("npx -y tsc"), &["Bash(npx -y tsc)"]),
        ("bash", command("npm exec tsc"), &["Bash(npm exec tsc)"]),
        ("bash", command("docker run alpine id"), &["Bash(docker run alpine id)"]),
        ("bash", command("uv run x.py"), &["Bash(uv run x.py)"]),
        ("bash", command("deno run x.ts"), &["Bash(deno run x.ts)"]),
        ("bash", command("go run ."), &["Bash(go run .)"]),
        ("bash", command("touch a"), &["Bash(touch a)"]),
        // A rule for these would allow every script that comes through standard input.
        ("bash", command("python3 - <<'EOF'\nprint(1)\nEOF"), &["nothing"]),
        ("bash", command("printf 'touch a' | bash"), &["nothing"]),
        ("bash", command("bash -s a < build.sh"), &["nothing"]),
        ("bash", command("echo 1 | node"), &["nothing"]),
        // Commands of the shell, and such that only read, are no rules.
        ("bash", command("set -e; npm test"), &["Bash(npm test *)"]),
        ("bash", command("cat > a.txt <<EOF\nx\nEOF"), &["Edit(./a.txt)"]),
        ("bash", command("npm start & PID=$!; kill $PID"), &["nothing"]),
        ("bash", command("export A=1; npm test"), &["nothing"]),
        ("bash", command("trap 'x' EXIT; npm test"), &["nothing"]),
        // More than three rules are nothing that a person reads.
        ("bash", command("touch a; touch b; touch c"), &["Bash(touch a)", "Bash(touch b)", "Bash(touch c)"]),
        ("bash", command("touch a; touch b; touch c; touch d"), &["nothing"]),
        ("bash", command("ls && cargo build && cargo test"), &["Bash(cargo build *)", "Bash(cargo test *)"]),
        ("bash", command("python -c 'print(1)'"), &["nothing"]),
        ("bash", command("rm *.o"), &["nothing"]),
        ("bash", command("cargo test > out/log"), &["Bash(cargo test *)", "Edit(out/log)"]),
        ("bash", command("cargo test > $OUT"), &["nothing"]),
        ("bash", command("sudo make"), &["Bash(sudo make)", "Bash(make)"]),
        ("write_file", path("src/a.rs"), &["Edit(src/a.rs)"]),
        ("edit_file", path("/repo/a.rs"), &["Edit(./a.rs)"]),
        ("edit_file", path("src/[id].ts"), &["Edit(src/[[]id[]].ts)"]),
        ("edit_file", path("/etc/hosts"), &["Edit(/etc/hosts)"]),
        ("delete_file", path("src/a.rs"), &["delete_file"]),
        ("web", json!({"url": "https://Example.org/x"}), &["WebFetch(domain:example.org)"]),
        ("mcp__mail__send", json!({}), &["mcp__mail__send"]),
        ("bash", json!({}), &["nothing"]),
    ];
    for (tool, args, expected) in cases {
        let shown = args.to_string();
        assert_eq!(offered(Permissions::default(), tool, args).await, expected, "{tool} {shown}");
    }
    // Where a rule asks each time, no other rule would help.
    let asking = Permissions::default().ask("Bash(git push *)").expect("a rule");
    assert_eq!(offered(asking, "bash", command("git push")).await, ["nothing"]);
}

#[tokio::test]
async fn what_was_learned_holds_in_its_session_and_in_the_children_of_it() {
    let call = r#"{"command": "cargo test"}"#;
    let child = |model: Script| {
        let mut child = Agent::builder(model);
        child.name("child").working_directory("/repo");
        with_tools(&mut child);
        built(&mut child)
    };
    let inner = Script::new().call("bash", call).say("tried");
    let model = Script::new()
        .call("bash", call)
        .call("helper", r#"{"prompt": "try"}"#)
        .say("done")
        .call("bash", call)
        .say("in another session");
    let permissions = allowing(&["helper"]);
    let rules = permissions.rules();
    let learning = rules.clone();
    let person = FixedApprover::by(move |approval| {
        let session = approval.at.run.session_id.clone();
        for rule in learning.suggestions(approval).expect("rules") {
            learning.learn(&rule, &For::Session(session.clone())).expect("a rule");
        }
        approval.approve()
    })
    .then(FixedApprover::no("once is enough"));
    let mut builder = agent(&model, permissions);
    builder.approver(person.clone()).tool(AgentTool::new("helper", "helps", child(inner)));
    let told = Told::results(&mut builder);
    let agent = built(&mut builder);
    agent.run("go").await.expect("a run");
    assert_eq!(told.lines(), ["ok", "ok", "tried"]);
    assert_eq!(rules.list().len(), 1, "a session that has ended leaves no rules behind");
    agent.run("go").await.expect("a run");
    assert_eq!(told.lines().last().expect("results"), "denied: once is enough");
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn what_was_learned_for_good_is_in_the_file_and_no_tool_may_write_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fs::write(&file, "# mine\n[permissions]\nmode = \"accept_edits\"\nallow = [\"Bash(git *)\"] # fine\n")
        .expect("a file");
    let permissions = || Permissions::default().file(&file).expect("a file of rules");
    let rules = permissions().rules();
    rules.learn("Bash(cargo test *)", &For::Good).expect("a rule");
    assert_eq!(
        fs::read_to_string(&file).expect("the file"),
        "# mine\n[permissions]\nmode = \"accept_edits\"\nallow = [\"Bash(git *)\", \"Bash(cargo test *)\"] # fine\n"
    );
    assert_eq!(comes_to(permissions(), "bash", command("cargo test -q")).await, "ran");
    assert_eq!(comes_to(permissions(), "write_file", path("a")).await, "ran");
    let everything = || permissions().allow("*").expect("a rule");
    let settings = file.to_str().expect("text");
    assert_eq!(comes_to(everything(), "write_file", path(settings)).await, "denied");
    assert_eq!(comes_to(everything(), "bash", command(&format!("echo x >> {settings}"))).await, "denied");
    assert_eq!(comes_to(everything(), "bash", command(&format!("cat {settings}"))).await, "ran");
}

/// An approval is for the arguments that were shown.
#[tokio::test]
async fn an_approval_that_was_given_for_something_else_is_refused() {
    let first: Arc<Mutex<Option<Decision>>> = Arc::default();
    let kept = first.clone();
    let person = FixedApprover::by(move |approval| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| approval.approve()).clone()
    });
    let model = Script::new().call("bash", r#"{"command": "ls"}"#).call("bash", r#"{"command": "rm x"}"#).say("done");
    let mut builder = agent(&model, Permissions::default());
    builder.approver(person);
    let told = Told::results(&mut builder);
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(told.lines(), ["ok", "denied: the approval was for other arguments"]);
}

#[tokio::test]
async fn what_a_person_writes_is_judged_by_the_rules() {
    let person = FixedApprover::by(|_| Decision::Edit { args: Args::try_from(command("rm x")).expect("an object") });
    let permissions = Permissions::default().deny("Bash(rm *)").expect("a rule");
    let read = reads_of(permissions, "bash", command("ls"), |builder| {
        builder.approver(person);
    });
    assert_eq!(read.await, "blocked by permissions/rules: denied by rule `Bash(rm *)` of the program");
}
