//! What takes effect in a folder, before and after a person trusts it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use super::*;
use crate::settings::{self, Settings};

struct Scene {
    folder: tempfile::TempDir,
    store: Store,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::in_folder(&folder.path().join("state/vertebra"));
        let scene = Self { folder, store };
        scene.write(".git/HEAD", "ref: refs/heads/main\n");
        for (name, text) in files {
            scene.write(name, text);
        }
        scene
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn look(&self) -> Project {
        Project::look(&self.project()).expect("a project")
    }

    fn standing(&self) -> Standing {
        self.store.standing(&self.look()).expect("a standing")
    }
}

#[test]
fn a_folder_without_configuration_needs_no_trust() {
    let scene = Scene::new(&[("src/main.rs", "fn main() {}"), ("vertebra.toml", "# nothing yet\n[model]\n")]);
    assert_eq!(scene.standing(), Standing::Empty);
    assert!(!scene.store.path().exists());
}

#[test]
fn everything_that_would_take_effect_is_shown() {
    let scene = Scene::new(&[
        (
            "vertebra.toml",
            "[model.provider.anthropic]\nbase_url = \"http://127.0.0.1:9\"\n[permissions]\nallow = [\"Bash\", \"Edit(\u{202e})\"]\n",
        ),
        ("AGENTS.md", "one\ntwo\u{202e}\nthree\nfour\nfive\nsix\n"),
        ("CLAUDE.md", "one\ntwo\u{202e}\nthree\nfour\nfive\nsix\n"),
        (".claude/skills/deploy/SKILL.md", "---\nname: deploy\n---\n"),
        (".claude/agents/helper.md", "---\nname: helper\n---\n"),
    ]);
    let project = scene.look();
    insta::assert_snapshot!(project.effects().join("\n"), @r#"
    vertebra.toml sets
      line 2: model.provider.anthropic.base_url = "http://127.0.0.1:9"
      line 4: permissions.allow = "Bash"
      line 4: permissions.allow = "Edit(⟨U+202E⟩)"
      so every request to anthropic, with your API key, would go to http://127.0.0.1:9
    AGENTS.md gives the model instructions (31 bytes)
      | one
      | two⟨U+202E⟩
      | three
      | four
      | five
      | …
    .claude/skills/deploy/SKILL.md is a skill that the model may load (21 bytes)
    .claude/agents/helper.md is an agent that the model may start (21 bytes)
    "#);
    assert!(project.problems.is_empty());
}

#[test]
fn a_change_of_one_byte_asks_again() {
    let files = ["vertebra.toml", "AGENTS.md", ".claude/skills/deploy/SKILL.md", ".vertebra/agents/helper.md"];
    let (before, after) = ("[limits]\nsteps = 1\n", "[limits]\nsteps = 2\n");
    let scene = Scene::new(&files.map(|name| (name, before)));
    assert_eq!(scene.standing(), Standing::Unknown);
    scene.store.trust(&scene.look()).expect("kept");
    assert_eq!(scene.standing(), Standing::Trusted);
    for name in files {
        scene.write(name, after);
        assert_eq!(scene.standing(), Standing::Changed(vec![name.to_owned()]));
        scene.write(name, before);
    }
    assert_eq!(scene.standing(), Standing::Trusted);
    scene.write("CLAUDE.md", "# new\n");
    assert_eq!(scene.standing(), Standing::Changed(vec!["CLAUDE.md".to_owned()]));
}

#[test]
fn deleting_trusted_settings_asks_again() {
    let text = "[limits]\nsteps = 1\n";
    let scene = Scene::new(&[("vertebra.toml", text)]);
    scene.store.trust(&scene.look()).expect("kept");
    let path = scene.project().join("vertebra.toml");
    let taken: [(&str, &dyn Fn()); 4] = [
        ("deleted", &|| ()),
        ("emptied", &|| scene.write("vertebra.toml", "# nothing\n")),
        ("a link that leads out", &|| symlink("/etc/hostname", &path).expect("a link")),
        ("too large", &|| scene.write("vertebra.toml", &"# \n".repeat(300_000))),
    ];
    for (how, take) in taken {
        fs::remove_file(&path).expect("it is there");
        take();
        assert_eq!(scene.standing(), Standing::Changed(vec!["vertebra.toml".to_owned()]), "{how}");
        let _ = fs::remove_file(&path);
        scene.write("vertebra.toml", text);
    }
    scene.write("sub/vertebra.toml", text);
    assert_eq!(scene.standing(), Standing::Trusted, "another folder's is not missing here");
    fs::remove_file(&path).expect("it is there");
    scene.store.trust(&scene.look()).expect("kept");
    assert_eq!(scene.standing(), Standing::Empty, "a person has seen that it is gone");
}

#[test]
fn a_policy_is_not_lost_by_looking_for_records_elsewhere() {
    let scene = Scene::new(&[("vertebra.toml", "[permissions]\ndeny = [\"Bash(rm *)\"]\n")]);
    let of_home =
        |home: &str| (scene.folder.path().join(home).join("state"), scene.folder.path().join(home).join("config"));
    let ((state, config), (other_state, other_config)) = (of_home("home"), of_home("other"));
    Store::in_folder(&state).expecting(&config).trust(&scene.look()).expect("trusted");
    let elsewhere = Store::in_folder(&other_state).expecting(&other_config);
    assert_eq!(elsewhere.standing(&scene.look()).expect("a standing"), Standing::Unknown);
    let elsewhere = elsewhere.unless_expected_in(&[scene.folder.path().join("nobody"), config]);
    let is_changed = |store: &Store| {
        let own = store.standing(&scene.look()).expect("a standing");
        let policy = store.policy(&scene.project()).expect("a standing").1;
        [own, policy].iter().all(|standing| matches!(standing, Standing::Changed(how) if how[0].contains("HOME")))
    };
    assert!(is_changed(&elsewhere));
    let policy = scene.project().join("vertebra.toml");
    fs::remove_file(&policy).expect("removed");
    assert!(is_changed(&elsewhere));
    // A person who trusts it there has settled it.
    elsewhere.trust(&scene.look()).expect("trusted");
    assert_eq!(elsewhere.standing(&scene.look()).expect("a standing"), Standing::Empty);
}

#[test]
fn trust_covers_the_content_that_was_shown_and_not_later_changes() {
    let scene = Scene::new(&[("AGENTS.md", "seen")]);
    let seen = scene.look();
    scene.write("AGENTS.md", "swapped");
    scene.store.trust(&seen).expect("kept");
    assert_eq!(scene.standing(), Standing::Changed(vec!["AGENTS.md".to_owned()]));
}

#[test]
fn trust_in_one_folder_is_not_trust_in_its_copy() {
    let (scene, other) = (Scene::new(&[("AGENTS.md", "a")]), Scene::new(&[("AGENTS.md", "a")]));
    scene.store.trust(&scene.look()).expect("kept");
    assert_eq!(scene.store.standing(&other.look()).expect("a standing"), Standing::Unknown);
    assert!(scene.store.forget(&scene.look().root).expect("forgotten"));
    assert_eq!(scene.standing(), Standing::Unknown);
}

#[test]
fn links_out_of_the_project_and_special_files_are_ignored() {
    let scene = Scene::new(&[(".claude/skills/fine/SKILL.md", "x")]);
    fs::write(scene.folder.path().join("secret"), "a key").expect("a file");
    symlink("../secret", scene.project().join("AGENTS.md")).expect("a link");
    fs::create_dir(scene.project().join("CLAUDE.md")).expect("a folder");
    fs::create_dir_all(scene.project().join(".claude/skills/odd")).expect("a folder");
    symlink("../../../../secret", scene.project().join(".claude/skills/odd/SKILL.md")).expect("a link");
    let project = scene.look();
    assert_eq!(project.of(Kind::Instructions).count(), 0);
    assert!(project.skills.is_empty(), "a folder counts with all of its skills or not at all");
    let told = project.problems.join("\n");
    assert!(told.contains("AGENTS.md: it is a symbolic link that points outside"), "{told}");
    assert!(told.contains("CLAUDE.md: it is not a file"), "{told}");
}

#[test]
fn only_the_owner_can_read_the_trust_file_and_an_invalid_one_is_a_change() {
    let scene = Scene::new(&[("AGENTS.md", "a")]);
    scene.store.trust(&scene.look()).expect("kept");
    let mode = fs::metadata(scene.store.path()).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let whole = fs::read_to_string(scene.store.path()).expect("a record");
    let edited = whole.replace("\"installed\": false", "\"installed\": true");
    assert_ne!(edited, whole);
    for text in
        ["", "{", "{\"version\": 1, \"folders\": {}}", &edited, &whole.replace("\"version\": 2", "\"version\": 3")]
    {
        fs::write(scene.store.path(), text).expect("written");
        let standing = scene.standing();
        assert!(matches!(&standing, Standing::Changed(why) if why[0].contains("trust.json")), "{text}: {standing:?}");
    }
    scene.store.trust(&scene.look()).expect("a person settles it");
    assert_eq!(scene.standing(), Standing::Trusted);
}

#[test]
fn a_subfolder_needs_trust_for_the_files_it_adds() {
    let scene = Scene::new(&[("AGENTS.md", "a"), ("inner/vertebra.toml", "[limits]\nsteps = 3\n")]);
    scene.store.trust(&scene.look()).expect("kept");
    let inner = Project::look(&scene.project().join("inner")).expect("a project");
    assert_eq!(inner.root, scene.look().root);
    let other = vec![Path::new("inner").join("vertebra.toml").display().to_string()];
    assert_eq!(scene.store.standing(&inner).expect("a standing"), Standing::Changed(other));
    scene.store.trust(&inner).expect("kept");
    assert_eq!(scene.standing(), Standing::Trusted, "the rest is still known");
}

const CLAUDE: &str = r#"{
  "permissions": { "allow": ["Bash(ls *)"], "deny": ["Read(src/main.rs)"] },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.py" }] },
      { "hooks": [{ "type": "command", "command": "python3", "args": ["tools/log.py"] }] }
    ],
    "Stop": [{ "hooks": [{ "type": "http", "url": "http://127.0.0.1:9/" }] }]
  }
}"#;

fn with_hooks() -> Scene {
    Scene::new(&[
        (".claude/settings.json", CLAUDE),
        (".claude/hooks/check.py", "print('checked')\n"),
        ("tools/log.py", "print('logged')\n"),
        ("src/main.rs", "fn main() {}\n"),
    ])
}

#[test]
fn hooks_are_shown_with_their_commands_and_the_hashes_of_their_scripts() {
    insta::assert_snapshot!(with_hooks().look().effects().join("\n"), @r#"
    .claude/settings.json contains Claude Code settings (417 bytes)
      permissions.allow = Bash(ls *)
      permissions.deny = Read(src/main.rs)
      hook PreToolUse (Bash): runs `"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.py`
        script .claude/hooks/check.py (17 bytes, 495556295fcbf43e)
        folder .claude/hooks/ (17 bytes, e21c10c88b7f0b3e), which becomes read-only for the agent
      hook PreToolUse: runs `python3 tools/log.py`
        script tools/log.py (16 bytes, ed3fd89d34972815)
        folder tools/ (16 bytes, 3f899b3e0e17df33), which becomes read-only for the agent
      hook Stop: posts the event to http://127.0.0.1:9/
    "#);
}

#[test]
fn a_changed_and_a_new_script_ask_again_and_a_missing_one_does_not() {
    let scene = with_hooks();
    scene.store.trust(&scene.look()).expect("kept");
    assert_eq!(scene.standing(), Standing::Trusted);
    scene.write("src/main.rs", "fn other() {}\n");
    assert_eq!(scene.standing(), Standing::Trusted, "a rule that names a file runs nothing");
    scene.write("tools/log.py", "print('otherwise')\n");
    assert_eq!(scene.standing(), Standing::Changed(vec!["tools/log.py".to_owned()]));
    fs::remove_file(scene.project().join("tools/log.py")).expect("removed");
    assert_eq!(scene.standing(), Standing::Trusted, "what is not there runs nothing");
    scene.write("tools/log.py", "print('once more')\n");
    assert_eq!(scene.standing(), Standing::Changed(vec!["tools/log.py".to_owned()]));
    scene.write(".claude/settings.local.json", "{}");
    let told = scene.standing();
    assert!(matches!(&told, Standing::Changed(files) if files.contains(&".claude/settings.local.json".to_owned())));
}

#[test]
fn a_script_that_cannot_be_read_cannot_be_trusted() {
    let scene = with_hooks();
    fs::remove_file(scene.project().join("tools/log.py")).expect("removed");
    fs::File::create(scene.project().join("tools/log.py"))
        .and_then(|file| file.set_len(1 << 30))
        .expect("a large file");
    let project = scene.look();
    assert!(!project.can_be_trusted());
    scene.store.trust(&project).expect("kept");
    assert_eq!(scene.standing(), Standing::Changed(vec!["tools/log.py".to_owned()]));
    assert!(project.problems[0].contains("tools/log.py: it is larger than"), "{:?}", project.problems);
}

#[test]
fn a_pipe_in_place_of_the_trust_file_is_an_error_and_does_not_block() {
    let scene = Scene::new(&[("vertebra.toml", "[limits]\nsteps = 3\n")]);
    fs::create_dir_all(scene.store.path().parent().expect("a folder")).expect("folders");
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.store.path(), rustix::fs::Mode::RUSR).expect("a pipe");
    let told = scene.store.standing(&scene.look()).expect_err("a pipe is not a file").to_string();
    assert!(told.ends_with("trust.json: it is not a file"), "{told}");
}

#[test]
fn scripts_named_by_skills_and_agents_are_trusted_by_content_too() {
    let hooks = |script: &str| {
        format!(
            "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: {script}\n"
        )
    };
    let scene = Scene::new(&[
        (
            ".claude/skills/tidy/SKILL.md",
            &format!("---\nname: tidy\ndescription: d\n{}---\n", hooks(".claude/skills/tidy/check.sh")),
        ),
        (".claude/agents/reviewer.md", &format!("---\nname: reviewer\n{}---\nReview.", hooks("sh tools/look.sh"))),
        (".claude/skills/tidy/check.sh", "exit 0"),
        ("tools/look.sh", "exit 0"),
    ]);
    let shown = scene.look().effects().join("\n");
    assert!(
        shown.contains("hook PreToolUse (Bash): runs `.claude/skills/tidy/check.sh`")
            && shown.contains("script .claude/skills/tidy/check.sh"),
        "{shown}"
    );
    scene.store.trust(&scene.look()).expect("trusted");
    assert_eq!(scene.standing(), Standing::Trusted);
    scene.write("tools/look.sh", "exit 1");
    assert_eq!(scene.standing(), Standing::Changed(vec!["tools/look.sh".to_owned()]));
}

#[test]
fn swapping_two_trusted_scripts_is_a_change() {
    let hook = |name: &str| {
        format!("[[hook]]\nname = \"{name}\"\npoint = \"BeforeToolUse\"\nrun = {{ command = \"./hooks/{name}.sh\" }}\n")
    };
    let scene = Scene::new(&[
        ("vertebra.toml", &(hook("check") + &hook("log"))),
        ("hooks/check.sh", "exit 2"),
        ("hooks/log.sh", "exit 0"),
    ]);
    scene.store.trust(&scene.look()).expect("trusted");
    let gate = scene.project().join("hooks/check.sh");
    fs::remove_file(&gate).expect("removed");
    symlink("log.sh", &gate).expect("a link");
    assert_eq!(scene.standing(), Standing::Changed(vec!["hooks/check.sh".to_owned()]));
}

/// Merges a managed file, a user's file and a project's, each with this text.
fn merged(managed: &str, user: &str, project: &str) -> (Settings, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    };
    let own = Own::read(&path("managed.toml", managed), Some(&path("user.toml", user)), None);
    let missing = own.missing();
    let project = settings::salvage(project, settings::Level::Project, "project");
    (own.merge([project.settings]).0, missing)
}

#[test]
fn the_sandbox_is_the_administrators_to_decide_if_their_file_says_so_or_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("managed.toml");
    for (text, network, write) in [
        ("", false, false),
        ("[sandbox]\nnetwork = \"off\"\n", true, false),
        ("[sandbox]\nwrite = [\"/srv\"]\n", false, true),
        ("[sandbox]\nnetwrok = \"off\"\n", true, true),
    ] {
        fs::write(&path, text).expect("written");
        let fixed = Own::read(&path, None, None).fixed();
        assert_eq!((fixed.network, fixed.write), (network, write), "{text}");
    }
}

/// All that one level could widen.
const WIDE: &str = r#"
[permissions]
mode = "accept_edits"
allow = ["Bash"]
deny = ["Read(secret)"]
[sandbox]
need = "off"
network = "on"
write = ["/"]
deny_read = ["~/private"]
[hooks]
disable = ["guard"]
[limits]
steps = 7
[[hook]]
name = "own"
point = "BeforeToolUse"
allow = true
[[hook]]
name = "refuses"
point = "BeforeToolUse"
deny = "no"
"#;

#[test]
fn no_level_allows_more_than_by_default_while_the_managed_file_is_not_whole() {
    let user = format!("{WIDE}[mcp]\nfile = \"/mcp.json\"\n[journal]\nenabled = false\n");
    let (whole, missing) = merged("", &user, WIDE);
    assert_eq!((missing, whole.permissions.allow.len(), whole.sandbox.write.len()), (None, 2, 2));
    assert_eq!(whole.permissions.mode.map(|said| said.value), Some(settings::Mode::AcceptEdits));
    for managed in
        ["[sandbox]\nneed = \"requird\"\n", "[sandbox\n", "nonsense = 1\n", "[permissions]\ndeny = [\"Raed\"]\n"]
    {
        let (bounded, missing) = merged(managed, &user, WIDE);
        assert!(missing.is_some_and(|why| why.contains("managed.toml")), "{managed}");
        let Settings { permissions, sandbox, mcp, journal, hooks, about_hooks, limits, .. } = bounded;
        assert!(permissions.allow.is_empty() && permissions.mode.is_none(), "{managed}: {permissions:?}");
        assert!(
            sandbox.need.is_none() && sandbox.network.is_none() && sandbox.write.is_empty(),
            "{managed}: {sandbox:?}"
        );
        assert!(mcp.file.is_none() && journal.enabled.is_none() && about_hooks.disable.is_empty(), "{managed}");
        // What refuses or chooses something is kept.
        assert_eq!((permissions.deny.len(), sandbox.deny_read.len()), (2, 2), "{managed}");
        assert_eq!(limits.steps.map(|said| said.value), Some(7), "{managed}");
        let names: Vec<&str> = hooks.iter().map(|hook| hook.value.stand.name.as_str()).collect();
        assert_eq!(names, ["own", "refuses", "refuses"], "{managed}");
    }
}

#[test]
fn what_can_be_read_of_the_managed_file_still_binds_every_level() {
    let managed = "[permissions]\nmode = \"plan\"\ndeny = [\"Bash(rm *)\"]\n[sandbox]\nneed = \"required\"\nnetwork = \"of\"\n[limits]\nsteps = 3\ncost = \"x\"\n";
    let (bounded, missing) = merged(managed, WIDE, "");
    assert!(missing.is_some());
    assert_eq!(bounded.permissions.mode.map(|said| said.value), Some(settings::Mode::Plan));
    assert_eq!(bounded.sandbox.need.map(|said| said.value), Some(settings::Need::Required));
    assert_eq!(bounded.limits.steps.map(|said| said.value), Some(3));
    assert_eq!(bounded.permissions.deny.len(), 2);
}

#[test]
fn a_user_file_that_is_not_whole_allows_nothing_and_leaves_other_levels_alone() {
    let (bounded, missing) = merged("[permissions]\nallow = [\"Bash(ls)\"]\n", &format!("{WIDE}[nonsense]\n"), "");
    assert!(missing.is_some_and(|why| why.contains("user.toml")));
    let allowed: Vec<&str> = bounded.permissions.allow.iter().map(|said| said.value.as_str()).collect();
    assert_eq!(allowed, ["Bash(ls)"]);
    assert!(bounded.permissions.mode.is_none() && bounded.sandbox.need.is_none());
    assert_eq!(bounded.limits.steps.map(|said| said.value), Some(7));
}
