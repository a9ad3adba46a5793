//! What cannot be registered, and what the error says.

use vertebra_hooks::{
    AroundOptions, Attach, HookInfo, HookOptions, HookSet, Hooks, Match, Matcher, RegisterError, Test, proceed,
};

use crate::world::{Calling, Doing, MatchCall, Noticing};

#[track_caller]
fn refused(set: HookSet, expected: &str) -> RegisterError {
    let error = Hooks::new(set).expect_err("this set must be refused");
    assert_eq!(error.to_string(), expected);
    error
}

fn named(names: &[&'static str]) -> HookSet {
    let mut set = HookSet::new();
    for name in names {
        set.on(Calling.named(*name), async |_| proceed());
    }
    set
}

#[test]
fn a_cycle_is_an_error_that_names_its_hooks_and_no_others() {
    let mut set = named(&["outside"]);
    set.on(Calling.named("a").before("b"), async |_| proceed());
    set.on(Calling.named("b").before("c"), async |_| proceed());
    set.on(Calling.named("c").before("a").before("downstream"), async |_| proceed());
    set.on(Calling.named("downstream"), async |_| proceed());
    let error = refused(
        set,
        "the hooks at Calling cannot be ordered, because each has to run before the next: a → b → c → a; remove one of these constraints",
    );
    assert!(matches!(error, RegisterError::Cycle { point: "Calling", .. }));

    let mut set = HookSet::new();
    set.guard(Calling.named("g").after("g"), async |_| proceed());
    refused(
        set,
        "the hooks at Calling cannot be ordered, because each has to run before the next: g → g; remove one of these constraints",
    );

    let mut set = HookSet::new();
    set.around(Doing.named("in").after("out"), async |cx, next| next.run(cx).await);
    set.around(Doing.named("out").after("in"), async |cx, next| next.run(cx).await);
    refused(
        set,
        "the hooks at Doing cannot be ordered, because each has to run before the next: in → out → in; remove one of these constraints",
    );
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_name() {
    let mut set = named(&["redact-secrets", "audit"]);
    set.on(Calling.named("mine").after("redact_secret"), async |_| proceed());
    refused(
        set,
        "`mine` is to run after `redact_secret`, but no hook of that name is at Calling: did you mean `redact-secrets`?",
    );

    let mut set = named(&["redact-secrets"]);
    set.on(Calling.named("mine").before("zzz"), async |_| proceed());
    refused(set, "`mine` is to run before `zzz`, but no hook of that name is at Calling");
}

#[test]
fn a_name_at_another_point_is_unknown_here() {
    let mut set = HookSet::new();
    set.on(Noticing.named("there"), async |_| proceed());
    set.on(Calling.named("here").after("there"), async |_| proceed());
    refused(set, "`here` is to run after `there`, but no hook of that name is at Calling");
}

#[test]
fn an_order_that_the_roles_rule_out_is_an_error() {
    let mut set = named(&["hook"]);
    set.guard(Calling.named("guard").before("hook"), async |_| proceed());
    refused(set, "`guard` cannot run before `hook`: hooks run first, then guards, then watches");

    let mut set = HookSet::new();
    set.on(Calling.named("hook").after("watch"), async |_| proceed());
    set.watch(Calling.named("watch"), async |_| Ok(()));
    refused(set, "`hook` cannot run after `watch`: hooks run first, then guards, then watches");
}

#[test]
fn an_order_that_the_roles_rule_out_is_an_error_also_if_the_other_hook_comes_later() {
    let hooks = Hooks::new(named(&["first", "a"])).expect("two names");
    let mut set = HookSet::new();
    set.on(Calling.named("b").after("first"), async |_| proceed());
    hooks.install(set).expect("a known name");
    hooks.remove("first").expect("it is there");

    let mut set = HookSet::new();
    set.watch(Calling.named("first"), async |_| Ok(()));
    let error = hooks.install(set).expect_err("`b` cannot wait for a watch");
    assert_eq!(error.to_string(), "`b` cannot run after `first`: hooks run first, then guards, then watches");
}

#[test]
fn more_hooks_than_a_point_can_have_are_an_error_that_names_the_first_beyond_the_limit() {
    let mut set = HookSet::new();
    for at in 0..=HookInfo::MAX_AT_POINT {
        set.on(Calling.named(format!("h{at}")), async |_| proceed());
    }
    let error = refused(
        set,
        "Calling cannot have 65536 hooks, `h65535` among them: the limit is 65535; let one hook decide for several",
    );
    assert!(matches!(error, RegisterError::TooMany { point: "Calling", .. }));
}

#[test]
fn two_hooks_of_one_point_cannot_share_a_name_but_of_two_points_they_can() {
    refused(named(&["same", "same"]), "two hooks at Calling are named `same`: give one another name");

    let mut set = named(&["same"]);
    set.guard(Calling.named("same"), async |_| proceed());
    refused(set, "two hooks at Calling are named `same`: give one another name");

    let mut set = named(&["same"]);
    set.on(Noticing.named("same"), async |_| proceed());
    assert_eq!(Hooks::new(set).map(|hooks| hooks.count()), Ok(2));
}

#[test]
fn hooks_without_a_name_are_named_by_their_place_and_never_collide() {
    let mut set = HookSet::new();
    for _ in 0..3 {
        set.on(Calling, async |_| proceed());
    }
    let hooks = Hooks::new(set).expect("places are names enough");
    let names: Vec<_> = hooks.list().iter().map(|hook| hook.name.to_string()).collect();

    assert!(names[0].contains("refusals.rs:"), "{names:?}");
    assert_eq!(names[1..], [format!("{}#2", names[0]), format!("{}#3", names[0])]);
}

#[test]
fn an_invalid_pattern_is_an_error_that_names_hook_field_and_pattern() {
    let cases = [
        (Matcher::attribute("tool", "/(/"), "tool", "("),
        (Matcher::attribute("tool", "/a)(b/"), "tool", "a)(b"),
        (Matcher::attribute("tool", "ok|read_["), "tool", "read_["),
        (Matcher::attribute("command", "rm ("), "command", "rm ("),
        (Matcher::attribute("path", "src/["), "path", "src/["),
        (Matcher::attribute("path", "{a,b"), "path", "{a,b"),
        (Matcher::Metadata { key: "k".into(), is: Test::Matches("*".into()) }, "metadata", "*"),
        (Matcher::inside("args", "/a", Test::Matches("(?z)".into())), "args", "(?z)"),
        (Matcher::Any(vec![Matcher::All(vec![Matcher::attribute("command", "[").negated()])]), "command", "["),
    ];
    for (matcher, field, pattern) in cases {
        let mut set = named(&["fine"]);
        set.on(Calling.matching(matcher.clone()).named("bad"), async |_| proceed());
        let Err(RegisterError::Pattern { hook, field: told, pattern: shown, message }) = Hooks::new(set) else {
            panic!("{matcher:?} was taken")
        };
        assert_eq!((&*hook, told, &*shown), ("bad", field, pattern), "{matcher:?}");
        assert!(!message.is_empty());
    }
}

#[test]
fn the_error_for_an_invalid_pattern_reads_as_a_sentence() {
    let mut set = HookSet::new();
    set.guard(Calling.tool("read_[").named("g"), async |_| proceed());
    refused(set, "`g` has an invalid tool pattern `read_[`: unclosed character class; missing ']'");
}

#[test]
fn a_matcher_on_an_attribute_that_the_point_lacks_is_an_error_that_says_what_it_has() {
    let cases = [
        ("comand", "`h` matches `comand`, but Calling has no attribute `comand`: did you mean `command`?"),
        (
            "weather",
            "`h` matches `weather`, but Calling has no attribute `weather`: it has `tool`, `path`, `command`, `args`, \
             `session`, `agent`, `step`",
        ),
    ];
    for (key, error) in cases {
        for matcher in [Matcher::attribute(key, "x"), Matcher::inside(key, "/x", Test::Exists).negated()] {
            let mut set = HookSet::new();
            set.on(Calling.matching(matcher).named("h"), async |_| proceed());
            refused(set, error);
        }
    }
    let mut set = HookSet::new();
    set.on(Noticing.matching(Matcher::attribute("tool", "x")).named("h"), async |_| proceed());
    refused(set, "`h` matches `tool`, but Noticing has no attribute `tool`: it has none");
}

#[test]
fn a_test_that_does_not_fit_the_kind_of_an_attribute_is_an_error() {
    let cases = [
        (
            Matcher::attribute("args", "x"),
            "`h` has an invalid args pattern `x`: it is JSON; test a place inside it with a JSON pointer",
        ),
        (
            Matcher::inside("tool", "/x", Test::Exists),
            "`h` has an invalid tool pattern `/x`: it is text and has no places inside; give a pattern",
        ),
    ];
    for (matcher, error) in cases {
        let mut set = HookSet::new();
        set.on(Calling.matching(matcher).named("h"), async |_| proceed());
        refused(set, error);
    }
}
