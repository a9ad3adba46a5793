//! `init`, `doctor`, `completions` and help.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::Machine;

#[test]
fn init_writes_a_file_without_effects_and_never_overwrites_one_unasked() {
    let machine = Machine::new();
    let told = machine.runs(&["init"]);
    assert_eq!(told.code, 0, "{}", told.err);
    insta::assert_snapshot!(told.out, @r"
    Wrote vertebra.toml. All settings are commented out; remove a `#` to enable one.
    To check the file: vertebra doctor
    ");
    let told = machine.runs(&["trust"]);
    assert!(told.out.contains("no configuration that needs trust"), "{}", told.out);
    let told = machine.runs(&["doctor"]);
    let line = "✓ this folder       vertebra.toml sets nothing: all settings are commented out";
    assert!(told.out.contains(line), "{}", told.out);
    machine.write("project/vertebra.toml", "mine");
    let told = machine.runs(&["init"]);
    assert_eq!((told.code, machine.read("project/vertebra.toml").as_str()), (1, "mine"));
    assert!(told.err.contains("--force"), "{}", told.err);
    assert_eq!(machine.runs(&["init", "--force"]).code, 0);
    assert!(machine.read("project/vertebra.toml").contains("[permissions]"));
    assert_eq!(machine.runs(&["init", "--user"]).code, 0);
    assert!(machine.read("home/.config/vertebra/vertebra.toml").contains("[permissions]"));
}

#[test]
fn a_reader_that_is_gone_is_no_error_and_keeps_nothing_from_being_done() {
    let machine = Machine::new();
    machine.write("settings.json", r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#);
    for arguments in [
        &["install", "--host", "claude-code", "--dry-run"][..],
        &["install", "--host", "claude-code", "--host", "codex"],
        &["uninstall", "--host", "codex"],
        &["hosts"],
        &["init"],
        &["hooks", "new", "mine", "--lang", "sh"],
        &["hooks", "import", "--from", "../settings.json", "--dry-run"],
        &["trust", "--yes"],
        &["sessions", "list"],
        &["models", "--all", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = machine.command(arguments).stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts");
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("panicked") && !told.contains("error"), "{arguments:?}: {told}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
    }
    assert!(machine.read("home/.claude/settings.json").contains("vertebra"), "it was installed all the same");
    assert!(machine.read("project/vertebra.toml").contains("mine"), "and the hook was made");
}

#[test]
fn the_doctor_reports_what_works_and_suggests_fixes() {
    let machine = Machine::without_servers();
    machine.write("project/AGENTS.md", "Be kind.\n");
    let told = machine.told(machine.command(&["doctor"]).env("ANTHROPIC_API_KEY", "sk-ant-0123456789"));
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    assert!(!told.out.contains("sk-ant"), "{}", told.out);
    for line in [
        "✓ version",
        "✓ bash",
        "✓ managed settings  none",
        "✓ journal           [here]/home/.local/state/vertebra/journal.db will be created by the first run",
        "✓ your settings     [here]/home/.config/vertebra/vertebra.toml:",
        "! this folder       not trusted, so these are ignored: AGENTS.md",
        "→ vertebra trust",
        "✓ provider          Anthropic: ANTHROPIC_API_KEY is set",
        "✓ model             anthropic:",
    ] {
        assert!(told.out.contains(line), "{line}:\n{}", told.out);
    }
}

#[test]
fn the_doctor_fails_if_a_check_fails() {
    let machine = Machine::without_servers();
    let settings = machine.read("home/.config/vertebra/vertebra.toml");
    machine.write("project/vertebra.toml", "[limits]\nsteps = \"many\"\n");
    let told = machine.runs(&["doctor", "--json"]);
    assert_eq!(told.code, 1);
    let findings: Vec<Value> = serde_json::from_str(&told.out).expect("JSON");
    let broken = |what: &str| findings.iter().any(|finding| finding["what"] == what && finding["health"] == "broken");
    assert!(broken("model") && broken("this folder"), "{}", told.out);
    machine.user_settings(&format!("{settings}[limts]\n"));
    let told = machine.runs(&["doctor"]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("✗ your settings") && told.out.contains("did you mean `limits`?"), "{}", told.out);
}

#[test]
fn every_shell_gets_completions_and_bash_accepts_its_script() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let told = machine.runs(&["completions", shell]);
        assert!(told.code == 0 && told.out.contains("doctor") && told.out.contains("max-steps"), "{shell}");
    }
    let script = machine.runs(&["completions", "bash"]).out;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash");
    bash.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("written");
    assert!(bash.wait().expect("an end").success());
}

#[test]
fn help_and_version_need_no_home_and_write_no_files() {
    let machine = Machine::new();
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"], &["doctor", "--help"]] {
        let mut command = machine.command(arguments);
        command.env_clear().env("HOME", machine.path("nowhere"));
        assert_eq!(machine.told(&mut command).code, 0, "{arguments:?}");
    }
    assert!(!machine.path("nowhere").exists() && !machine.path("home/.config").exists());
    assert!(!machine.path("home/.local").exists());
}

#[test]
fn help_is_for_newcomers() {
    let machine = Machine::new();
    let commands = ["", "models", "init", "trust", "doctor", "completions"];
    let help = commands.map(|command| {
        let words: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        format!("--- vertebra {command}\n{}", machine.runs(&words).out)
    });
    insta::assert_snapshot!(help.join("\n"));
}

#[test]
fn a_misspelt_command_is_answered_with_the_command_that_was_meant() {
    let machine = Machine::new();
    for (words, meant) in [
        (&["rnu"][..], "'run'"),
        (&["docter"], "'doctor'"),
        (&["sessions", "lsit"], "'list'"),
        (&["hook", "list"], "'vertebra hooks list'"),
        (&["hook", "doctor"], "'vertebra hooks doctor'"),
    ] {
        let told = machine.runs(words);
        assert!(told.code == 2 && told.err.contains(meant), "{words:?}: {}", told.err);
    }
    for words in [&["xyz"][..], &["hook", "nonsense"], &["hook", "--nonsense"], &["hosts", "list"]] {
        let told = machine.runs(words);
        assert!(told.code == 2 && !told.err.contains("did you mean"), "{words:?}: {}", told.err);
    }
}

#[test]
fn a_reader_that_stops_early_is_not_an_error() {
    let machine = Machine::new();
    for arguments in
        [&["completions", "bash"][..], &["models", "--json"], &["doctor", "--json"], &["demo"], &["demo", "--json"]]
    {
        let mut command = machine.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("an end");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}
