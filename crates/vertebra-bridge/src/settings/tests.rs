//! Tests of settings files: values, levels and errors.

use std::time::Duration;

use super::*;

fn sheet(level: Level, text: &str) -> Settings {
    parse(text, level, "vertebra.toml").expect(text).settings
}

fn value<T: Clone>(said: Option<&Said<T>>) -> Option<T> {
    said.map(|said| said.value.clone())
}

#[test]
fn every_value_remembers_its_line() {
    let text = r#"
[model]
name = "ollama:qwen"

[model.provider.ollama]
base_url = "http://localhost:11434"
key = "OLLAMA_KEY"

[permissions]
mode = "plan"
allow = [
    "Read(**)",
    "Bash(cargo *)",
]

[limits]
steps = 30
cost = 2.5
time = "10m"
"#;
    let sheet = parse(text, Level::User, "vertebra.toml").expect("settings");
    let Settings { model, permissions, limits, .. } = &sheet.settings;
    assert_eq!(model.name.as_ref().expect("a name").origin.to_string(), "vertebra.toml, line 3");
    assert_eq!(permissions.allow[1].origin.line, Some(13));
    assert_eq!(value(limits.time.as_ref()), Some(Duration::from_mins(10)));
    assert_eq!(value(limits.cost_micros.as_ref()), Some(2_500_000));
    let entries: Vec<String> =
        sheet.entries.iter().map(|Entry { key, value, line }| format!("{line}: {key} = {value}")).collect();
    insta::assert_snapshot!(entries.join("\n"), @r#"
    3: model.name = "ollama:qwen"
    6: model.provider.ollama.base_url = "http://localhost:11434"
    7: model.provider.ollama.key = "OLLAMA_KEY"
    10: permissions.mode = "plan"
    12: permissions.allow = "Read(**)"
    13: permissions.allow = "Bash(cargo *)"
    17: limits.steps = 30
    18: limits.cost = 2.5
    19: limits.time = "10m"
    "#);
}

#[test]
fn an_unknown_key_or_value_is_an_error_with_the_line_and_a_suggestion() {
    let cases = [
        "x = 1\n[permisions]\n",
        "[permissions]\nalow = [\"Read\"]\n",
        "[permissions]\nallow = \"Read\"\n",
        "[permissions]\nmode = \"aks\"\n",
        "[permissions]\nmode = \"bypass\"\n",
        "[limits]\nsteps = 0\n",
        "[limits]\n\ntime = \"1 day\"\n",
        "[limits]\ncost = -1\n",
        "[sandbox]\nneed = true\n",
        "[model]\nprovider = 3\n",
        "[model.provider.openai]\nbase_url = \"ftp://example.org\"\n",
        "[hook]\npoint = \"BeforeToolUse\"\n",
        "[[hooks]]\npoint = \"BeforeToolUse\"\n",
        "[instructions]\nproject = 1\n",
        "[mcp]\nfile = \"mcp.json\"\n",
        "[journal]\nenabled = false\n",
        "[journal]\nkeep = \"a month\"\n",
        "[journal]\nsync = \"never\"\n",
        "[model\n",
        "[limits]\nsteps = 1\nsteps = 2\n",
    ];
    let told: Vec<String> =
        cases.iter().map(|text| parse(text, Level::Project, "vertebra.toml").expect_err(text).to_string()).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn errors_show_no_secrets_and_no_escape_sequences() {
    for text in [
        "[model.provider.openai]\nkey = \"sk-live-0123456789\"\n",
        "[model.provider.openai]\napi_key = \"sk-live-0123456789\"\n",
        "[model.provider.openai]\nbase_url = \"https://me:sk-live-0123456789@example.org\"\n",
    ] {
        let told = parse(text, Level::User, "vertebra.toml").expect_err(text).to_string();
        assert!(!told.contains("sk-live") && told.contains("line 2"), "{told}");
    }
    for text in ["[limits]\nsteps = \"\u{1b}[2J\u{202e}\"\n", "[limits]\n\"\\u001b\" = 1\n\"\\u001b\" = 2\n"] {
        let told = parse(text, Level::User, "\u{1b}/vertebra.toml").expect_err("no").to_string();
        assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told}");
    }
}

#[test]
fn sizes_are_bounded() {
    let told = parse(&"#".repeat(300_000), Level::User, "vertebra.toml").expect_err("too large").to_string();
    assert!(told.contains("262144 bytes"), "{told}");
    let rules = format!("[permissions]\nallow = [{}]\n", "\"Read\",".repeat(5000));
    let told = parse(&rules, Level::User, "vertebra.toml").expect_err("too many").to_string();
    assert!(told.contains("at most 4096"), "{told}");
    let deep = format!("[limits]\nsteps = {}", "[".repeat(100_000));
    assert!(parse(&deep, Level::User, "vertebra.toml").is_err());
}

#[test]
fn the_most_specific_value_wins_and_lists_add_up() {
    let user =
        sheet(Level::User, "[model]\nname = \"a:b\"\n[limits]\nsteps = 10\n[permissions]\ndeny = [\"Bash(rm *)\"]\n");
    let project = sheet(Level::Project, "[limits]\nsteps = 50\n[permissions]\ndeny = [\"Read(**/.env)\"]\n");
    let (settings, overruled) = merge(Settings::default(), [user, project]);
    assert_eq!(value(settings.model.name.as_ref()).as_deref(), Some("a:b"));
    assert_eq!(value(settings.limits.steps.as_ref()), Some(50));
    assert_eq!(settings.permissions.deny.len(), 2);
    assert!(overruled.is_empty());
}

#[test]
fn nothing_weakens_the_managed_level() {
    let managed = r#"
[model.provider.anthropic]
base_url = "https://proxy.example.org"
[permissions]
mode = "ask"
deny = ["Bash(curl *)"]
[limits]
steps = 40
[sandbox]
need = "required"
network = "off"
write = ["/srv/cache"]
[instructions]
project = false
"#;
    let below = r#"
[model.provider.anthropic]
base_url = "https://elsewhere.example.org"
key = "OTHER_KEY"
[permissions]
mode = "accept_edits"
[limits]
steps = 500
tokens = 7
[sandbox]
need = "off"
network = "on"
write = ["/"]
[instructions]
project = true
"#;
    let managed = sheet(Level::Managed, managed);
    for level in [Level::User, Level::Project, Level::CommandLine] {
        let (settings, overruled) = merge(managed.clone(), [sheet(level, below)]);
        let provider = &settings.model.providers["anthropic"].value;
        assert_eq!(value(provider.base_url.as_ref()).as_deref(), Some("https://proxy.example.org"));
        assert_eq!(value(settings.permissions.mode.as_ref()), Some(Mode::Ask));
        assert_eq!(value(settings.limits.steps.as_ref()), Some(40));
        assert_eq!(value(settings.limits.tokens.as_ref()), Some(7));
        assert_eq!(value(settings.sandbox.need.as_ref()), Some(Need::Required));
        assert_eq!(value(settings.sandbox.network.as_ref()), Some(NetworkAccess::default()));
        assert_eq!(settings.sandbox.write.len(), 1);
        assert_eq!(settings.permissions.deny.len(), 1);
        assert_eq!(value(settings.instructions.project.as_ref()), Some(false));
        assert_eq!(overruled.len(), 7, "{overruled:#?}");
    }
    let strict = sheet(Level::User, "[permissions]\nmode = \"plan\"\n[limits]\nsteps = 3\n");
    let looser = sheet(Level::Project, "[limits]\nsteps = 99\n");
    let (settings, _) = merge(managed, [strict, looser]);
    assert_eq!(value(settings.permissions.mode.as_ref()), Some(Mode::Plan), "stricter is fine");
    assert_eq!(value(settings.limits.steps.as_ref()), Some(40), "a level in between does not open the fence");
}

#[test]
fn other_levels_cannot_change_a_managed_journal() {
    let managed = sheet(Level::Managed, "[journal]\nenabled = true\nsync = \"power\"\npath = \"/var/journal.db\"\n");
    let below = "[journal]\nenabled = false\nsync = \"process\"\npath = \"~/mine.db\"\nkeep = \"30d\"\n";
    for level in [Level::User, Level::CommandLine] {
        let (settings, overruled) = merge(managed.clone(), [sheet(level, below)]);
        assert_eq!(value(settings.journal.enabled.as_ref()), Some(true));
        assert_eq!(value(settings.journal.sync.as_ref()), Some(Sync::Power));
        assert_eq!(value(settings.journal.path.as_ref()).as_deref(), Some("/var/journal.db"));
        assert_eq!(value(settings.journal.keep.as_ref()), Some(std::time::Duration::from_hours(30 * 24)));
        assert_eq!(overruled.len(), 3, "{overruled:#?}");
    }
}

#[test]
fn a_project_ends_at_the_root_of_its_repository() {
    let outside = tempfile::tempdir().expect("a folder");
    let inner = outside.path().join("repository/a/b");
    std::fs::create_dir_all(&inner).expect("folders");
    std::fs::write(outside.path().join(FILE_NAME), "").expect("a file");
    assert_eq!(project_file(&inner, FILE_NAME), None, "without a repository only the folder itself is looked at");
    std::fs::create_dir(outside.path().join("repository/.git")).expect("a repository");
    assert_eq!(project_file(&inner, FILE_NAME), None, "what is above the repository does not belong to it");
    let file = outside.path().join("repository/a/vertebra.toml");
    std::fs::write(&file, "").expect("a file");
    assert_eq!(project_file(&inner, FILE_NAME), Some(file));
}

#[test]
fn a_mistyped_tool_is_an_error_with_the_file_the_line_and_the_nearest_name() {
    let cases = [
        (
            "[permissions]\nallow = [\"Bash\"]\ndeny = [\n  \"Read(a)\",\n  \"Raed(**/.env)\",\n]\n",
            5,
            "did you mean `Read`?",
        ),
        ("[permissions]\nask = [\"Bahs(git push *)\"]\n", 2, "did you mean `Bash`?"),
        ("[permissions]\nallow = [\"Edti\"]\n", 2, "did you mean `Edit`?"),
        (
            "[[hook]]\npoint = \"PreToolUse\"\nmatch = { tool = \"bash|wriet_file\" }\ndeny = \"no\"\n",
            3,
            "did you mean `write_file`?",
        ),
        (
            "[[hook]]\npoint = \"PreToolUse\"\nmatch = { not = { tool = [\"bash\", \"Raed\"] } }\ndeny = \"no\"\n",
            3,
            "did you mean `read`?",
        ),
    ];
    for (text, expected_line, meant) in cases {
        let error = parse(text, Level::User, "vertebra.toml").expect_err(text);
        let SettingsError::Content { line, message, place, .. } = &error else { panic!("{error}") };
        assert_eq!((*line, &**place), (expected_line, "vertebra.toml"), "{error}");
        assert!(message.to_lowercase().contains(&meant.to_lowercase()), "{error}");
    }
    let declared = "[permissions]\ndeny = [\"deploy(prod)\"]\n[tools]\nknown = [\"deploy\"]\n";
    assert!(parse(declared, Level::User, "x").is_ok());
}

#[test]
fn what_can_be_read_of_a_broken_file_is_kept_and_every_error_is_reported() {
    let denied = |salvaged: &Salvaged| -> Vec<String> {
        salvaged.settings.permissions.deny.iter().map(|said| said.value.clone()).collect()
    };
    let text = "[permissions]\nmode = \"plam\"\nallwo = 1\ndeny = [\"Read(**/.env)\", \"Raed(a)\", 3, \"Bash(\", \"Edit(/etc/**)\"]\n\
                [limits]\nsteps = 0\n[nonsense]\n\
                [[hook]]\nname = \"a\"\npoint = \"PreToolUse\"\nmatch = { tool = \"bash\" }\ndeny = \"no\"\n\
                [[hook]]\nname = \"b\"\npoint = \"PreToolUse\"\nmatch = { tool = [\"bash\", \"nosuch\"] }\ndeny = \"no\"\n";
    let salvaged = salvage(text, Level::User, "x");
    assert_eq!(denied(&salvaged), ["Read(**/.env)", "Edit(/etc/**)"]);
    let hooks: Vec<&str> = salvaged.settings.hooks.iter().map(|hook| hook.value.stand.name.as_str()).collect();
    assert_eq!(hooks, ["a"], "a hook is there whole or not at all");
    let lines: Vec<usize> = salvaged
        .errors
        .iter()
        .map(|error| match error {
            SettingsError::Content { line, .. } => *line,
            SettingsError::Io { .. } => panic!("{error}"),
        })
        .collect();
    assert_eq!(lines, [2, 4, 4, 3, 6, 16, 7, 4], "{:?}", salvaged.errors);

    let no_toml = "[permissions]\ndeny = [\"Read(**/.env)\"]\nask = [\"Bash(a)\n[limits\nsteps = 3\n[sandbox]\ndeny_read = [\"~/x\"]\n";
    let salvaged = salvage(no_toml, Level::User, "x");
    assert_eq!(denied(&salvaged), ["Read(**/.env)"]);
    assert_eq!(salvaged.settings.sandbox.deny_read.len(), 1);
    assert!(!salvaged.errors.is_empty());

    let whole = salvage("[permissions]\ndeny = [\"Read(a)\"]\n", Level::User, "x");
    assert!(whole.errors.is_empty() && denied(&whole) == ["Read(a)"]);
}

#[test]
fn too_many_rules_do_not_drop_the_others() {
    let rules: Vec<String> = (0..9000).map(|number| format!("\"Read(secret/{number})\",\n")).collect();
    let rules = rules.concat();
    let text = format!("[permissions]\nallow = [{rules}]\ndeny = [\"Read(**/.env)\", \"Bash(rm *)\"]\n");
    let error = parse(&text, Level::User, "x").expect_err("too many").to_string();
    assert!(error.contains("at most 4096 values"), "{error}");
    let salvaged = salvage(&text, Level::User, "x");
    assert_eq!(salvaged.settings.permissions.deny.len(), 2);
    assert_eq!(salvaged.errors.len(), 1, "{:?}", salvaged.errors);

    let large = format!("# {}\n{text}", "x".repeat(300_000));
    let salvaged = salvage(&large, Level::User, "x");
    assert_eq!(salvaged.settings.permissions.deny.len(), 2, "{:?}", salvaged.errors);
    assert!(salvaged.errors.iter().any(|error| error.to_string().contains("at most 262144 bytes")));
}

#[test]
fn what_a_line_refuses_is_kept_if_the_line_is_not_toml() {
    let denied = |text: &str| -> Vec<String> {
        let Salvaged { settings, errors } = salvage(text, Level::User, "x");
        assert!(!errors.is_empty(), "{text}");
        let rules = settings.permissions.deny.into_iter().chain(settings.sandbox.deny_read);
        rules.map(|said| format!("{} {}", said.origin.line.unwrap_or_default(), said.value)).collect()
    };
    let cases: [(&str, &[&str]); 8] = [
        ("[permissions]\ndeny = [\"Read(a)\" \"Read(b)\"]\n", &["2 Read(a)", "2 Read(b)"]),
        ("[permissions]\ndeny = [\"Read(a)\", 'Read(\"b)', \"Read(c]\n", &["2 Read(a)", "2 Read(\"b)"]),
        (
            "[permissions]\ndeny = [\"Read(a)\"] # \"Read(b)\"\ndeny = [\"Read(c)\"] # \"Read(d)\"\n",
            &["2 Read(a)", "3 Read(c)"],
        ),
        (
            "[permissions]\ndeny = [\n  \"Read(a)\"\n  \"Read(b)\"\n  \"Read(c)\",\n]\n",
            &["3 Read(a)", "4 Read(b)", "5 Read(c)"],
        ),
        ("[sandbox]\ndeny_read = [\"~/a\" \"~/b\"]\n", &["2 ~/a", "2 ~/b"]),
        ("[permissions]\nallow = [\"Read(a)\" \"Read(b)\"]\n", &[]),
        ("[[hook]]\npoint = \"BeforeToolUse\"\ndeny = \"Read(a)\nallow = [\"Read(b)\"]\n", &[]),
        ("[permissions]\ndeny = [\"Read(a)\\u00e9\" \"Read(\\\"b)\"]\n", &["2 Read(\"b)"]),
    ];
    for (text, expected) in cases {
        assert_eq!(denied(text), expected, "{text}");
    }
}

#[test]
fn one_wrong_value_takes_no_other_value_of_its_section_with_it() {
    let text = "[sandbox]\nneed = \"requird\"\nnetwork = \"off\"\ndeny_read = [\"~/x\"]\n[limits]\nsteps = 0\ncost = 2\n\
                [model]\nname = 3\ndriver = \"react\"\n[model.provider.a]\nbase_url = \"x\"\n[model.provider.b]\nkey = \"B\"\n";
    let Salvaged { settings, errors } = salvage(text, Level::User, "x");
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert_eq!(settings.sandbox.deny_read.len(), 1);
    assert_eq!(settings.sandbox.network.map(|said| said.value), Some(NetworkAccess::default()));
    assert_eq!(settings.limits.cost_micros.map(|said| said.value), Some(2_000_000));
    assert!(settings.model.driver.is_some());
    let providers: Vec<&String> = settings.model.providers.keys().collect();
    assert_eq!(providers, ["b"]);
    assert!(settings.model.unknown_address.is_some(), "requests for `a` must not go to another address");
}
