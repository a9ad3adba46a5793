//! What cannot be registered, and what the error says.

use vertebra_hooks::{Attach, HookSet, Hooks, Match, Matcher, RegisterError, Test, proceed};

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
        set.on(Calling, async |_| proceed()).named(*name);
    }
    set
}

#[test]
fn a_cycle_is_an_error_that_names_its_hooks_and_no_others() {
    let mut set = named(&["outside"]);
    set.on(Calling, async |_| proceed()).named("a").before("b");
    set.on(Calling, async |_| proceed()).named("b").before("c");
    set.on(Calling, async |_| proceed()).named("c").before("a").before("downstream");
    set.on(Calling, async |_| proceed()).named("downstream");
    let error = refused(set, "these hooks at Calling each have to run before the next: a → b → c → a");
    assert!(matches!(error, RegisterError::Cycle { point: "Calling", .. }));

    let mut set = HookSet::new();
    set.guard(Calling, async |_| proceed()).named("g").after("g");
    refused(set, "these hooks at Calling each have to run before the next: g → g");

    let mut set = HookSet::new();
    set.around(Doing, async |cx, next| next.run(cx).await).named("in").after("out");
    set.around(Doing, async |cx, next| next.run(cx).await).named("out").after("in");
    refused(set, "these hooks at Doing each have to run before the next: in → out → in");
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_name() {
    let mut set = named(&["redact-secrets", "audit"]);
    set.on(Calling, async |_| proceed()).named("mine").after("redact_secret");
    refused(
        set,
        "`mine` is to run after `redact_secret`, but no hook of that name is at Calling: did you mean `redact-secrets`?",
    );

    let mut set = named(&["redact-secrets"]);
    set.on(Calling, async |_| proceed()).named("mine").before("zzz");
    refused(set, "`mine` is to run before `zzz`, but no hook of that name is at Calling");
}

#[test]
fn a_name_at_another_point_is_unknown_here() {
    let mut set = HookSet::new();
    set.on(Noticing, async |_| proceed()).named("there");
    set.on(Calling, async |_| proceed()).named("here").after("there");
    refused(set, "`here` is to run after `there`, but no hook of that name is at Calling");
}

#[test]
fn an_order_that_the_roles_rule_out_is_an_error() {
    let mut set = named(&["hook"]);
    set.guard(Calling, async |_| proceed()).named("guard").before("hook");
    refused(set, "`guard` cannot run before `hook`: hooks run first, then guards, then watches");

    let mut set = HookSet::new();
    set.on(Calling, async |_| proceed()).named("hook").after("watch");
    set.watch(Calling, async |_| Ok(())).named("watch");
    refused(set, "`hook` cannot run after `watch`: hooks run first, then guards, then watches");
}

#[test]
fn a_guard_fails_closed_and_not_otherwise() {
    let words = "`g` is a guard, and guards fail closed: use `on` for a hook that may fail open or ask";
    let mut set = HookSet::new();
    set.guard(Calling, async |_| proceed()).named("g").fail_open();
    refused(set, words);

    let mut set = HookSet::new();
    set.guard(Calling, async |_| proceed()).named("g").fail_ask();
    refused(set, words);
}

#[test]
fn an_option_that_a_role_has_no_use_for_is_an_error() {
    let mut set = HookSet::new();
    set.watch(Calling, async |_| Ok(())).named("w").fail_closed();
    refused(set, "a failure policy has no effect on `w`, which is a watch");

    let mut set = HookSet::new();
    set.around(Doing, async |cx, next| next.run(cx).await).named("a").max_retries(2);
    refused(set, "max_retries has no effect on `a`, which is an around");
}

#[test]
fn only_a_watch_can_be_detached() {
    let mut set = HookSet::new();
    set.on(Calling, async |_| proceed()).named("h").detached();
    refused(set, "`h` cannot be detached: only a watch, which decides nothing, may run behind the dispatch");

    let mut set = HookSet::new();
    set.guard(Calling, async |_| proceed()).named("g").detached();
    refused(set, "`g` cannot be detached: only a watch, which decides nothing, may run behind the dispatch");

    let mut set = HookSet::new();
    set.around(Doing, async |cx, next| next.run(cx).await).named("a").detached();
    refused(set, "`a` cannot be detached: only a watch, which decides nothing, may run behind the dispatch");
}

#[test]
fn an_option_before_any_hook_is_an_error_that_the_next_hook_does_not_hide() {
    let mut set = HookSet::new();
    set.priority(1).named("too early");
    set.on(Calling, async |_| proceed()).named("h");
    refused(set, "`priority` was called before any hook was added: it applies to the hook added last");

    let mut misused = HookSet::new();
    misused.detached();
    let mut set = named(&["h"]);
    set.append(misused);
    refused(set, "`detached` was called before any hook was added: it applies to the hook added last");
}

#[test]
fn two_hooks_of_one_point_cannot_share_a_name_but_of_two_points_they_can() {
    refused(named(&["same", "same"]), "two hooks at Calling are named `same`: give one another name");

    let mut set = named(&["same"]);
    set.guard(Calling, async |_| proceed()).named("same");
    refused(set, "two hooks at Calling are named `same`: give one another name");

    let mut set = named(&["same"]);
    set.on(Noticing, async |_| proceed()).named("same");
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
        set.on(Calling.matching(matcher.clone()), async |_| proceed()).named("bad");
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
    set.guard(Calling.tool("read_["), async |_| proceed()).named("g");
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
            set.on(Calling.matching(matcher), async |_| proceed()).named("h");
            refused(set, error);
        }
    }
    let mut set = HookSet::new();
    set.on(Noticing.matching(Matcher::attribute("tool", "x")), async |_| proceed()).named("h");
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
        set.on(Calling.matching(matcher), async |_| proceed()).named("h");
        refused(set, error);
    }
}
