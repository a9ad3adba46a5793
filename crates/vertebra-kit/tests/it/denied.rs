//! One refusal to read, tried through every tool there is: files, searches, edits, commands, children, a server of others.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use vertebra::{AgentBuilder, prelude::*, testing::Script};
use vertebra_kit::{
    bash::{
        Bash, Environment, Sandbox,
        sandbox::{Engine, Need},
    },
    files::Files,
    permissions::Permissions,
    subagents::Subagent,
};

use super::{
    subagents::{agents, task},
    support::{built, run},
};

/// A project with a secret in it, and a folder for temporary files.
struct Project {
    root: TempDir,
    rule: &'static str,
    sandbox: Sandbox,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in
            [("work/secret/key", "hunter2\n"), ("work/src/lib.rs", "open\n"), ("work/.env", "swordfish\n")]
        {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }
        fs::create_dir(root.path().join("tmp")).expect("a new folder");
        let launcher = Some(env!("CARGO_BIN_EXE_vertebra-sandbox").into());
        Self { root, rule: "Read(secret/**)", sandbox: Sandbox { launcher, ..Sandbox::required() } }
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Everything is allowed but to read the secret. The results of all calls, also of children, are told.
    fn agent(&self, model: Script) -> (AgentBuilder, Arc<Mutex<Vec<String>>>) {
        let results = Arc::new(Mutex::new(Vec::new()));
        let told = results.clone();
        let temporary = self.root.path().join("tmp").display().to_string();
        let environment = Environment::default().set("TMPDIR", temporary);
        let sandbox = self.sandbox.clone();
        let bash = Bash { sandbox, environment, judged: false, ..Bash::in_dir(self.work()) };
        let permissions = Permissions::bypassing_questions().deny(self.rule).expect("a rule");
        let mut builder = Agent::builder(model);
        builder.max_steps(100).with(Files::new(self.work()).expect("a folder")).with(bash).with(permissions);
        builder.with(agents([Subagent::new("clerk", "Does what it is told")]));
        builder.watch(AfterToolUse, async move |cx| {
            told.lock().expect("no panic").push(format!("{}: {}", cx.result.status, cx.result.output));
            Ok(())
        });
        (builder, results)
    }

    /// What comes of each call, one after the other in one run.
    async fn calls(&self, calls: &[(&str, Value)], also: impl FnOnce(&mut AgentBuilder)) -> Vec<String> {
        let script = calls.iter().fold(Script::new(), |script, (tool, args)| script.call(tool, &args.to_string()));
        let (mut builder, results) = self.agent(script.say("done").may_end_early());
        also(&mut builder);
        run(&built(&mut builder), "go").await;
        results.lock().expect("no panic").clone()
    }

    async fn bash(&self, command: &str) -> String {
        self.calls(&[("bash", json!({ "command": command }))], |_| {}).await.remove(0)
    }

    #[track_caller]
    fn is_untouched(&self, after: &str) {
        for (name, text) in [("work/secret/key", "hunter2\n"), ("work/.env", "swordfish\n")] {
            let found = fs::read_to_string(self.root.path().join(name));
            assert_eq!(found.unwrap_or_else(|error| panic!("{after}: {name}: {error}")), text, "{after}");
        }
    }
}

/// Commands that read the secret. Rules can read what the first few of them name; only a shell can read the others.
const SPELLINGS: &[&str] = &[
    "cat {secret,x}/key",
    "D=secret; cat $D/key",
    "cat se\\cret/key",
    "cat \"$(printf 'sec%s' ret)/key\"",
    "read -r D < <(printf 'sec%s' ret); cat \"$D\"/key",
    "python3 -c 'print(open(\"sec\" + \"ret/key\").read())'",
    "grep -rh hunter .",
    "tar c . | grep -ao hunter2",
    "find . -type f -exec cat {} +",
    "for d in *; do cat $d/key; done",
    "cp -r . $TMPDIR/copy; cat $TMPDIR/copy/*/key",
    "D=$(printf 'sec%s' ret); ln -s $D link; cat link/key",
    "D=$(printf 'sec%s' ret); ln $D/key link; cat link",
    "D=$(printf 'sec%s' ret); mv $D moved; cat moved/key; mv moved $D",
    "D=$(printf 'sec%s' ret); cd $D && cat key",
    "D=$(printf 'sec%s' ret); exec 3< $D/key; cat <&3",
    "D=$(printf 'sec%s' ret); cat /proc/self/cwd/$D/key",
];

#[tokio::test]
async fn commands_do_not_read_it_however_they_spell_it() {
    let mut held_by_the_system = 0;
    for command in SPELLINGS {
        let mut bare = Project::new();
        (bare.rule, bare.sandbox) = ("Read(absent)", Sandbox::off());
        let read = bare.bash(command).await;
        assert!(read.contains("hunter2"), "without rule and sandbox this should work: {command}\n{read}");
        let project = Project::new();
        let read = project.bash(command).await;
        assert!(!read.contains("hunter2"), "{command}\n{read}");
        held_by_the_system += usize::from(!read.contains("denied by rule"));
        project.is_untouched(command);
    }
    assert!(held_by_the_system > 10, "only {held_by_the_system} came as far as the sandbox");
    let fine = Project::new().bash("echo made > new && cat new src/lib.rs && git init -q . && ls src").await;
    assert_eq!(fine, "done: made\nopen\nlib.rs", "and the rest of the folder works");
}

#[tokio::test]
async fn a_rule_with_a_pattern_means_what_is_there() {
    let mut project = Project::new();
    project.rule = "Read(**/.e*)";
    let read = project.bash("cat $(printf '.%s' env); echo made > new; cat new").await;
    assert!(read.contains("made") && !read.contains("swordfish"), "{read}");
    project.is_untouched("a pattern");
}

#[tokio::test]
async fn it_holds_without_mounts_too() {
    let mut project = Project::new();
    // A launcher that gets no mounts, so that its first try fails: Landlock alone has to leave the path out.
    let launcher = project.root.path().join("launcher");
    let real = env!("CARGO_BIN_EXE_vertebra-sandbox");
    let script = format!(
        "#!/bin/bash\nif [ \"$1\" = 'vertebra sandbox: launch' ] && mkdir \"$0.tried\" 2> /dev/null; then\n\
         echo 'no mounts: Operation not permitted' >&2; exit 126\nfi\nexec '{real}' \"$@\"\n"
    );
    fs::write(&launcher, script).expect("a new file");
    fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    project.sandbox =
        Sandbox { launcher: Some(launcher), engine: Engine::Own, need: Need::IfAvailable, ..Sandbox::default() };
    let told = project.bash("cat $(printf 'sec%s' ret)/key; cat src/lib.rs").await;
    assert!(told.contains("open") && told.contains("Permission denied"), "{told}");
}

#[tokio::test]
async fn the_files_tools_and_children_do_not_reach_it() {
    let project = Project::new();
    let direct = [
        ("read_file", json!({"path": "secret/key"})),
        ("read_file", json!({"path": "src/../secret/key"})),
        ("grep", json!({"pattern": "hunter", "path": "secret"})),
        ("list_dir", json!({"path": "secret"})),
        ("search_files", json!({"pattern": "*", "path": "secret"})),
        ("edit_file", json!({"path": "secret/key", "old_text": "hunter2", "new_text": "x"})),
        ("write_file", json!({"path": "secret/key", "content": "x"})),
        ("bash", json!({"command": "cat secret/key"})),
    ];
    for read in project.calls(&direct, |_| {}).await {
        assert!(read.starts_with("blocked: ") && read.contains("denied by rule `Read(secret/**)`"), "{read}");
    }
    let from_above = [
        ("grep", json!({"pattern": "hunter", "path": "."})),
        ("search_files", json!({"pattern": "**/key"})),
        ("bash", json!({"command": SPELLINGS[3]})),
    ];
    for read in project.calls(&from_above, |_| {}).await {
        assert!(!read.contains("hunter2") && !read.contains("secret/key\n"), "{read}");
    }
    let mut script = Script::new().call("spawn_subagent", &task("clerk", "Read it."));
    for (tool, args) in direct.iter().chain(&from_above) {
        script = script.call(tool, &args.to_string());
    }
    let (mut builder, results) = project.agent(script.say("nothing").say("done"));
    run(&built(&mut builder), "go").await;
    let results = results.lock().expect("no panic").clone();
    assert_eq!(results.len(), direct.len() + from_above.len() + 1, "{results:?}");
    for read in &results[..direct.len()] {
        assert!(read.starts_with("blocked: ") && read.contains("denied by rule `Read(secret/**)`"), "{read}");
    }
    assert!(!results.iter().any(|read| read.contains("hunter2")), "{results:?}");
    project.is_untouched("files and children");
}

/// A server that others wrote, for the project's folder and in it; from where `cargo xtask test` puts the package.
#[cfg(feature = "mcp")]
async fn filesystem_server(folder: &Path) -> vertebra_kit::mcp::Mcp {
    use vertebra_kit::mcp::{Mcp, McpConfig, Transport};

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let name = "@modelcontextprotocol/server-filesystem";
    let servers = target.join("test-servers");
    let script = servers.join("node_modules").join(name).join("dist/index.js");
    assert!(
        script.exists(),
        "this test talks to a public MCP server; install it with\n  npm install --prefix {} {name}@2026.8.31\nor run `cargo xtask test`, which does",
        servers.display()
    );
    let text = json!({"mcpServers": {"fs": {"command": "node", "args": [script, folder]}}}).to_string();
    let mut config = McpConfig::from_json(&text, |name| std::env::var(name).ok()).expect("a valid configuration");
    for server in config.servers.values_mut() {
        if let Transport::Stdio { cwd, .. } = &mut server.transport {
            *cwd = Some(folder.to_owned());
        }
    }
    Mcp::connect(config).await.expect("a server that can be used")
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn a_server_of_others_is_not_asked_for_it() {
    let project = Project::new();
    let server = filesystem_server(&project.work()).await;
    let absolute = project.work().join("secret/key");
    let direct = [
        ("mcp__fs__read_text_file", json!({"path": "secret/key"})),
        ("mcp__fs__read_text_file", json!({ "path": absolute })),
        ("mcp__fs__read_multiple_files", json!({"paths": ["src/lib.rs", "secret/key"]})),
        ("mcp__fs__list_directory", json!({"path": "secret"})),
        ("mcp__fs__get_file_info", json!({"path": "./secret//key"})),
        ("mcp__fs__search_files", json!({"path": "secret", "pattern": "*"})),
        ("mcp__fs__edit_file", json!({"path": "secret/key", "edits": [{"oldText": "hunter2", "newText": "x"}]})),
        ("mcp__fs__move_file", json!({"source": "secret/key", "destination": "src/key"})),
        ("mcp__fs__move_file", json!({"source": "secret", "destination": "open"})),
    ];
    let open = [
        ("mcp__fs__read_text_file", json!({"path": "src/lib.rs"})),
        ("mcp__fs__search_files", json!({"path": ".", "pattern": "**/*"})),
    ];
    let calls: Vec<_> = direct.iter().chain(&open).cloned().collect();
    let read = project
        .calls(&calls, |builder| {
            builder.with(server);
        })
        .await;
    assert_eq!(read.len(), calls.len(), "{read:?}");
    for (call, read) in direct.iter().zip(&read) {
        assert!(read.starts_with("blocked: ") && read.contains("denied by rule `Read(secret/**)`"), "{call:?}\n{read}");
    }
    assert_eq!(read[direct.len()], "done: open\n");
    let found = &read[direct.len() + 1];
    assert!(found.contains("src/lib.rs") && !found.contains("work/secret"), "{found}");
    assert!(found.contains("[2 lines hidden by rule Read(secret/**)]"), "{found}");
    project.is_untouched("a server of others");
}
