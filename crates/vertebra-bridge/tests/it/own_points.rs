//! Custom points in files: declared with `[[point]]`, or registered by the program.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra::{AnyPoint, AttributeValue, Event, Points, point, verdict};
use vertebra_bridge::{
    handler::Services,
    policy::{self, Policy},
    settings::{Level, Settings, merge, parse, parse_with},
    trust::ask_person,
    wire::{Decision, Happened},
};

/// The first block of this language in a section of a page.
fn block<'p>(page: &'p str, section: &str, language: &str) -> &'p str {
    let section = page.split(section).nth(1).unwrap_or_else(|| panic!("no section `{section}`"));
    let rest = section.split(&format!("```{language}\n")).nth(1).unwrap_or_else(|| panic!("no {language} block"));
    rest.split("```").next().expect("the end of the block")
}

const PAGE: &str = include_str!("../../../../docs/settings.md");

fn page() -> (&'static str, Value) {
    let section = "### Points of your own";
    let event = serde_json::from_str(block(PAGE, section, "json")).expect("JSON");
    (block(PAGE, section, "toml"), event)
}

fn settings(text: &str) -> Settings {
    parse(text, Level::User, "vertebra.toml").unwrap_or_else(|error| panic!("{error}")).settings
}

fn policy(text: &str) -> Policy {
    let services = Services { folder: env!("CARGO_MANIFEST_DIR").into(), ..Services::default() };
    Policy::new(&settings(text), &services).unwrap_or_else(|error| panic!("{error}"))
}

async fn judged(policy: &Policy, event: &Value) -> (Option<Decision>, Option<String>, String) {
    let happened = Happened::among(policy.points(), event).unwrap_or_else(|error| panic!("{error}"));
    let trial = policy.fire(&happened).await;
    (trial.judgement.decision, trial.judgement.reason, trial.record.point.into_owned())
}

#[tokio::test]
async fn the_point_that_the_page_declares_is_denied_as_the_page_says() {
    let (text, event) = page();
    let denied = judged(&policy(text), &event).await;
    let expected = (Some(Decision::Deny), Some("deploy it on Monday".to_owned()), "BeforeDeploy".to_owned());
    assert_eq!(denied, expected);
    assert!(PAGE.contains("This event is denied: `deploy it on Monday`."));
    let other = json!({ "point": "pre_deploy", "service": "shop", "replicas": 3 });
    assert_eq!(judged(&policy(text), &other).await, (None, None, "BeforeDeploy".to_owned()));
}

const POINT: &str = r#"
[[point]]
name = "BeforeDeploy"
attributes = { service = "name", config = "glob", note = "regex", tier = "word", options = "json", command = "regex" }
powers = ["deny", "ask"]
changes = ["replicas"]
"#;

#[tokio::test]
async fn every_kind_of_attribute_is_matched() {
    let cases = [
        (r#"{ service = "api-*" }"#, json!({ "service": "API-eu" }), true),
        (r#"{ service = "api-*" }"#, json!({ "service": "shop" }), false),
        (r#"{ service = "api-*" }"#, json!({ "service": ["shop", "api-us"] }), true),
        (r#"{ service = "api-*" }"#, json!({}), false),
        (r#"{ config = "deploy/**" }"#, json!({ "config": "deploy/eu/a.yaml" }), true),
        (r#"{ config = "/srv/deploy/*" }"#, json!({ "config": "./deploy/a.yaml" }), true),
        (r#"{ config = "deploy/*" }"#, json!({ "config": "src/a.yaml" }), false),
        (r#"{ config = "secrets/**" }"#, json!({ "config": "deploy/../secrets/key" }), true),
        (r#"{ config = "secrets/**" }"#, json!({ "config": ["a", "/srv//./secrets/key"] }), true),
        (r#"{ config = "deploy/**" }"#, json!({ "config": "deploy/../secrets/key" }), false),
        (r#"{ command = "^rm " }"#, json!({ "command": "cd a && sh -c 'rm -rf b'" }), true),
        (r#"{ not = { command = "^ls" } }"#, json!({ "command": "ls; rm -rf b" }), true),
        (r#"{ note = "^hot" }"#, json!({ "note": "hotfix" }), true),
        (r#"{ tier = "gold" }"#, json!({ "tier": "Gold" }), true),
        (r#"{ tier = "1" }"#, json!({ "tier": 1 }), true),
        (r#"{ options = { "/force" = true } }"#, json!({ "options": { "force": true } }), true),
        (r#"{ options = { "/force" = true } }"#, json!({ "options": { "force": false } }), false),
        (r#"{ agent = "releaser" }"#, json!({ "agent": "releaser" }), true),
        (r#"{ not = { service = "api-*" } }"#, json!({ "service": "shop" }), true),
    ];
    for (matcher, fields, matches) in cases {
        let policy =
            policy(&format!("{POINT}\n[[hook]]\npoint = \"BeforeDeploy\"\nmatch = {matcher}\ndeny = \"no\"\n"));
        let mut event = json!({ "point": "BeforeDeploy", "working_directory": "/srv" });
        event.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        let (decision, ..) = judged(&policy, &event).await;
        assert_eq!(decision == Some(Decision::Deny), matches, "{matcher} on {fields}");
    }
}

#[tokio::test]
async fn a_hook_changes_what_the_point_lets_be_changed_and_a_handler_reads_the_whole_event() {
    let policy = policy(&format!(
        "{POINT}\n[[hook]]\nname = \"two\"\npoint = \"BeforeDeploy\"\nset = {{ replicas = 2 }}\n\n\
         [[hook]]\nname = \"script\"\npoint = \"BeforeDeploy\"\nrole = \"guard\"\nrun = {{ command = '''\
         grep -q '\"replicas\":2' && echo \"{{\\\"verdict\\\": \\\"ask\\\", \\\"reason\\\": \\\"$VERTEBRA_POINT\\\"}}\"''' }}\n"
    ));
    let event = json!({ "point": "BeforeDeploy", "service": "shop", "replicas": 1 });
    let happened = Happened::among(policy.points(), &event).expect("an event");
    let trial = policy.fire(&happened).await;
    assert_eq!(trial.judgement.decision, Some(Decision::Ask), "{:?}", trial.judgement);
    assert_eq!(trial.judgement.reason.as_deref(), Some("BeforeDeploy"));
    assert_eq!(trial.judgement.effects["replicas"], 2);
}

#[tokio::test]
async fn an_answer_that_a_declared_point_does_not_have_is_a_failure_of_its_hook() {
    let stops = "run = { command = '''echo '{\"verdict\": \"stop\", \"reason\": \"x\"}' ''' }";
    let policy =
        policy(&format!("{POINT}\n[[hook]]\nname = \"s\"\npoint = \"BeforeDeploy\"\nrole = \"guard\"\n{stops}\n"));
    let (decision, reason, _) = judged(&policy, &json!({ "point": "BeforeDeploy" })).await;
    assert_eq!(decision, Some(Decision::Deny));
    let reason = reason.expect("a reason");
    assert!(reason.contains("invalid answer at BeforeDeploy: unknown variant `stop`"), "{reason}");
}

#[tokio::test]
async fn a_failure_that_would_ask_refuses_at_a_point_that_has_no_questions() {
    let text = "[[point]]\nname = \"BeforeErase\"\npowers = [\"deny\"]\n\n[[hook]]\npoint = \"BeforeErase\"\nrole = \"hook\"\n\
                on_failure = \"ask\"\nrun = { command = \"exit 7\" }\n";
    let (decision, ..) = judged(&policy(text), &json!({ "point": "BeforeErase" })).await;
    assert_eq!(decision, Some(Decision::Deny));
}

#[tokio::test]
async fn a_failing_hook_at_a_point_without_powers_refuses_nothing() {
    let text = "[[point]]\nname = \"AfterDeploy\"\n\n[[hook]]\npoint = \"AfterDeploy\"\nrole = \"hook\"\n\
                on_failure = \"open\"\nrun = { command = \"exit 7\" }\n";
    let policy = policy(text);
    let happened = Happened::among(policy.points(), &json!({ "point": "AfterDeploy" })).expect("an event");
    let trial = policy.fire(&happened).await;
    assert_eq!(trial.judgement.decision, None);
    assert!(trial.judgement.warnings.concat().contains("it exited with code 7"), "{:?}", trial.judgement.warnings);
}

#[test]
fn a_bad_point_or_a_bad_hook_there_is_an_error_with_the_line_and_what_to_write() {
    let hook = |lines: &str| format!("{POINT}\n[[hook]]\npoint = \"BeforeDeploy\"\n{lines}\n");
    let point = |lines: &str| format!("[[point]]\n{lines}\n");
    let cases = [
        (
            hook("match = { sevice = \"shop\" }\ndeny = \"no\""),
            "BeforeDeploy has no attribute `sevice`; did you mean `service`?",
        ),
        (hook("match = { tool = \"bash\" }\ndeny = \"no\""), "BeforeDeploy has no attribute `tool`"),
        (hook("match = { config = \"[a\" }\ndeny = \"no\""), "invalid glob `[a` in `config`"),
        (hook("stop = \"no\""), "`stop` is not possible at BeforeDeploy, which accepts `deny`, `ask`"),
        (hook("set = { service = \"x\" }"), "`service` cannot be changed; these can: replicas"),
        (
            format!("{POINT}\n[[hook]]\npoint = \"BeforeDeplo\"\ndeny = \"no\"\n"),
            "unknown point `BeforeDeplo`; did you mean `BeforeDeploy`?",
        ),
        (
            "[[point]]\nname = \"Done\"\n[[hook]]\npoint = \"Done\"\nrole = \"guard\"\nrun = { command = \"x\" }\n"
                .to_owned(),
            "a guard has no effect at Done",
        ),
        (
            "[[point]]\nname = \"Done\"\n[[hook]]\npoint = \"Done\"\nrole = \"hook\"\non_failure = \"closed\"\n\
             run = { command = \"x\" }\n"
                .to_owned(),
            "a hook that fails at Done cannot refuse anything: remove `on_failure`",
        ),
        (
            (0..=64).map(|number| format!("[[point]]\nname = \"Many{number}\"\n")).collect::<Vec<_>>().concat(),
            "a file can declare at most 64 points",
        ),
        (point("name = \"Moved\"\nchanges = [\"working_directory\"]"), "cannot have the field `working_directory`"),
        (point("powers = [\"deny\"]"), "the point has no name"),
        (point("name = \"deploying\""), "`deploying` cannot be the name of a point"),
        (
            point("name = \"BeforeToolUse\""),
            "the point BeforeToolUse cannot be called `BeforeToolUse`: a built-in point has that name",
        ),
        (
            point("name = \"Calling\"\naliases = [\"PreToolUse\"]"),
            "the point Calling cannot be called `PreToolUse`: the built-in point BeforeToolUse already has this name",
        ),
        (point("name = \"Asking\"\npowers = [\"ask\"]"), "the point Asking has the power `ask` but not `deny`"),
        (point("name = \"Retrying\"\npowers = [\"retry\"]"), "powers must be one of"),
        (
            point("name = \"Deep\"\nattributes = { depth = \"exact\" }"),
            "the point Deep cannot have the attribute `depth`",
        ),
        (point("name = \"Odd\"\nattributes = { service = \"nam\" }"), "an attribute must be one of"),
        (
            point("name = \"Odd\"\natributes = { service = \"name\" }"),
            "unknown key `atributes` in `[[point]]`; did you mean `attributes`?",
        ),
        (
            format!("{POINT}\n[[point]]\nname = \"Other\"\naliases = [\"BeforeDeploy\"]\n"),
            "the point Other cannot be called `BeforeDeploy`: another point has that name",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text, Level::Project, "vertebra.toml").map(drop).expect_err(&text).to_string();
        assert!(error.contains(expected) && error.contains("vertebra.toml, line "), "{text}: {error}");
    }
}

#[tokio::test]
async fn two_files_may_declare_one_point_alike_and_not_otherwise() {
    let hooked = format!("{POINT}\n[[hook]]\npoint = \"BeforeDeploy\"\ndeny = \"no\"\n");
    let level = |level: Level, place: &str, text: &str| parse(text, level, place).expect("settings").settings;
    let alike =
        merge(Settings::default(), [level(Level::User, "user", POINT), level(Level::Project, "project", &hooked)]);
    assert!(Policy::new(&alike.0, &Services::default()).is_ok());
    let other = "[[point]]\nname = \"BeforeDeploy\"\n";
    let (both, _) =
        merge(Settings::default(), [level(Level::User, "user", other), level(Level::Project, "project", &hooked)]);
    let error = Policy::new(&both, &Services::default()).map(drop).expect_err("two points of one name").to_string();
    assert_eq!(
        error,
        "project, line 2: the point BeforeDeploy cannot be called `BeforeDeploy`: another point has that name; choose \
         another name (it is declared otherwise in user:1)"
    );
    // What can be used still refuses something.
    let (kept, error) = Policy::as_far_as_possible(&both, &Services::default(), None).expect("a policy");
    assert!(error.is_some());
    assert_eq!(kept.points().own().len(), 1);
}

/// What a program's own point is about.
#[derive(Clone, Serialize, Deserialize)]
struct Release {
    version: String,
}

impl Event for Release {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        (key == "version").then_some(AttributeValue::Text(&self.version))
    }
}

verdict! {
    enum ReleaseVerdict { deny, stop }
}

// One place. Everything below is made of it.
point! {
    /// A version is about to be released.
    BeforeRelease: Release => ReleaseVerdict {
        aliases: ["PreRelease"],
        attributes: [version: Name],
        changes: ["version"],
        sample: Release { version: "1.0".to_owned() },
    }
}

#[tokio::test]
async fn a_point_that_a_program_declares_in_one_place_is_known_everywhere() {
    let mut points = Points::default();
    points.add(AnyPoint::new(&BeforeRelease)).expect("a new name");
    let point = points.named("pre_release").expect("an alias");
    assert_eq!((point.name, point.about), ("BeforeRelease", "A version is about to be released."));

    // Its sample event is an event with every attribute.
    let attributes = point.attributes_of(point.sample()).expect("the sample is an event");
    assert_eq!(attributes, ["version", "session", "agent"]);

    // Configuration.
    let hook = |lines: &str| {
        let text = format!("[[hook]]\npoint = \"before-release\"\n{lines}\n");
        parse_with(&text, Level::User, "vertebra.toml", &points).map_err(|error| error.to_string())
    };
    let sheet = hook("name = \"no-0\"\nmatch = { version = \"0.*\" }\ndeny = \"not yet\"").expect("a hook");
    let told = |lines: &str| hook(lines).map(drop).expect_err("an error");
    assert!(
        told("match = { verson = \"0.*\" }\ndeny = \"x\"")
            .contains("has no attribute `verson`; did you mean `version`?")
    );
    assert!(told("ask = \"x\"").contains("`ask` is not possible at BeforeRelease, which accepts `deny`, `stop`"));
    assert!(told("set = { version = 3 }").contains("the value does not fit BeforeRelease"));

    // The wire, and a policy.
    let policy = Policy::new(&sheet.settings, &Services::default()).expect("a policy");
    let event = json!({ "point": "PreRelease", "version": "0.9" });
    assert_eq!(judged(&policy, &event).await.1.as_deref(), Some("not yet"));
    let wrong = |event: Value| Happened::among(&points, &event).map(drop).expect_err("an error").to_string();
    assert_eq!(
        wrong(json!({ "point": "BeforeRelease", "version": "1", "verion": 1 })),
        "invalid event at BeforeRelease: it has no field `verion`; did you mean `version`?"
    );
    assert_eq!(wrong(json!({ "point": "BeforeRelease" })), "invalid event at BeforeRelease: missing field `version`");

    // Lists, and agents.
    assert_eq!(policy.hooks().len(), 1);
    let agent = policy::bare("agent", &points).expect("an agent");
    agent.hooks().install(policy.hook_set()).expect("its hooks");
    assert_eq!(point.in_order(agent.hooks()).iter().map(|name| &**name).collect::<Vec<_>>(), ["policy/no-0"]);
}

#[tokio::test]
async fn an_event_at_an_own_point_is_asked_about_or_denied_while_the_policy_is_not_whole() {
    let text =
        format!("{POINT}\n[[point]]\nname = \"BeforeWipe\"\npowers = [\"deny\"]\n\n[[point]]\nname = \"AfterWipe\"\n");
    let policy = policy(&text);
    for (point, expected) in
        [("BeforeDeploy", Some(Decision::Ask)), ("BeforeWipe", Some(Decision::Deny)), ("AfterWipe", None)]
    {
        let happened = Happened::among(policy.points(), &json!({ "point": point })).expect("an event");
        let mut judgement = policy.fire(&happened).await.judgement;
        assert_eq!(judgement.decision, None);
        ask_person(Some("the policy changed"), &happened, &mut judgement);
        assert_eq!(judgement.decision, expected, "{point}");
        assert_eq!(judgement.reason.as_deref(), expected.map(|_| "the policy changed"));
    }
}

#[test]
fn a_hook_that_nobody_trusted_is_listed_also_at_its_own_point() {
    let untrusted = settings(&format!("{POINT}\n[[hook]]\nname = \"no\"\npoint = \"BeforeDeploy\"\ndeny = \"no\"\n"));
    let policy = Policy::new(&Settings::default(), &Services::default()).expect("a policy").with_untrusted(&untrusted);
    let listed: Vec<_> = policy.hooks().into_iter().map(|hook| &*hook.name).collect();
    assert_eq!(listed, ["no"]);
}
