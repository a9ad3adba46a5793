//! What a trusted hook loads is what was trusted, whatever an agent writes into the project.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    super::{given_to, say},
    Machine,
};

/// A machine with one hook that runs this command, and an event for it.
fn machine(command: &str) -> Machine {
    let machine = Machine::new();
    machine.write(
        "project/vertebra.toml",
        &format!("[[hook]]\nname = \"check\"\npoint = \"BeforeToolUse\"\nrun = {{ command = {command:?} }}\n"),
    );
    machine.write("event.json", r#"{"point": "BeforeToolUse", "tool": "bash", "args": {"command": "ls"}}"#);
    machine
}

fn trusts(machine: &Machine) {
    let told = machine.runs(&["trust", "--yes"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
}

#[test]
fn code_beside_a_trusted_script_that_was_not_trusted_never_runs() {
    let evil_python = "open('evil', 'w').close()\n";
    let evil_node = "require('fs').writeFileSync('evil', '')\n";
    let evil_sh = "touch evil\n";
    // The program, its script, what an agent writes, and what that says.
    let cases = [
        ("python3 hooks/x.py", "hooks/x.py", "import json\nprint(json.dumps({}))\n", "hooks/json.py", evil_python),
        ("python3 hooks/x.py", "hooks/x.py", "import json\nprint(json.dumps({}))\n", "json.py", evil_python),
        (
            "python3 hooks/x.py",
            "hooks/x.py",
            "try:\n import helper\nexcept ImportError: pass\n",
            "hooks/__pycache__/helper.pyc",
            evil_python,
        ),
        ("python3 -c 'import json'", "", "", "json.py", evil_python),
        ("python3 -m json.tool --help", "", "", "argparse.py", evil_python),
        (
            "node hooks/x.js",
            "hooks/x.js",
            "try { require('left-pad') } catch {}\n",
            "hooks/node_modules/left-pad/index.js",
            evil_node,
        ),
        (
            "node hooks/x.js",
            "hooks/x.js",
            "try { require('left-pad') } catch {}\n",
            "node_modules/left-pad/index.js",
            evil_node,
        ),
        (
            "ruby hooks/x.rb",
            "hooks/x.rb",
            "begin; require_relative 'y'; rescue LoadError; end\n",
            "hooks/y.rb",
            "File.write('evil', '')\n",
        ),
        (
            "perl hooks/x.pl",
            "hooks/x.pl",
            "use FindBin; use lib $FindBin::Bin; eval { require 'y.pl' };\n",
            "hooks/y.pl",
            "open(my $f, '>', 'evil');\n",
        ),
        (
            "sh hooks/x.sh",
            "hooks/x.sh",
            "d=$(dirname \"$0\"); [ -f \"$d/y.sh\" ] && . \"$d/y.sh\"; true\n",
            "hooks/y.sh",
            evil_sh,
        ),
        ("sh hooks/x.sh", "hooks/x.sh", "jq --version >/dev/null; true\n", "hooks/jq", evil_sh),
    ];
    for (command, script, text, written, evil) in cases {
        let machine = machine(command);
        if !script.is_empty() {
            machine.write(&format!("project/{script}"), text);
        }
        trusts(&machine);
        let told = machine.runs(&["hooks", "fire", &machine.event()]);
        assert_eq!(told.json()["ran"][0]["exit_code"], 0, "`{command}` works: {}{}", told.out, told.err);
        machine.write(&format!("project/{written}"), evil);
        let path = machine.path(&format!("project/{written}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        let mut fire = machine.command(&["hooks", "fire", &machine.event()]);
        let path = format!("{}:.:{}", machine.path("project/hooks").display(), std::env::var("PATH").expect("a PATH"));
        for variable in ["PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"] {
            fire.env(variable, machine.path("project"));
        }
        fire.env("PATH", path).env("BASH_ENV", written).env("ENV", written);
        machine.told(&mut fire);
        assert!(!machine.path("project/evil").exists(), "`{command}` loaded {written}");
        if written.starts_with("hooks/") && !written.contains("__pycache__") {
            assert!(machine.runs(&["trust", "--list"]).out.starts_with("changed"), "{written} is noticed");
        }
    }
}

#[test]
fn a_hook_finds_its_helper_module_and_the_files_beside_it() {
    let python = "import helper, os, sys\nprint('{\"context\": \"%s %s\"}' % (helper.word(), open(os.path.join(os.path.dirname(__file__), 'words.txt')).read()))\n";
    let shell = "here=$(dirname \"$0\")\n. \"$here/lib.sh\"\necho \"{\\\"context\\\": \\\"$(word) $(cat \"$here/words.txt\")\\\"}\"\n";
    for (command, script, text) in [
        ("python3 .vertebra/hooks/x.py", ".vertebra/hooks/x.py", python),
        ("sh .vertebra/hooks/x.sh", ".vertebra/hooks/x.sh", shell),
        (
            ".vertebra/hooks/deep/x.sh",
            ".vertebra/hooks/deep/x.sh",
            "#!/bin/sh\necho \"{\\\"context\\\": \\\"kind $(cat \"$(dirname \"$0\")/../words.txt\")\\\"}\"\n",
        ),
    ] {
        let machine = machine(command);
        machine.write(&format!("project/{script}"), text);
        let path = machine.path(&format!("project/{script}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        machine.write("project/.vertebra/hooks/helper.py", "def word():\n    return 'kind'\n");
        machine.write("project/.vertebra/hooks/lib.sh", "word() { echo kind; }\n");
        machine.write("project/.vertebra/hooks/words.txt", "words");
        trusts(&machine);
        for _ in 0..2 {
            let told = machine.runs(&["hooks", "fire", &machine.event()]);
            assert!(told.out.contains("kind words"), "{command}: {}{}", told.out, told.err);
        }
    }
}

/// Swaps the script of a hook while it starts a hundred times, as this user.
fn swaps(user: Option<u32>) {
    let machine = machine("sh hooks/x.sh");
    let (good, evil) = ("touch good; true\n", "touch evil; true\n");
    machine.write("project/hooks/x.sh", good);
    let program = machine.path("vertebra");
    fs::copy(env!("CARGO_BIN_EXE_vertebra"), &program).expect("copied");
    if let Some(user) = user {
        given_to(&machine.path(""), user);
    }
    let runs = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env_clear().current_dir(machine.path("project")).stdin(Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("HOME", machine.path("home"));
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        machine.told(&mut command)
    };
    let told = runs(&["trust", "--yes"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (stop, path) = (stop.clone(), machine.path("project/hooks/x.sh"));
        let other = machine.path("project/other");
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for text in [evil, good] {
                    fs::write(&other, text).expect("written");
                    fs::rename(&other, &path).expect("swapped");
                }
            }
        })
    };
    let mut started = 0;
    for _ in 0..100 {
        runs(&["hooks", "fire", &machine.event()]);
        started += usize::from(fs::remove_file(machine.path("project/good")).is_ok());
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().expect("it ends");
    assert!(!machine.path("project/evil").exists(), "swapped bytes ran");
    assert!(started > 0, "the hook ran in some of the hundred");
}

#[test]
fn bytes_that_are_swapped_while_a_hook_starts_never_run() {
    swaps(None);
    if fs::metadata("/proc/self").expect("a process").uid() == 0 {
        swaps(Some(65534));
    }
}

#[test]
fn a_persons_own_hook_loads_nothing_from_the_project_either() {
    for (command, written, evil) in [
        ("python3 -c 'import json'", "json.py", "open('evil', 'w').close()\n"),
        ("python3 -m json.tool --help", "json/tool.py", "open('evil', 'w').close()\n"),
        ("frobnicate; true", "frobnicate", "touch evil\n"),
    ] {
        let machine = machine("true");
        let hook = format!("[[hook]]\nname = \"own\"\npoint = \"BeforeToolUse\"\nrun = {{ command = {command:?} }}\n");
        machine.user_settings(&hook);
        machine.write(&format!("project/{written}"), evil);
        machine.write("project/json/__init__.py", "");
        let path = machine.path(&format!("project/{written}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        let mut fire = machine.command(&["hooks", "fire", &machine.event()]);
        let path = format!("{}:.:{}", machine.path("project").display(), std::env::var("PATH").expect("a PATH"));
        let told = machine.told(fire.env("PATH", path));
        assert_eq!(told.json()["ran"][0]["exit_code"], 0, "{command}: {}{}", told.out, told.err);
        assert!(!machine.path("project/evil").exists(), "{command}");
    }
}

#[test]
fn a_script_among_work_files_is_refused_and_can_be_moved() {
    for (command, script) in [("./check.sh", "check.sh"), ("sh src/check.sh", "src/check.sh")] {
        let machine = machine(command);
        machine.script(&format!("project/{script}"), "cat >/dev/null; echo '{\"context\": \"checked\"}'");
        let told = machine.runs(&["trust", "--yes"]);
        assert_eq!(told.code, 1, "{}", told.out);
        assert!(told.err.contains("lies among work files") && told.err.contains("--move-scripts"), "{}", told.err);
        let told = machine.runs(&["hooks", "fire", &machine.event()]);
        assert!(!told.out.contains("checked"), "{}", told.out);

        let told = machine.runs(&["trust", "--yes", "--move-scripts"]);
        assert_eq!(told.code, 0, "{}{}", told.out, told.err);
        assert!(machine.path("project/.vertebra/hooks/check.sh").exists());
        let told = machine.runs(&["hooks", "fire", &machine.event()]);
        assert!(told.out.contains("checked"), "{}{}", told.out, told.err);
    }
}

#[test]
fn a_folder_that_is_too_large_to_check_is_refused() {
    let machine = machine("sh hooks/x.sh");
    machine.write("project/hooks/x.sh", "true");
    for number in 0..300 {
        machine.write(&format!("project/hooks/{number}.txt"), "");
    }
    let told = machine.runs(&["trust", "--yes"]);
    assert!(told.code == 1 && told.err.contains("more than 256 files"), "{}", told.err);
    let machine = self::machine("sh hooks/x.sh");
    machine.write("project/hooks/x.sh", "true");
    machine.write("project/hooks/large", &"x".repeat(5 * 1024 * 1024));
    let told = machine.runs(&["trust", "--yes"]);
    assert!(told.code == 1 && told.err.contains("more than 4194304 bytes"), "{}", told.err);
}

#[test]
fn a_hook_that_runs_whatever_its_tool_loads_needs_consent_to_that() {
    for (command, script) in [
        ("make -s -C tools check", ""),
        ("npm --prefix tools run check", ""),
        ("sh hooks/x.sh", "make -s check\n"),
        ("sh hooks/x.sh", ". ./lib.sh\n"),
        ("sh hooks/x.sh", "python3 -c 'import json'\n"),
        ("sh hooks/x.sh", "exec ./tools/check\n"),
    ] {
        let machine = machine(command);
        machine.write("project/tools/Makefile", "check:\n\t@echo made > made\n");
        machine.write("project/lib.sh", "true\n");
        machine.write("project/hooks/x.sh", script);
        let told = machine.runs(&["trust", "--yes"]);
        assert_eq!(told.code, 1, "{command} {script}: {}", told.out);
        let said = "trusts whatever this tool loads";
        assert!(told.err.contains(said) && told.err.contains("--accept-open"), "{}", told.err);
        let told = machine.plays(&[say("hi")], &["--trust"]);
        assert!(!machine.path("project/tools/made").exists(), "{}", told.err);
        let told = machine.runs(&["trust", "--yes", "--accept-open"]);
        assert_eq!(told.code, 0, "{}", told.err);
        assert!(machine.runs(&["trust", "--list"]).out.starts_with("trusted"));
    }
}

#[test]
fn the_folder_of_a_trusted_script_is_read_only_for_the_agent() {
    let machine = machine("sh hooks/x.sh");
    machine.write("project/hooks/x.sh", "cat >/dev/null\n");
    machine.write("project/src/hooks/use.ts", "1\n");
    trusts(&machine);
    let write = |path: &str| serde_json::json!({ "call": { "tool": "write_file", "args": { "path": path, "content": "touch evil\n" } } });
    let turns = [
        write("hooks/json.py"),
        write("hooks/x.sh"),
        write("src/hooks/new.ts"),
        super::super::bash("echo touch evil > hooks/x.sh; echo x > hooks/json.py; mv hooks h2; true"),
        say("done"),
    ];
    machine.plays_once(&turns, &["--mode=bypass"]);
    assert_eq!(machine.read("project/hooks/x.sh"), "cat >/dev/null\n");
    assert!(!machine.path("project/hooks/json.py").exists() && !machine.path("project/h2").exists());
    assert!(machine.path("project/src/hooks/new.ts").exists(), "another folder of that name is not meant");
    assert!(machine.runs(&["trust", "--list"]).out.starts_with("trusted"));
}

#[test]
fn a_hook_of_claude_code_loads_only_what_was_trusted_too() {
    let machine = Machine::new();
    let handler = serde_json::json!({
        "type": "command", "command": "python3 \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/x.py",
    });
    let settings = serde_json::json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [handler] }] } });
    machine.write("project/.claude/settings.json", &settings.to_string());
    machine.write("project/.claude/hooks/x.py", "import json, helper\nopen(helper.NAME, 'w').close()\n");
    machine.write("project/.claude/hooks/helper.py", "NAME = 'ran'\n");
    trusts(&machine);
    let turns = [super::super::bash("true"), say("done")];
    let told = machine.plays_once(&turns, &["--mode=bypass"]);
    assert!(machine.path("project/ran").exists(), "{}", told.err);
    machine.write("project/.claude/hooks/json.py", "open('evil', 'w').close()\n");
    let told = machine.plays_once(&turns, &["--mode=bypass"]);
    assert_eq!(told.code, 4, "no person can be asked: {}", told.err);
    assert!(!machine.path("project/evil").exists(), "{}", told.err);
}
