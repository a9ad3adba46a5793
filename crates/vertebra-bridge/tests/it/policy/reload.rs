//! Files that change under a running session, between two tool calls.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::json;
use vertebra::{
    Agent, Approval, Approver, Decision, News,
    testing::{RecordingTool, Script},
};
use vertebra_bridge::{
    handler::Services,
    policy::{Files, Reload},
    settings::{Level, Settings, merge, read},
    trust::{Project, Seals, Store},
};

use super::ran;

const DENY: &str =
    "[[hook]]\nname = \"no-two\"\npoint = \"BeforeToolUse\"\nmatch = { args = { \"/n\" = 2 } }\ndeny = \"not two\"\n";
const ALLOW: &str = "[[hook]]\nname = \"no-two\"\npoint = \"BeforeToolUse\"\nallow = true\n";
const SET: &str = "[[hook]]\nname = \"mark\"\npoint = \"BeforeToolUse\"\nset = { mark = true }\n";

/// A machine: managed and user settings, a project, and what was trusted.
#[derive(Clone)]
struct Scene {
    folder: Arc<tempfile::TempDir>,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: Arc::new(tempfile::tempdir().expect("a folder")) };
        scene.write("project/.git/HEAD", "ref: refs/heads/main\n");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn store(&self) -> Store {
        Store::in_folder(&self.path("state"))
    }

    fn trust(&self) {
        self.store().trust(&Project::look(&self.path("project")).expect("a project")).expect("kept");
    }

    fn files(&self) -> Files {
        Files {
            managed: self.path("managed.toml"),
            user: Some(self.path("user.toml")),
            folder: self.path("project"),
            store: Some(self.store()),
        }
    }

    /// The policy as an agent would have it at its start.
    fn policy(&self) -> Reload {
        let files = self.files();
        let project = Project::look(&files.folder).expect("a project");
        let trusted = self.store().standing(&project).expect("a standing") == vertebra_bridge::trust::Standing::Trusted;
        let sheets = if trusted { project.settings().expect("settings") } else { Vec::new() };
        let levels: Vec<Settings> = sheets.into_iter().map(|sheet| sheet.settings).collect();
        let managed = read(&files.managed, Level::Managed).expect("settings").settings;
        let user = read(&self.path("user.toml"), Level::User).expect("settings").settings;
        let (settings, _) = merge(managed, std::iter::once(user).chain(levels.clone()));
        self.policy_with(files, &settings, levels)
    }

    /// The policy of an agent that began with these settings.
    fn policy_of(&self, settings: &Settings) -> Reload {
        self.policy_with(self.files(), settings, Vec::new())
    }

    fn policy_with(&self, files: Files, settings: &Settings, levels: Vec<Settings>) -> Reload {
        let project = Project::look(&files.folder).expect("a project");
        let services = Services {
            folder: files.folder.clone(),
            seals: Seals::new(&project, Some(&self.store())),
            ..Services::default()
        };
        Reload::new(files, settings, levels, services).expect("a policy")
    }

    /// Two calls, and something that happens while the first is at work. Answers with what ran, and the news.
    async fn between(&self, happens: impl Fn(&Self) + Send + Sync + 'static) -> (RecordingTool, Vec<String>) {
        self.between_with(happens, None::<Approve>).await
    }

    /// The same with a person who can be asked.
    async fn between_with(
        &self,
        happens: impl Fn(&Self) + Send + Sync + 'static,
        person: impl Into<Option<Approve>>,
    ) -> (RecordingTool, Vec<String>) {
        self.among(2, happens, person.into()).await
    }

    /// The same with this many calls.
    async fn among(
        &self,
        calls: u8,
        happens: impl Fn(&Self) + Send + Sync + 'static,
        person: Option<Approve>,
    ) -> (RecordingTool, Vec<String>) {
        let (scene, policy) = (self.clone(), self.policy());
        let tool = RecordingTool::new("work").by(move |args| {
            if args.get("n") == Some(&json!(1)) {
                happens(&scene);
            }
            Ok("done".into())
        });
        let calls = (1..=calls).map(|n| json!({ "n": n }).to_string());
        let model = calls.fold(Script::new(), |script, args| script.call("work", &args)).say("done");
        let mut builder = Agent::builder(model);
        if let Some(person) = person {
            builder.approver(person);
        }
        let agent = builder.tool(tool.clone()).with(policy.clone()).build().expect("an agent");
        policy.follow(&agent);
        let mut session = agent.session().await.expect("a session");
        let (mut stream, mut news) = (session.stream("go"), Vec::new());
        while let Some(event) = stream.next().await {
            if let News::Notice { message, .. } = event.news {
                news.push(message.replace(&self.folder.path().display().to_string(), "[here]"));
            }
        }
        (tool, news)
    }
}

/// A person who approves everything.
#[derive(Clone, Copy)]
struct Approve;

impl Approver for Approve {
    async fn decide(&self, approval: &Approval) -> Decision {
        approval.approve()
    }
}

#[tokio::test]
async fn a_new_hook_holds_from_the_next_call_on() {
    let scene = Scene::new();
    scene.write("user.toml", SET);
    let (tool, news) = scene.between(|scene| scene.write("user.toml", DENY)).await;
    assert_eq!(ran(&tool, "n"), [json!(1)]);
    assert_eq!(ran(&tool, "mark"), [json!(true)], "and the old one held before");
    assert_eq!(news, ["the hooks were read again: 1 in force"]);
}

#[tokio::test]
async fn a_hook_that_is_taken_out_of_ones_own_file_is_gone() {
    for leave in [
        |scene: &Scene| scene.write("user.toml", "# nothing any more\n"),
        |scene: &Scene| {
            fs::remove_file(scene.path("user.toml")).expect("removed");
        },
    ] {
        let scene = Scene::new();
        scene.write("user.toml", DENY);
        let (tool, news) = scene.between(leave).await;
        assert_eq!(ran(&tool, "n"), [json!(1), json!(2)]);
        assert_eq!(news, ["the hooks were read again: 0 in force"]);
    }
}

#[tokio::test]
async fn a_broken_file_leaves_the_old_hooks_in_force_and_changes_need_approval() {
    let refuses_three = DENY.replace("no-two", "no-three").replace("2 }", "3 }").replace("not two", "not three");
    let unknown = "[[hook]]\npoint = \"BeforeToolUze\"\nallow = true\n";
    let cases = [
        ("[[hook]\n".to_owned(), "line 1"),
        (unknown.to_owned(), "line 2"),
        (format!("{refuses_three}{unknown}"), "BeforeToolUze"),
        ("[[hook]]\nname = \"a\"\npoint = \"BeforeToolUse\"\nallow = true\nbefore = \"nobody\"\n".to_owned(), "nobody"),
    ];
    for (broken, wrong) in cases {
        for (file, person) in [("user.toml", None), ("user.toml", Some(Approve)), ("managed.toml", Some(Approve))] {
            let scene = Scene::new();
            scene.write(file, DENY);
            let text = broken.clone();
            let (tool, news) = scene.among(3, move |scene| scene.write(file, &text), person).await;
            // The old hook refuses two, and the third call is one that a person must allow.
            let three = person.is_some() && !broken.contains("no-three");
            let expected = if three { vec![json!(1), json!(3)] } else { vec![json!(1)] };
            assert_eq!(ran(&tool, "n"), expected, "{file}: {broken}");
            let about: Vec<&String> = news.iter().filter(|told| told.contains("need your approval")).collect();
            let [told] = about[..] else { panic!("it is told once: {news:?}") };
            assert!(told.contains(&format!("[here]/{file}")) && told.contains(wrong), "{told}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_fixed_counts_again() {
    let scene = Scene::new();
    scene.write("user.toml", "[[hook]\n");
    let policy = scene.policy_of(&Settings::default());
    assert!(policy.look()[0].contains("need your approval"));
    scene.write("user.toml", SET);
    let told = policy.look();
    assert_eq!(told, ["your settings can be read again", "the hooks were read again: 1 in force"]);
}

#[tokio::test]
async fn what_a_project_refused_stays_refused_until_its_change_is_trusted() {
    for change in [
        |scene: &Scene| scene.write("project/vertebra.toml", ALLOW),
        |scene: &Scene| fs::remove_file(scene.path("project/vertebra.toml")).expect("removed"),
        |scene: &Scene| scene.write("project/vertebra.toml", &DENY.replace("2 }", "3 }")),
    ] {
        let scene = Scene::new();
        scene.write("project/vertebra.toml", &format!("{DENY}{SET}"));
        scene.trust();
        let (tool, news) = scene.between(change).await;
        assert_eq!(ran(&tool, "n"), [json!(1)]);
        assert!(news[0].contains("changed since it was trusted"), "{news:?}");
    }
}

#[tokio::test]
async fn a_change_of_a_project_counts_once_it_is_trusted() {
    let scene = Scene::new();
    scene.write("project/vertebra.toml", DENY);
    scene.trust();
    let (tool, news) = scene
        .between(|scene| {
            scene.write("project/vertebra.toml", SET);
            scene.trust();
        })
        .await;
    assert_eq!(ran(&tool, "n"), [json!(1), json!(2)]);
    assert_eq!(ran(&tool, "mark")[1], json!(true));
    assert_eq!(news, ["the hooks were read again: 1 in force"]);
}

#[tokio::test]
async fn a_hook_that_nobody_trusted_never_runs_and_what_did_not_change_runs_on() {
    let scene = || {
        let scene = Scene::new();
        scene.write("project/vertebra.toml", SET);
        scene.trust();
        scene
    };
    let new = "[[hook]]\nname = \"new\"\npoint = \"BeforeToolUse\"\nset = { new = true }\n";
    let change = move |scene: &Scene| scene.write("project/vertebra.toml", &format!("{new}{SET}"));
    let (tool, _) = scene().between(change).await;
    assert_eq!(ran(&tool, "mark"), [json!(true)], "no person can be asked, so the second call is denied");
    let (tool, _) = scene().between_with(change, Approve).await;
    assert_eq!(ran(&tool, "mark"), [json!(true), json!(true)]);
    assert_eq!(ran(&tool, "new"), [json!(null), json!(null)]);
}

#[tokio::test]
async fn nothing_is_said_while_nothing_changes() {
    let scene = Scene::new();
    scene.write("user.toml", DENY);
    scene.write("project/vertebra.toml", ALLOW);
    let (tool, news) = scene.between(|scene| scene.write("user.toml", DENY)).await;
    assert_eq!(ran(&tool, "n"), [json!(1)]);
    assert_eq!(news, Vec::<String>::new(), "the same bytes are no change, and an untrusted folder stays left out");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_ever_meets_half_of_two_files() {
    let both = |n: u32| {
        let hook = |key: &str| format!("[[hook]]\npoint = \"BeforeToolUse\"\nset = {{ {key} = {n} }}\n");
        [hook("first"), "#".repeat(20_000), "\n".to_owned(), hook("second")].concat()
    };
    let scene = Scene::new();
    scene.write("user.toml", &both(0));
    let policy = scene.policy();
    let (tool, writer) = (RecordingTool::new("work"), scene.clone());
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = stop.clone();
    // In place, as careless editors do.
    let writing = std::thread::spawn(move || {
        let mut n = 0;
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            n += 1;
            writer.write("user.toml", &both(n));
        }
    });
    let model = (0..60).fold(Script::new(), |script, _| script.call("work", "{}")).say("done");
    let mut builder = Agent::builder(model);
    let agent = builder.tool(tool.clone()).with(policy.clone()).max_steps(100).build().expect("an agent");
    policy.follow(&agent);
    agent.run("go").await.expect("a run");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writing.join().expect("nobody panics");
    assert_eq!(tool.calls().len(), 60);
    assert_eq!(ran(&tool, "first"), ran(&tool, "second"));
}
